"""Event files: no change after a write and a read, and one sentence for each invalid file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes import files
from isoplan.trainers.amplitudes.events import Events
from isoplan.trainers.amplitudes.files import read_events, write_events
from isoplan.trainers.amplitudes.processes import PROCESSES, squared_amplitude
from tests.trainers.amplitudes.kinematics import events as flat

ENDS = (".npz", ".h5", ".hdf5", ".parquet")
ZGG = PROCESSES["Zgg"]


def some(count: int = 20) -> Events:
    momenta = flat(ZGG, count, 500.0)
    return Events(momenta, squared_amplitude(ZGG, momenta), np.linspace(1, 2, count), "Zgg")


def refused(path: Path, words: str, process: str | None = None) -> None:
    with pytest.raises(PlannerError, match=words) as caught:
        read_events(path, process)
    assert str(caught.value).count(". ") == 0
    assert "\n" not in str(caught.value)


def save(path: Path, **arrays: Any) -> Path:
    good = {"momenta": some().momenta, "amplitude": some().amplitude}
    np.savez(path, **{name: value for name, value in (good | arrays).items() if value is not None})
    return path


@pytest.mark.parametrize("end", ENDS)
def test_a_round_trip_changes_no_digit(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"events{end}"
    for events in (some(), replace(some(), process="")):
        write_events(path, events)
        found = read_events(path)
        assert found.process == events.process
        for name in ("momenta", "amplitude", "weight"):
            np.testing.assert_array_equal(getattr(found, name), getattr(events, name))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_files_of_others(tmp_path: Path) -> None:
    """Files of other programs can be read.

    The NPZ file has single precision, and neither weights nor a process. The Parquet file has the columns in reverse
    order. The HDF5 file has the process as bytes.
    """
    path = save(tmp_path / "a.npz", momenta=some().momenta.astype(np.float32))
    np.testing.assert_array_equal(read_events(path).weight, 1.0)
    assert read_events(path).process == ""
    assert read_events(path, "Zgg").process == "Zgg"
    numbers = some().momenta.reshape(20, -1)
    frame = pd.DataFrame(numbers, columns=files.columns_of(5)).assign(amplitude=some().amplitude, other="x")
    frame[frame.columns[::-1]].to_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_events(tmp_path / "a.parquet").momenta, some().momenta)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["momenta"], file["amplitude"] = some().momenta, some().amplitude
        file.attrs["process"] = np.bytes_("Zgg")
    assert read_events(tmp_path / "a.h5").process == "Zgg"


@pytest.mark.parametrize("end", ENDS)
def test_files_that_are_none(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"events{end}"
    refused(path, r"There is no file .*events")
    path.touch()
    refused(path, r"events\..* is empty: copy or make it again")
    path.write_bytes(b"events of something else " * 20)
    refused(path, r"is not an? (NPZ|HDF5|Parquet) file")
    write_events(path, some())
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, r"cut short")


def test_other_names_and_a_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(tmp_path / "events.csv", r"events.csv does not have the extension of an event file: use .npz, .h5")
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    refused(tmp_path / "events.h5", r"need the package h5py: install it with pip install")


def test_missing_columns(tmp_path: Path) -> None:
    refused(save(tmp_path / "a.npz", amplitude=None), r"has no amplitude, it contains momenta: name its arrays")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["p"] = some().momenta
    refused(tmp_path / "a.h5", r"has no momenta and no amplitude, it contains p:")
    frame = pd.DataFrame(some().momenta.reshape(20, -1), columns=files.columns_of(5))
    frame.to_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", r"has no column amplitude: name the columns p0_E, p0_px")
    frame.assign(amplitude=1.0).drop(columns=["p3_px"]).to_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", r"has no column p3_px:")
    pd.DataFrame({"s": [1.0], "amplitude": 1.0}).to_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", r"has no column p0_E, p0_px, p0_py, p0_pz:")


def test_what_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    refused(save(path, amplitude=some().amplitude.astype(object)), r"amplitude holds object, not real numbers")
    refused(save(path, amplitude=some().amplitude.astype(str)), r"amplitude holds <U32, not real numbers")
    refused(save(path, amplitude=some().amplitude + 0j), r"amplitude holds complex128")
    frame = pd.DataFrame(some().momenta.reshape(20, -1), columns=files.columns_of(5))
    frame.assign(amplitude=1.0, p2_px="a").to_parquet(tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", r"p2_px holds (large_)?string, not real numbers")


def test_values_that_no_event_has(tmp_path: Path) -> None:
    path, good = tmp_path / "a.npz", some()
    refused(save(path, momenta=good.momenta[:, :, :3]), r"a.npz: The momenta have the shape \(20, 5, 3\)")
    refused(save(path, amplitude=good.amplitude[:19]), r"amplitude has the shape \(19,\) and the momenta contain 20")
    refused(save(path, momenta=good.momenta[:0], amplitude=good.amplitude[:0]), r"The file contains no events")
    refused(
        save(path, amplitude=good.amplitude * np.inf),
        r"Row 0 \(counted from 0; 20 rows in all\) has the amplitude inf, which",
    )
    off = good.momenta.copy()
    off[7, 2, 0] += 1
    refused(
        save(path, momenta=off),
        r"Row 7 \(counted from 0\) does not conserve momentum: incoming minus outgoing is \(-1, ",
    )
    refused(save(path, momenta=off), r"Row 7 \(counted from 0\): particle 2 \(Z\) is off shell", process="Zgg")


def test_processes_by_name(tmp_path: Path) -> None:
    path = save(tmp_path / "a.npz", process=np.array("Zgq"))
    refused(path, r"no built-in process 'Zgq': use Zg, ")
    refused(
        save(path, process=np.array("Zgg")), r"contains events of Zgg, not of ttH: give the process Zgg", process="ttH"
    )


def test_what_does_not_fit_is_refused_before_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "usable_memory", lambda: 10_000.0)
    for end in ENDS:
        write_events(tmp_path / f"a{end}", some())
        refused(
            tmp_path / f"a{end}",
            r"The events of .* take 0.0 GB of memory, but only 0.0 GB may be used: 15 events would",
        )


def headers(path: Path, arrays: Mapping[str, tuple[tuple[int, ...], str]]) -> Path:
    """Write an NPZ file whose arrays have headers but no values, and return its path.

    The headers contain the given shapes and types.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (shape, kind) in arrays.items():
            place = io.BytesIO()
            np.lib.format.write_array_header_1_0(place, {"descr": kind, "fortran_order": False, "shape": shape})
            archive.writestr(f"{name}.npy", place.getvalue())
    return path


