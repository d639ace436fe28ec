"""Hostile stores: each gives one sentence within the limits of time and memory, and nothing from it is executed."""

from __future__ import annotations

import gzip
import io
import resource
import tarfile
import zipfile
from pathlib import Path

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.trackers import reading
from isoplan.engine.trackers.reading import import_runs


def test_archives_are_unpacked_within_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A header that unpacks to 1 GB, and millions of folders, need no memory of the process that imports."""
    monkeypatch.setattr(reading, "MEGABYTES", 700)
    header, folder = tarfile.TarInfo("x"), tarfile.TarInfo("d")
    header.type, header.size, folder.type = tarfile.XHDTYPE, 2**30, tarfile.DIRTYPE
    with gzip.open(tmp_path / "header.tgz", "wb", 1) as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(2**10):
            file.write(bytes(2**20))
    with gzip.open(tmp_path / "folders.tgz", "wb", 1) as file:
        file.write(folder.tobuf() * 250_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(PlannerError, match=r"header\.tgz cannot be read: it is damaged, or too large for memory"):
        import_runs(str(tmp_path / "header.tgz"))
    with pytest.raises(PlannerError, match=r"more than 200,000 files and folders"):
        import_runs(str(tmp_path / "folders.tgz"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_damaged_data_in_an_archive(tmp_path: Path, kind: int) -> None:
    """Errors of the compression give the same sentence as other damage."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", kind) as archive:
        archive.writestr("a/x.csv", b"step,loss\n" * 1000)
    content = bytearray(path.read_bytes())
    content[40:60] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(PlannerError, match=r"^a\.zip cannot be unpacked \(.+\): pack the folder again\.$"):
        import_runs(str(path))


def test_names_in_an_archive_that_are_no_text(tmp_path: Path) -> None:
    """Names that are not UTF-8 are refused. Signs that control a terminal are not repeated in a message."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("é.csv", b"1")
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    with pytest.raises(PlannerError, match="cannot be unpacked"):
        import_runs(str(path))
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        info = tarfile.TarInfo("\x1b[31mred/hparams.yaml")
        info.size = 6
        tar.addfile(info, io.BytesIO(b"a: [1,"))
        tar.addfile(tarfile.TarInfo("\x1b[31mred/metrics.csv"))
    with pytest.raises(PlannerError, match=r"^/[^\x1b]*/a\.tar/hparams\.yaml is not valid YAML"):
        import_runs(str(tmp_path / "a.tar"))


def test_a_cut_compressed_file(tmp_path: Path) -> None:
    """A compressed file that ends within its first bytes is no archive."""
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(range(256)) * 20)[:200])
    with pytest.raises(PlannerError, match="contains no runs of a known tracker"):
        import_runs(str(tmp_path / "a.gz"))
