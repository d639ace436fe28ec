"""Archives of backups: written files are read back unchanged. Damaged or malicious archives give a one-line error."""

from __future__ import annotations

import io
import os
import random
import stat
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from pydantic import ValidationError

from isoplan.engine.errors import PlannerError
from isoplan.engine.store.database import archive, migration
from isoplan.engine.store.database.archive import FORMAT, MANIFEST, MARK, MIMETYPE, Entry, FileSum, Manifest
from isoplan.engine.store.database.backup import Contents
from isoplan.engine.store.database.damage import FILE

FILES = {FILE: b"database", "uploads/ab": b"\0" * 3_000_000, "cells/c/spec.json": b"{}", "ñ 日本 \\'\".txt": b""}
NOTHING = Contents(layout=migration.SCHEMA, duckdb="2", tables={}, run_tables=0, rows=0, fits=0)
CREATED = datetime(2026, 11, 20, tzinfo=UTC)


def describe(files: dict[str, FileSum]) -> Manifest:
    return Manifest(format=FORMAT, isoplan="1", created=CREATED, contents=NOTHING, cells={}, files=files)


def made(place: Path, files: dict[str, bytes] = FILES, about: Callable[..., Manifest] = describe) -> Path:
    entries = [Entry(name, partial(io.BytesIO, data)) for name, data in files.items()]
    archive.write(place, entries, about, lambda _: None)
    return place


def unpacked(place: Path, folder: Path) -> dict[str, bytes]:
    with archive.opened(place) as (source, manifest):
        archive.unpack(source, manifest, manifest.files, folder, lambda _: None)
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    place = made(tmp_path / "a.zip")
    assert archive.is_archive(place)
    assert unpacked(place, tmp_path / "out") == FILES
    assert place.stat().st_size < sum(map(len, FILES.values())) + 3000
    with zipfile.ZipFile(place) as ordinary:  # an archive is a standard zip file
        assert ordinary.testzip() is None
        assert ordinary.namelist() == [MIMETYPE, *FILES, MANIFEST]


def test_what_grows_or_goes_while_it_is_read_is_bounded_or_left_out(tmp_path: Path) -> None:
    growing = tmp_path / "growing"
    growing.write_bytes(b"a" * 3_000_000)

    def grow(size: int) -> None:
        if size:
            with growing.open("ab") as file:
                file.write(b"b" * size)

    entries = [Entry(FILE, lambda: growing.open("rb")), Entry("gone", lambda: (tmp_path / "gone").open("rb"))]
    archive.write(tmp_path / "a.zip", entries, describe, grow)
    assert unpacked(tmp_path / "a.zip", tmp_path / "out") == {FILE: b"a" * 3_000_000}


def test_a_program_stays_one(tmp_path: Path) -> None:
    program = tmp_path / "train.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    entries = [Entry(FILE, partial(io.BytesIO, b"")), Entry("train.sh", lambda: program.open("rb"))]
    archive.write(tmp_path / "a.zip", entries, describe, lambda _: None)
    unpacked(tmp_path / "a.zip", tmp_path / "out")
    assert os.access(tmp_path / "out" / "train.sh", os.X_OK)
    assert not os.stat(tmp_path / "out" / FILE).st_mode & stat.S_IXUSR


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../up", "a/../../up", "a//b", "./a", "a/", "C:\\a", "C:/a", "..", "a/./b"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    place = made(tmp_path / "a.zip", {FILE: b"", name: b"x"})
    with pytest.raises(PlannerError, match=r"a\.zip is damaged \(.*restore another backup"):
        unpacked(place, tmp_path / "in" / "out")
    assert not (tmp_path / "in").exists()


def rewritten(place: Path, change: Callable[[zipfile.ZipFile, Manifest], None]) -> Path:
    """Write a zip file that begins like a backup, let ``change`` add further entries, and return the path."""
    manifest = describe({})
    with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as target:
        target.writestr(MIMETYPE, MARK)
        change(target, manifest)
    return place


def with_files(target: zipfile.ZipFile, infos: list[tuple[zipfile.ZipInfo, bytes]], **more: object) -> None:
    files = {}
    for info, data in infos:
        target.writestr(info, data)
        files[info.filename] = FileSum(size=len(data), sha256="0" * 64)
    target.writestr(MANIFEST, describe(files).model_copy(update=more).model_dump_json())


def linked(target: zipfile.ZipFile, _: Manifest) -> None:
    info = zipfile.ZipInfo("evil")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with_files(target, [(zipfile.ZipInfo(FILE), b""), (info, b"/etc/passwd")])


def compressed(target: zipfile.ZipFile, _: Manifest) -> None:
    info = zipfile.ZipInfo(FILE)
    info.compress_type = zipfile.ZIP_DEFLATED
    with_files(target, [(info, b"\0" * 10_000_000)])


def twice(target: zipfile.ZipFile, _: Manifest) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        with_files(target, [(zipfile.ZipInfo(FILE), b"a"), (zipfile.ZipInfo(FILE), b"b")])


def without_manifest(target: zipfile.ZipFile, _: Manifest) -> None:
    target.writestr(FILE, b"")


def without_database(target: zipfile.ZipFile, _: Manifest) -> None:
    with_files(target, [(zipfile.ZipInfo("uploads/a"), b"")])


def with_more(target: zipfile.ZipFile, _: Manifest) -> None:
    with_files(target, [(zipfile.ZipInfo(FILE), b"")])
    target.writestr("more", b"x")