GOOD = {"momenta": ((20, 5, 4), "<f8"), "amplitude": ((20,), "<f8")}
MANY = 10**13


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"amplitude": ((MANY,), "<f8")},
            r"The amplitude has the shape \(10000000000000,\) and the momenta contain 20",
        ),
        ({"weight": ((MANY,), "<f8")}, r"The weight has the shape \(10000000000000,\) and the momenta contain 20"),
        (
            {"weight": ((20, 1), "<f8")},
            r"The weight has the shape \(20, 1\) and the momenta contain 20 events: give one",
        ),
        ({"momenta": ((), "<f8")}, r"The momenta have the shape \(\): give an array \(events, particles, 4\)"),
        ({"amplitude": ((20,), "<U500000000")}, r"amplitude holds <U500000000, not real numbers: write it as float64"),
        ({"process": ((MANY,), "<U3")}, r"process holds <U3 of the shape \(10000000000000,\), not one text: write"),
        ({"process": ((), "<U500000000")}, r"process holds <U500000000 of the shape \(\), not one text: write"),
        ({"process": ((), "<f8")}, r"process holds float64 of the shape \(\), not one text: write the name"),
        (
            {"momenta": ((MANY, 5, 4), "<f8"), "amplitude": ((MANY,), "<f8")},
            r"The events of .*a\.npz take 5280000\.0 GB of memory, but only \d.* GB may be used: [\d,]+ events would",
        ),
    ],
)
def test_headers_are_read_before_anything_is_loaded(
    changed: dict[str, tuple[tuple[int, ...], str]], words: str, tmp_path: Path
) -> None:
    refused(headers(tmp_path / "a.npz", GOOD | changed), words)


