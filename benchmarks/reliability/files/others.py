"""Files of other programs with the suffix of a table, and files that contain no table."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import sqlite3
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import ipc, orc

from benchmarks.reliability.files.case import Cases, Rows, content, grid, refuses, spelled, table

KIND = "other files"
FORMATS = ("csv", "txt", "json", "parquet", "xlsx", "duckdb")
"""Suffixes that the upload box of the page accepts, one for each format."""


def cases(rng: np.random.Generator) -> Cases:
    """Yield each file with the suffix of a text table, and some files with all suffixes."""
    rows = grid(rng)
    files = _packed(rows) | _programs(rows) | _random(rng)
    for name, (data, word) in files.items():
        yield content(f"{name}.csv", KIND, data, refuses(word or name))
    for ending in FORMATS:
        for name in ("gzip", "png", "sqlite", "pickle", "zip of a table", "random bytes"):
            if ending != "csv":
                yield content(f"{name}.{ending}", KIND, files[name][0], refuses(name))
        yield content(f"empty.{ending}", KIND, b"", refuses("empty"))
        yield content(f"one byte.{ending}", KIND, b"\n", refuses("one byte"))


def _packed(rows: Rows) -> dict[str, tuple[bytes, str]]:
    """Return the table packed in several ways: for each file name, its bytes and a word of the expected message.

    If the word is "", the message must contain the name of the file.
    """
    text = table(spelled(rows)).encode()
    folder = io.BytesIO()
    with tarfile.open(fileobj=folder, mode="w") as archive:
        entry = tarfile.TarInfo("runs.csv")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    found = {
        "gzip": (gzip.compress(text), "gzip"),
        "gzip cut": (gzip.compress(text)[:30], "gzip"),
        "bzip2": (bz2.compress(text), "bzip2"),
        "xz": (lzma.compress(text), ""),
        "zlib": (zlib.compress(text), "N"),
        "tar": (folder.getvalue(), ""),
        "zstd": (b"\x28\xb5\x2f\xfd" + text, "zstd"),
    }
    for name, inner, packed in (
        ("zip of a table", "runs.csv", text),
        ("zip of a path", "../../runs.csv", text),
        ("zip of nothing", "", b""),
        ("document of Word", "word/document.xml", b"<w/>"),
        ("sheet of LibreOffice", "content.xml", b"<office/>"),
        ("arrays of numpy", "loss.npy", b"\x93NUMPY"),
    ):
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive_of_zip:
            if inner:
                archive_of_zip.writestr(inner, packed)
        # The first bytes of an empty archive differ from those of an archive with a file.
        found[name] = (sink.getvalue(), "Excel" if inner else "")
    return found


def _programs(rows: Rows) -> dict[str, tuple[bytes, str]]:
    """Return files of other programs: for each file name, its bytes and a word of the expected message."""
    arrow, columns = io.BytesIO(), pa.table({"N": [r[0] for r in rows], "loss": [r[2] for r in rows]})
    with ipc.new_file(arrow, columns.schema) as writer:
        writer.write_table(columns)
    stream, orcs, array = io.BytesIO(), io.BytesIO(), io.BytesIO()
    with ipc.new_stream(stream, columns.schema) as writer:
        writer.write_table(columns)
    orc.write_table(columns, orcs)
    np.save(array, np.array(rows))
    return {
        "sqlite": (_sqlite(rows), "SQLite"),
        "arrow": (arrow.getvalue(), "Arrow"),
        "stream of arrow": (stream.getvalue(), ""),
        "orc": (orcs.getvalue(), ""),
        "array of numpy": (array.getvalue(), ""),
        "pickle": (pickle.dumps(rows), ""),
        "pickle that runs a program": (b"cposix\nsystem\n(S'touch /tmp/pickled'\ntR.", "N"),
        "png": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, ""),
        "jpeg": (b"\xff\xd8\xff\xe0" + bytes(range(1, 256)) * 20, ""),
        "pdf": (b"%PDF-1.7\n" + bytes(range(256)) * 20, "PDF"),
        "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(2000), "HDF5"),
        "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000), "old Excel file"),
        "program": (b"\x7fELF\x02\x01\x01" + bytes(2000), ""),
        "script": (b"#!/bin/sh\necho hello\n", "N"),
        "page": (b"<!DOCTYPE html><html><body>Sign in</body></html>\n", ""),
        "xml": (b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', ""),
        "yaml": (b"runs:\n- N: 1\n  D: 2\n  loss: 3\n", "N"),
        "notebook": (b'{"cells": [{"source": ["1"]}], "nbformat": 4}', ""),
        "settings": (b"[run]\nN = 1\nloss = 3\n", "N"),
        "log of training": (b"step 1 loss 3.2\nstep 2 loss 3.1\n" * 20, "N"),
        "pointer of git lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n", "N"),
        "page of an error": (b'{"error": "404 Not Found"}', ""),
    }


def _sqlite(rows: Rows) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE runs (N REAL, D REAL, loss REAL)")
            connection.executemany("INSERT INTO runs VALUES (?, ?, ?)", rows)
        connection.close()
        return path.read_bytes()


def _random(rng: np.random.Generator) -> dict[str, tuple[bytes, str]]:
    printable = bytes(rng.integers(32, 127, 5000, dtype=np.uint8))
    high = bytes(rng.integers(128, 256, 5000, dtype=np.uint8))
    return {
        "random bytes": (rng.bytes(5000), ""),
        "random letters": (printable, ""),
        "random high bytes": (high, ""),
        "zeros": (bytes(5000), ""),
        "separators": (b",;|\t\n" * 1000, "N"),
        "marks": (b'"' * 5001, ""),
        "line ends": (b"\r\n\r\r\n\n" * 1000, "blank"),
    }
