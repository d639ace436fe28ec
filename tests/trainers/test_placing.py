"""Cells of a family at given sizes: values of the main fields, their limits, and N, D and C of the cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from isoplan.trainers import placing
from isoplan.trainers.cell import Family, Sizes
from isoplan.trainers.families import find_family, read_cell
from isoplan.trainers.jets.cell import Shape, parameters
from isoplan.trainers.placing import Reachable, field_values, reachable, size_axes
from isoplan.trainers.ranges import Value

JETS, BEHAVIOR = find_family("jets", Path()), find_family("behavior", Path())
PROGRAM = """
[swapped]
command = ["true"]
main = ["samples", "width"]
sizes = { N = "12*width^2", D = "samples", C = "72*width^2*samples" }
[swapped.fields.width]
kind = "integer"
minimum = 8
maximum = 64
[swapped.fields.samples]
kind = "integer"
minimum = 100
maximum = 1e5
"""


def steps(cells: tuple[Reachable, ...], name: str) -> list[float]:
    """Return the decimal logarithms of the ratios of neighbouring sizes."""
    return [math.log10(b / a) for a, b in pairwise(sorted({getattr(cell.sizes, name) for cell in cells}))]


def test_cells_of_jets_have_the_sizes_that_the_family_computes() -> None:
    cells = reachable(JETS, {"seed": 3, "inputs": "3x40"})
    assert all(cell.fields["seed"] == 3 and cell.fields["inputs"] == "3x40" for cell in cells)
    assert all(set(cell.fields) == {"width", "jets", "seed", "inputs"} for cell in cells)
    assert all(cell.sizes == JETS.sizes(read_cell(JETS, dict(cell.fields))) for cell in cells)
    (one,) = (cell for cell in reachable(JETS, {}) if (cell.fields["width"], cell.fields["jets"]) == (8, 10))
    assert (one.sizes.N, one.sizes.D) == (48 * 8**2 + 87 * 8 + 10, 10)
    # The other configuration has fewer features, which makes N smaller at the same width.
    (narrow,) = (cell for cell in cells if (cell.fields["width"], cell.fields["jets"]) == (8, 10))
    assert narrow.sizes.N == parameters(Shape(3, 8, 4)) == 48 * 8**2 + 69 * 8 + 10


@pytest.mark.parametrize(
    ("family", "N", "D", "N_range", "D_range"),
    [(JETS, "width", "jets", (1, 4096), (10, 10**8)), (BEHAVIOR, "width", "steps", (1, 16_384), (1, 10**8))],
)
def test_cells_go_from_the_smallest_to_the_largest_value(
    family: Family[Any], N: str, D: str, N_range: tuple[int, int], D_range: tuple[int, int]
) -> None:
    cells = reachable(family, {})
    assert {name: axis.field for name, axis in size_axes(family, {}, 1.5).items()} == {"N": N, "D": D}
    for field, (low, high) in ((N, N_range), (D, D_range)):
        values = [int(cell.fields[field]) for cell in cells]
        assert (min(values), max(values)) == (low, high)
    assert 1000 < len(cells) <= 1.05 * placing.COMBINATIONS
    assert len({(cell.fields[N], cell.fields[D]) for cell in cells}) == len(cells)


def test_values_are_thinned_on_both_axes() -> None:
    for per_decade in (2, 4):
        cells = reachable(BEHAVIOR, {"batch": 8}, per_decade)
        assert all(cell.fields["batch"] == 8 for cell in cells)
        for name, decades in (("N", 7.02), ("D", 8.0)):
            assert len(steps(cells, name)) == pytest.approx(per_decade * decades, abs=2)
            assert max(steps(cells, name)) < 1.7 / per_decade
    dense = steps(reachable(BEHAVIOR, {}, 100), "D")
    assert len(dense) < 50


def test_at_most_about_2000_sizes_are_computed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[object] = []
    sizes = placing._sizes

    def counted(family: Family[Any], fields: Mapping[str, Value]) -> Sizes | None:
        computed.append(fields)
        return sizes(family, fields)

    monkeypatch.setattr(placing, "_sizes", counted)
    # Neither field of the program has a maximum.
    for family in (JETS, BEHAVIOR, find_family("counter", root)):
        computed.clear()
        assert reachable(family, {}, 20)
        assert len(computed) <= 2200


def test_the_order_of_the_main_fields_and_missing_defaults_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "programs.toml").write_text(PROGRAM)
    family = find_family("swapped", tmp_path)
    axes = size_axes(family)
    assert (axes["N"].field, axes["D"].field) == ("width", "samples")
    assert axes["N"].sizes[16] == 12 * 16**2
    cells = reachable(family, {"width": 16}, 1)
    assert [(cell.fields["width"], cell.fields["samples"]) for cell in cells] == [
        (width, samples) for width in (8, 22, 64) for samples in (100, 1000, 10_000, 100_000)
    ]


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("jets", {"epochs": 20}),  # D is unknown before the training
        ("jets", {"colour": 1}),
        ("jets", {"heads": 5000}),
        ("behavior", {"budget": 1e13}),  # N and D follow from the budget
        ("amplitudes", {}),  # N is not an integer field
    ],
)
def test_without_two_fields_that_determine_n_and_d_there_are_no_cells(name: str, fixed: dict[str, float]) -> None:
    assert reachable(find_family(name, Path()), fixed) == ()


def test_refused_combinations_are_left_out() -> None:
    # A width d above 128 must be a multiple of the number of heads, which is d // 64.
    widths = {int(cell.fields["width"]) for cell in reachable(JETS, {})}
    assert all(width % max(1, width // 64) == 0 for width in widths)
    assert {width % 3 for width in map(int, size_axes(JETS, {"heads": 3})["N"].sizes)} == {0}


def test_values_of_a_field_are_whole_numbers_within_its_limits() -> None:
    teacher = find_family("teacher-student", Path())
    values = field_values(teacher, "samples")
    assert (values[0], values[-1], values == sorted(set(values))) == (256, 10**8, True)
    assert all(type(value) is int for value in values)
    assert {260, 990, 1000, 1100, 66_000} <= set(values)
    spaced = list(size_axes(teacher, {}, 1.5)["D"].sizes)
    assert all(b / a >= 1.5 for a, b in pairwise(spaced))
    # Values with one digit are preferred.
    assert {900, 1000, 2000, 10**6, 10**8} <= set(size_axes(teacher, {}, 1.08)["D"].sizes)
    assert field_values(BEHAVIOR, "width")[:3] == [1, 2, 3]
    assert field_values(BEHAVIOR, "share") == []