def with_other_manifest(target: zipfile.ZipFile, _: Manifest) -> None:
    target.writestr(FILE, b"")
    target.writestr(MANIFEST, '{"format": 1, "files": []}')


def with_write_ahead_log(target: zipfile.ZipFile, _: Manifest) -> None:
    with_files(target, [(zipfile.ZipInfo(FILE), b""), (zipfile.ZipInfo(f"{FILE}.wal"), b"x")])


def with_a_file_that_is_a_folder(target: zipfile.ZipFile, _: Manifest) -> None:
    with_files(target, [(zipfile.ZipInfo(name), b"") for name in (FILE, "a", "a/b/c")])


def with_negative_cells(target: zipfile.ZipFile, manifest: Manifest) -> None:
    target.writestr(FILE, b"")
    target.writestr(MANIFEST, manifest.model_copy(update={"cells": {"done": -5}}).model_dump_json())


def with_no_json(target: zipfile.ZipFile, _: Manifest) -> None:
    target.writestr(FILE, b"")
    target.writestr(MANIFEST, b"\xff\xfe{")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (linked, r"'evil' is not a plain file"),
        (compressed, r"'isoplan\.duckdb' is not a plain file"),
        (twice, "a name occurs twice"),
        (without_manifest, "There is no item named 'manifest.json'"),
        (without_database, "its files differ from its manifest"),
        (with_more, "its files differ from its manifest"),
        (with_other_manifest, "its manifest has a wrong"),
        (with_write_ahead_log, "it contains a write-ahead log, which no backup contains"),
        (with_a_file_that_is_a_folder, "one path is a file and a folder"),
        (with_negative_cells, "its manifest has a wrong"),
        (with_no_json, "its manifest has a wrong form"),
    ],
)
def test_archives_that_no_backup_writes_are_refused(
    tmp_path: Path, change: Callable[[zipfile.ZipFile, Manifest], None], why: str
) -> None:
    place = rewritten(tmp_path / "a.zip", change)
    with pytest.raises(PlannerError, match=why) as error, archive.opened(place):
        pass
    assert str(error.value).startswith(f"{place} is damaged (")
    assert "\n" not in str(error.value)


def test_overlapping_entries_cannot_grow_beyond_the_archive(tmp_path: Path) -> None:
    """All ten names in the list of entries point to the same bytes, so unpacking would give ten copies."""
    place = made(tmp_path / "a.zip", {FILE: b"x" * 4_000_000})
    with zipfile.ZipFile(place, "a") as target:
        whole = target.getinfo(FILE)
        for k in range(9):
            info = zipfile.ZipInfo(f"copy{k}")
            info.header_offset, info.file_size, info.compress_size, info.CRC = (
                whole.header_offset, whole.file_size, whole.compress_size, whole.CRC,
            )  # fmt: skip
            target.filelist.append(info)
            target.NameToInfo[info.filename] = info
        target._didModify = True  # type: ignore[attr-defined]
    with pytest.raises(PlannerError, match="its files overlap"), archive.opened(place):
        pass


def test_a_backup_of_a_newer_isoplan_is_named_as_one(tmp_path: Path) -> None:
    later = made(tmp_path / "a.zip", about=lambda files: describe(files).model_copy(update={"format": FORMAT + 1}))
    with pytest.raises(PlannerError, match=r"a\.zip was written by a newer Isoplan: update"), archive.opened(later):
        pass
    newer = NOTHING.model_copy(update={"layout": migration.SCHEMA + 1})
    layout = made(tmp_path / "b.zip", about=lambda files: describe(files).model_copy(update={"contents": newer}))
    with pytest.raises(PlannerError, match=r"b\.zip was written by a newer Isoplan .layout"), archive.opened(layout):
        pass


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"N,loss\n1,2\n", MARK * 100])
def test_other_files_are_no_backups(tmp_path: Path, data: bytes) -> None:
    place = tmp_path / "other.zip"
    place.write_bytes(data)
    with pytest.raises(PlannerError, match=r"other\.zip is not a backup of Isoplan"), archive.opened(place):
        pass
    assert not archive.is_archive(place)
    assert not archive.is_archive(tmp_path)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="There is no file"), archive.opened(tmp_path / "none"):
        pass
    with pytest.raises(PlannerError, match=r"cannot be read \(Is a directory\)"), archive.opened(tmp_path):
        pass


def test_damage_anywhere_is_found(tmp_path: Path) -> None:
    """Change one bit in 300 archives and truncate 100 archives. Each is refused or restored without a difference."""
    files = {FILE: b"data" * 50, "uploads/a": b"more" * 50}
    whole = made(tmp_path / "a.zip", files).read_bytes()
    rng, place, refused = random.Random(22), tmp_path / "b.zip", 0
    for k in range(400):
        data = bytearray(whole)
        if k < 300:
            at = rng.randrange(len(data))
            data[at] ^= 1 << rng.randrange(8)
        else:
            del data[rng.randrange(len(data)) :]
        place.write_bytes(data)
        try:
            assert unpacked(place, tmp_path / str(k)) == files
        except PlannerError:
            refused += 1
    assert refused > 300


def test_a_manifest_that_was_checked_cannot_be_changed(tmp_path: Path) -> None:
    with archive.opened(made(tmp_path / "a.zip")) as (_, manifest):
        for record, field in (
            (manifest, "files"),
            (manifest.files[FILE], "sha256"),
            (manifest.contents, "tables"),
        ):
            with pytest.raises(ValidationError, match="frozen"):
                setattr(record, field, None)
