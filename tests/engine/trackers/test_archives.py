"""Archives that users upload: what is unpacked, and what is refused."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers import archives
from isoplan.engine.trackers.archives import is_archive, unpacked


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_files_are_unpacked_and_removed_afterwards(tmp_path: Path) -> None:
    """A single folder in an archive is the place of the runs. The unpacked files disappear at the end."""
    content = {"runs/a/x.csv": b"1", "runs/b/y.csv": b"2"}
    for path in (
        zipped(tmp_path / "a.zip", content),
        tarred(tmp_path / "a.tar.gz", *[(member(k), v) for k, v in content.items()]),
    ):
        assert is_archive(str(path))
        with unpacked(path) as folder:
            assert folder.name == "runs"
            assert {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.csv")} == {
                "a/x.csv": b"1",
                "b/y.csv": b"2",
            }
        assert not folder.exists()


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "..\\x", "C:\\x", "C:x"])
def test_paths_outside_are_refused(tmp_path: Path, name: str) -> None:
    """No file is written outside the folder."""
    for path in (zipped(tmp_path / "a.zip", {name: b"1"}), tarred(tmp_path / "a.tar.gz", (member(name), b"1"))):
        with pytest.raises(PlannerError, match="a path outside the archive"), unpacked(path):
            pass
    assert sorted(p.name for p in tmp_path.parent.rglob("x")) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    """Links and devices are not made."""
    path = tarred(tmp_path / "a.tar.gz", (member("inner", kind, "/etc/passwd"), b""))
    with pytest.raises(PlannerError, match=r"contains a link \('inner'\): pack the folder again"), unpacked(path):
        pass


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    """Zip archives store links as files with a mode."""
    info = zipfile.ZipInfo("inner")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(PlannerError, match="contains a link"), unpacked(tmp_path / "a.zip"):
        pass


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stated size, the number of files and the depth are limited before anything is unpacked."""
    path = zipped(tmp_path / "a.zip", {"zeros": bytes(300 * 2**20)})
    with pytest.raises(PlannerError, match="unpacks to more than 300 MB"), unpacked(path):
        pass
    path = zipped(tmp_path / "b.zip", {"/".join("abcdefghijklmnop"): b"1"})
    with pytest.raises(PlannerError, match="more than 12 folders inside one another"), unpacked(path):
        pass
    monkeypatch.setattr(archives, "MAX_FILES", 3)
    path = zipped(tmp_path / "c.zip", {str(i): b"" for i in range(4)})
    with pytest.raises(PlannerError, match="more than 3 files"), unpacked(path):
        pass


def test_damaged_and_encrypted_archives_are_refused(tmp_path: Path) -> None:
    """The message contains the reason."""
    path = zipped(tmp_path / "a.zip", {"a": b"1" * 1000})
    damaged = bytearray(path.read_bytes())
    damaged[35:40] = b"\xff" * 5
    path.write_bytes(bytes(damaged))
    with pytest.raises(PlannerError, match=r"cannot be unpacked .*: pack the folder again"), unpacked(path):
        pass
    whole = tarred(tmp_path / "a.tar.gz", (member("a"), bytes(range(256)) * 4000)).read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PlannerError, match="cannot be unpacked"), unpacked(tmp_path / "cut.tar.gz"):
        pass