def test_memory_that_runs_out_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error also occurs if the amount of available memory is unknown."""
    monkeypatch.setattr(files, "usable_memory", lambda: 0.0)
    path = headers(tmp_path / "a.npz", {"momenta": ((MANY, 5, 4), "<f8"), "amplitude": ((MANY,), "<f8")})
    refused(path, r"The events of .*a\.npz need more memory than available: use fewer events, or free memory\.")


def test_only_the_array_whose_header_was_read_is_loaded(tmp_path: Path) -> None:
    """An archive can contain ``amplitude`` as well as ``amplitude.npy``. ``numpy.load`` would read ``amplitude``."""
    path = save(tmp_path / "a.npz")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("amplitude", b"nothing of the kind")
    np.testing.assert_array_equal(read_events(path).amplitude, some().amplitude)


def stored(path: Path, **changed: Any) -> h5py.File:
    """Return an open HDF5 file with momenta and amplitude.

    ``changed`` replaces arrays, or removes an array if its value is None.
    """
    file = h5py.File(path, "w")
    for name, value in ({"momenta": some().momenta, "amplitude": some().amplitude} | changed).items():
        if value is not None:
            file[name] = value
    return file


ELSEWHERE = "is a link to numbers that are stored elsewhere: store the numbers in"


@pytest.mark.parametrize("name", ["momenta", "amplitude", "weight"])
def test_data_sets_of_hdf5_lie_in_the_file_itself(name: str, tmp_path: Path) -> None:
    other, path = tmp_path / "other.h5", tmp_path / "a.h5"
    numbers = {"momenta": some().momenta, "amplitude": some().amplitude, "weight": some().weight}
    with stored(other, weight=some().weight):
        pass
    links = [h5py.ExternalLink("other.h5", f"/{name}"), h5py.SoftLink(f"/kept/{name}")]
    for link in links:
        with stored(path, **{name: link}) as file:
            file[f"kept/{name}"] = numbers[name]
        refused(path, rf"a\.h5: {name} {ELSEWHERE}")
    numbers[name].tofile(tmp_path / "raw")
    with stored(path, **{name: None}) as file:
        file.create_dataset(name, numbers[name].shape, "<f8", external=[(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)])
    refused(path, rf"{name} {ELSEWHERE}")
    layout = h5py.VirtualLayout(numbers[name].shape, "<f8")
    layout[...] = h5py.VirtualSource(str(other), name, numbers[name].shape)
    with stored(path, **{name: None}) as file:
        file.create_virtual_dataset(name, layout)
    refused(path, rf"{name} {ELSEWHERE}")
    with stored(path, **{name: None}) as file:
        file[f"kept/{name}"] = numbers[name]
        file[name] = file[f"kept/{name}"]  # a hard link within the file is allowed
    np.testing.assert_array_equal(getattr(read_events(path), name), numbers[name])


def test_a_link_that_leads_nowhere_and_a_group_are_one_sentence(tmp_path: Path) -> None:
    with stored(tmp_path / "a.h5", amplitude=h5py.ExternalLink("nowhere.h5", "/amplitude")):
        pass
    refused(tmp_path / "a.h5", rf"amplitude {ELSEWHERE}")
    with stored(tmp_path / "a.h5", amplitude=None) as file:
        file["amplitude/kept"] = some().amplitude
    refused(tmp_path / "a.h5", r"has no amplitude, it contains momenta: name its arrays")


def test_shapes_of_hdf5_are_read_before_anything_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    for name in ("amplitude", "weight"):
        with stored(path, **{name: None}) as file:
            file.create_dataset(name, (MANY,), "<f8", chunks=(1000,))
        refused(path, rf"The {name} has the shape \(10000000000000,\) and the momenta contain 20 events")
    with stored(path, amplitude=None) as file:
        file.create_dataset("amplitude", (20,), "<f8", maxshape=(None,), chunks=(2**28,), compression="gzip")
    refused(path, r"amplitude has chunks of the shape \(268435456,\): store it in smaller chunks, or without chunks")
    with stored(path) as file:
        file.attrs["process"] = np.full(1000, np.bytes_("Zgg"))
    refused(path, r"process holds \|S3 of the shape \(1000,\), not one text: write the name")
    with stored(path) as file:
        file["weight"] = h5py.Empty("f8")
    refused(path, r"The weight has the shape \(\) and the momenta contain 20 events")
