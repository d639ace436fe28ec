"""Tests of the device catalogue: values of the data sheets, and checks that detect typing errors."""

from __future__ import annotations

import pytest

from isoplan.engine.errors import PlannerError
from isoplan.engine.hardware import DEVICES, Device, device, find_device

SPARSE: dict[str, dict[str, float]] = {
    "B200": {"tf32": 2250, "bf16": 4500, "fp8": 9000},
    "H200": {"tf32": 989, "bf16": 1979, "fp8": 3958},
    "H100": {"tf32": 989, "bf16": 1979, "fp8": 3958},
    "A100 80GB": {"tf32": 312, "bf16": 624},
    "L40S": {"tf32": 366, "bf16": 733, "fp8": 1466},
    "RTX4090": {"tf32": 165.2, "bf16": 330.3, "fp8": 660.6},
    "MI300X": {"tf32": 1307.4, "bf16": 2614.9, "fp8": 5229.8},
}
"""Peak TFLOP/s with sparsity per device and number format, as printed in the data sheets."""

CLOCKED: list[tuple[str, str, int, int, float]] = [
    ("B200", "bf16", 148, 8192, 1.855),
    ("H100", "bf16", 132, 4096, 1.830),
    ("H100", "fp8", 132, 8192, 1.830),
    ("A100", "bf16", 108, 2048, 1.410),
    ("A100", "tf32", 108, 1024, 1.410),
    ("A100", "fp32", 108, 128, 1.410),
    ("RTX4090", "bf16", 128, 512, 2.520),
    ("RTX4090", "fp32", 128, 256, 2.520),
    ("V100", "fp16", 80, 1024, 1.530),
    ("V100", "fp32", 80, 128, 1.530),
    ("V100", "fp64", 80, 64, 1.530),
    ("MI300X", "fp64", 304, 256, 2.100),
    ("MI300X", "tf32", 304, 1024, 2.100),
    ("MI300X", "bf16", 304, 2048, 2.100),
    ("MI300X", "fp8", 304, 4096, 2.100),
]
"""Device, number format, number of multiprocessors, dense FLOPs per multiprocessor and cycle, boost clock in GHz."""


def test_what_people_rent_is_there() -> None:
    assert [d.name for d in DEVICES] == [
        *("B200", "H200", "H100", "A100 80GB", "A100 40GB", "L40S", "RTX4090", "V100", "MI300X", "TPUv5p", "CPU node")
    ]


@pytest.mark.parametrize("d", DEVICES, ids=lambda d: d.name)
def test_a_sheet_is_complete_and_of_a_plausible_size(d: Device) -> None:
    assert d.sheet
    assert d.training in d.peaks
    rates = list(d.peaks.values())
    # Peaks are listed from wide to narrow number formats, and a narrow format is never slower.
    assert rates == sorted(rates)
    assert 1e12 < rates[0] <= rates[-1] < 1e16
    assert 2e10 < d.memory < 1e12
    assert d.power is None or 250 <= d.power <= 1200


@pytest.mark.parametrize("name", SPARSE)
def test_peaks_are_half_of_what_sheets_print_with_sparsity(name: str) -> None:
    for precision, sparse in SPARSE[name].items():
        assert find_device(name).peak_at(precision) == pytest.approx(sparse * 1e12 / 2, rel=2e-2)


@pytest.mark.parametrize(("name", "precision", "units", "per_cycle", "clock"), CLOCKED)
def test_peaks_are_units_times_clock(name: str, precision: str, units: int, per_cycle: int, clock: float) -> None:
    assert find_device(name).peak_at(precision) == pytest.approx(units * per_cycle * clock * 1e9, rel=5e-3)


def test_the_cpu_node_is_cores_times_clock_times_vector_width() -> None:
    node = find_device("CPU node")
    assert node.peak_at("fp64") == pytest.approx(2 * 96 * 2.4e9 * 16, rel=1e-3)
    assert node.peak == pytest.approx(2 * 96 * 2.4e9 * 32, rel=1e-3)


def test_names_do_not_share_a_spelling() -> None:
    names = ["".join(c for c in n.lower() if c.isalnum()) for d in DEVICES for n in (d.name, *d.also)]
    assert len(names) == len(set(names))


def test_devices_are_found_however_they_are_spelled() -> None:
    assert device("rtx-4090") is device("RTX 4090") is not None
    assert device("h100 ") is not None
    assert device("A100") is device("a100-80gb")
    assert device("a100 40 GB") is not device("A100")
    assert device("abacus") is None
    with pytest.raises(PlannerError, match="device 'abacus' is not in the catalogue: use one of B200, H200"):
        find_device("abacus")


def test_a_precision_that_a_device_lacks_is_refused() -> None:
    with pytest.raises(PlannerError, match="V100 has no peak at precision 'bf16': use fp64, fp32, fp16"):
        find_device("V100").peak_at("bf16")
