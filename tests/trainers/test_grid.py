"""Grids from files and forms: their cells (training runs), and error messages for invalid grids."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.errors import PlannerError
from isoplan.trainers.families import families, find_family
from isoplan.trainers.grid import (
    Grid,
    axes,
    cells,
    check_typed,
    make_grid,
    open_grid,
    parse_grid,
    read_grid,
    type_field,
    typed_grid,
    with_typed,
    with_value,
)
from isoplan.trainers.grid import write_grid as write
from isoplan.trainers.ranges import Range, expand, read_typed
from tests.trainers.conftest import workspace

HEAD = 'family = "teacher-student"\n'
EXAMPLE = find_family("teacher-student", Path())
COUNTED = st.integers(2, 60)


def widths(root: Path, text: str) -> list[int]:
    return [cell.model_dump()["width"] for cell in cells(parse_grid(f"{HEAD}[cell]\nwidth = {text}\n", root), EXAMPLE)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16", [16]),
        ("[8, 32, 16]", [8, 32, 16]),
        ("[8, 8.0, 16]", [8, 16]),
        ('"8..512 x 7"', [8, 16, 32, 64, 128, 256, 512]),
        ('"8..512 x7"', [8, 16, 32, 64, 128, 256, 512]),
        ('"8 .. 512 × 7 log"', [8, 16, 32, 64, 128, 256, 512]),
        ('"10^1..2k x 2"', [10, 2000]),
        ('"10..50 x 5 linear"', [10, 20, 30, 40, 50]),
        ('{ from = 10, to = 50, count = 3, scale = "linear" }', [10, 30, 50]),
        ("{ from = 1, to = 100, count = 3 }", [1, 10, 100]),
        ('"1..4 x 9"', [1, 2, 3, 4]),
        ('"8, 16, 32"', [8, 16, 32]),
        ('["8..32 x 3", 100]', [8, 16, 32, 100]),
        ('"8;16;"', [8, 16]),
    ],
)
def test_a_field_is_a_value_a_list_or_a_range(root: Path, text: str, expected: list[int]) -> None:
    assert widths(root, text) == expected


def test_cells_come_in_the_order_of_the_file_with_the_last_field_fastest(root: Path) -> None:
    grid = parse_grid(HEAD + "[cell]\nsamples = [512, 256]\nwidth = [4, 2]\nseed = 3\n", root)
    made = [cell.model_dump() for cell in cells(grid, EXAMPLE)]
    assert [(c["samples"], c["width"], c["seed"], c["dim"]) for c in made] == [
        (512, 4, 3, 32), (512, 2, 3, 32), (256, 4, 3, 32), (256, 2, 3, 32),
    ]  # fmt: skip
    assert len(cells(grid, EXAMPLE)) == 4
    assert {cell.seed for cell in cells(with_value(grid, "seed", 7), EXAMPLE)} == {7}


LISTED = (
    HEAD
    + """[cell]
noise = [0, 0.1]

[[cells]]
width = 8
samples = 1000

[[cells]]
width = "16"
samples = "2k"
seed = 3
"""
)


def made(grid: Grid, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(cell, field) for field in fields) for cell in cells(grid, EXAMPLE)]


def test_each_listed_cell_is_combined_with_every_combination(root: Path) -> None:
    grid = parse_grid(LISTED, root)
    assert grid.listed == ({"width": 8, "samples": 1000}, {"width": 16, "samples": 2000, "seed": 3})
    assert made(grid, "width", "samples", "seed", "noise") == [
        (8, 1000, 0, 0.0), (8, 1000, 0, 0.1), (16, 2000, 3, 0.0), (16, 2000, 3, 0.1),
    ]  # fmt: skip
    assert axes(grid, EXAMPLE) == {"noise": (0, 0.1), "width": (8, 16), "samples": (1000, 2000), "seed": (0, 3)}
    assert parse_grid(write(grid), root) == grid


def test_equal_listed_cells_are_one_cell(root: Path) -> None:
    grid = parse_grid(HEAD + "[[cells]]\nwidth = 8\n[[cells]]\nwidth = 8\nseed = 0\n[[cells]]\nwidth = 9\n", root)
    assert made(grid, "width", "seed") == [(8, 0), (9, 0)]


def test_new_values_of_a_field_are_those_of_the_listed_cells_too(root: Path) -> None:
    grid = parse_grid(LISTED, root)
    assert made(with_value(grid, "seed", 7), "width", "seed", "noise") == [
        (8, 7, 0.0), (8, 7, 0.1), (16, 7, 0.0), (16, 7, 0.1),
    ]  # fmt: skip
    wider = with_typed(with_typed(grid, EXAMPLE, "noise=0"), EXAMPLE, "width=4..16 x 3")
    assert made(wider, "width", "samples") == [
        (4, 1000), (8, 1000), (16, 1000), (4, 2000), (8, 2000), (16, 2000),
    ]  # fmt: skip
    assert parse_grid(write(wider), root) == wider
    alone = parse_grid(HEAD + "[[cells]]\nseed = 1\n[[cells]]\nseed = 2\n[[cells]]\nwidth = 8\n", root)
    assert made(with_value(alone, "seed", 5), "width", "seed") == [(32, 5), (8, 5)]
    assert parse_grid(write(with_value(alone, "seed", 5)), root) == with_value(alone, "seed", 5)


def test_too_many_listed_cells_are_counted_and_not_made(root: Path) -> None:
    listed = [{"seed": seed} for seed in range(15_000)]
    grid = make_grid(EXAMPLE, {"noise": [0, 0.1]}, listed=listed)
    with pytest.raises(PlannerError, match=r"has 30,000 cells, .* 20,000 at most: give fewer values to noise\."):
        cells(grid, EXAMPLE)
    with pytest.raises(PlannerError, match=r"has 25,000 cells, .*: list fewer cells\."):
        cells(make_grid(EXAMPLE, {}, listed=[{"seed": seed} for seed in range(25_000)]), EXAMPLE)
    listed = [{"seed": 0, "width": width} for width in range(1, 1001)]
    with pytest.raises(PlannerError, match=r"has 1,000,000 cells, .*: give fewer values to seed\."):
        with_typed(make_grid(EXAMPLE, {}, listed=listed), EXAMPLE, "seed=0..999 x 1000 linear")


def test_a_grid_without_fields_is_the_cell_of_defaults(root: Path) -> None:
    (cell,) = cells(parse_grid(HEAD, root), EXAMPLE)
    assert cell == EXAMPLE.cell()


def test_ranges_of_numbers_have_round_values_and_go_straight_through_zero(root: Path) -> None:
    grid = parse_grid(HEAD + '[cell]\nrate = "0.0001..0.1 x 4"\nnoise = "0..1 x 5"\n', root)
    assert axes(grid, EXAMPLE) == {"rate": (0.0001, 0.001, 0.01, 0.1), "noise": (0, 0.25, 0.5, 0.75, 1)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("width = 8", "grid.toml has the key 'width', but a grid has only family, name, [cell] and [[cells]]: remove"),
        ("[cell]\nwidth = 8", 'grid.toml has no family: begin it with family = "teacher-student"'),
        ("family = ", "grid.toml cannot be read as TOML"),
        ('family = "student"', "There is no family 'student' of cells: use teacher-student, counter"),
        (HEAD + "cell = 3", "is not a grid: write its name as text and its fields below [cell]"),
        (HEAD + "cells = 3", "has cells that are not sections: write the fields of each cell below [[cells]]"),
        (HEAD + "cells = []", "has cells that are not sections"),
        (HEAD + "cells = [{ width = 8 }, 9]", "has cells that are not sections"),
        (HEAD + "[cells]\nwidth = 8", "has cells that are not sections"),
        (HEAD + "[[cells]]\nwidth = 8\n[[cells]]", "Section 2 of [[cells]] is empty: set at least one field, or"),
        (HEAD + "[[cells]]\ncolour = 1", "The family teacher-student has no field 'colour': use seed, threads"),
        (
            HEAD + "[cell]\nwidth = 8\n[[cells]]\nwidth = 8",
            "width of the family teacher-student is in [cell] and in [[",
        ),
        (HEAD + "[[cells]]\nwidth = [8]", "has a list or a range in section 1 of [[cells]]: give it one value"),
        (HEAD + '[[cells]]\nwidth = "8, 16"', "has a list or a range in section 1 of [[cells]]: give it one value"),
        (
            HEAD + '[[cells]]\nwidth = 8\n[[cells]]\nwidth = "8..64 x 4"',
            "has a list or a range in section 2 of [[cells",
        ),
        (
            HEAD + "[[cells]]\nwidth = { from = 8, to = 64, count = 4 }",
            "has a list or a range in section 1 of [[cells]]",
        ),
        (HEAD + f'name = "{"x" * 101}"', "The name of the grid has 101 characters: use at most 100"),
    ],
)
def test_a_file_that_is_no_grid_is_one_sentence(root: Path, text: str, why: str) -> None:
    (root / "grid.toml").write_text(text)
    with pytest.raises(PlannerError) as error:
        read_grid(root / "grid.toml", root)
    assert why in str(error.value)


def test_a_missing_file_a_folder_and_bytes_are_one_sentence(root: Path) -> None:
    (root / "bytes.toml").write_bytes(bytes(range(128, 256)))
    for path, why in ((root / "no.toml", "There is no file"), (root, "is a folder"), (root / "bytes.toml", "cannot")):
        with pytest.raises(PlannerError, match=why):
            read_grid(path, root)


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("colour = 1", "The family teacher-student has no field 'colour': use seed, threads, deterministic, width"),
        ("width = []", "The field width of the family teacher-student has an empty list: give it a value."),
        ("width = [8, 5000]", "The field width of the family teacher-student cannot be 5000: input should be less"),
        ("width = 8.5", "The field width of the family teacher-student cannot be 8.5: input should be a valid integer"),
        ("width = true", "The field width of the family teacher-student cannot be 'True': give it a whole number"),
        ("width = inf", "The field width of the family teacher-student cannot be inf: input should be a finite number"),
        ("width = 2026-01-01", "The field width of the family teacher-student cannot be '2026-01-01'"),
        ("width = [[8]]", "The field width of the family teacher-student cannot be '[8]'"),
        ('width = "wide"', "cannot read 'wide' as a number: write values like 8, 16, 32 or a range like 8..512 x 7"),
        ('width = "8,,16"', "has nothing between two commas"),
        ('width = "8..512"', "cannot read the range '8..512': write it like 8..512 x 7"),
        ('width = "512..8 x 7"', "has a range from 512 to 8: its start must be below its end"),
        ('width = "8..512 x 1"', "has a range of 1 values: give it 2 to 20,000"),
        ('width = "8..512 x 30000"', "has a range of 30000 values: give it 2 to 20,000"),
        ('width = "0.5..8 x 3"', "requires whole numbers: start and end the range 0.5..8 x 3 with whole numbers"),
        ('width = "1,024"', "has '1,024', which can be one number or several"),
        ('noise = "0,5"', "has '0,5', which can be one number or several"),
        ('noise = "0..1 x 3 log"', "has a range from 0, which has no logarithm: start above 0, or use linear"),
        ("noise = { from = 0, to = 1 }", "cannot read its range: write { from = 8, to = 512, count = 7 }"),
        ("noise = { from = 0, to = inf, count = 3 }", "has a range from 0 to inf"),
        ('deterministic = "0..1 x 2"', "cannot be '0..1 x 2': give it yes or no"),
        ("deterministic = 1", "cannot be '1': give it yes or no"),
    ],
)
def test_a_wrong_field_is_named(root: Path, cell: str, why: str) -> None:
    with pytest.raises(PlannerError) as error:
        cells(parse_grid(f"{HEAD}[cell]\n{cell}\n", root), EXAMPLE)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_a_million_cells_are_counted_and_not_made(root: Path) -> None:
    grid = parse_grid(HEAD + '[cell]\nwidth = "1..1000 x 1000 linear"\nseed = "0..999 x 1000"\nnoise = [0, 1]\n', root)
    with pytest.raises(PlannerError) as error:
        cells(grid, EXAMPLE)
    assert str(error.value) == (
        "The grid has 2,000,000 cells, but a workspace can contain 20,000 at most: give fewer values to width or seed."
    )


def test_a_form_reads_what_is_typed_and_shows_it_again(root: Path) -> None:
    counter = find_family("counter", root)
    typed = {"size": "8..64 x 4, 100", "steps": "1k", "wait": "0.5; 0,25", "how": ' a, "b, c", ""', "seed": " "}
    grid = typed_grid(counter, typed | {"deterministic": "no, Yes"})
    assert axes(grid, counter) == {
        "size": (8, 16, 32, 64, 100), "steps": (1000,), "wait": (0.5, 0.25), "how": ("a", "b, c", ""),
        "deterministic": (False, True),
    }  # fmt: skip
    shown = {field: type_field(asked) for field, asked in grid.asked.items()}
    assert shown == {
        "size": "8..64 x 4, 100", "steps": "1000", "wait": "0.5, 0.25", "how": 'a, "b, c", ""',
        "deterministic": "no, yes",
    }  # fmt: skip
    assert typed_grid(counter, shown) == grid
    assert parse_grid(write(grid), root) == grid


VALUES: dict[str, Any] = {
    "size": st.integers(-(10**15), 10**15),
    "wait": st.floats(allow_nan=False, allow_infinity=False),
    "how": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    "deterministic": st.booleans(),
}
RANGES = st.builds(
    lambda low, more, many, scale: Range(low, low + more, many, scale),
    *(st.integers(1, 10**6), st.integers(1, 10**9), COUNTED, st.sampled_from(["", "log", "linear"])),
)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("written"))


SINGLE = st.fixed_dictionaries({"seed": st.integers(0, 10**6)}, optional=VALUES)


@given(
    st.fixed_dictionaries({}, optional={k: st.lists(v, min_size=1, max_size=4) for k, v in VALUES.items()}), RANGES,
    st.lists(SINGLE, max_size=3),
)  # fmt: skip
def test_what_is_written_is_read_as_the_same_grid(
    space: Path, entries: dict[str, list[Any]], found: Range, singles: list[dict[str, Any]]
) -> None:
    listed = [{field: value for field, value in one.items() if field not in entries} for one in singles]
    grid = make_grid(find_family("counter", space), {**entries, "steps": [3, found]}, "A name", listed)
    assert parse_grid(write(grid), space) == grid


@given(st.floats(1e-200, 1e200), st.floats(1.001, 1e100), COUNTED)
def test_a_range_is_even_in_the_logarithm(low: float, factor: float, many: int) -> None:
    values = [float(x) for x in Range(low, low * factor, many).values(False)]
    assert (values[0], values[-1], len(values)) == (low, low * factor, many)
    steps = [math.log(b / a) for a, b in itertools.pairwise(values)]
    assert steps == pytest.approx([math.log(factor) / (many - 1)] * (many - 1), abs=1e-8)


@given(st.integers(-1000, 1000), st.integers(1, 10**7), COUNTED, st.sampled_from(["", "linear"]))
def test_a_range_of_whole_numbers_rises_between_its_ends(low: int, more: int, many: int, scale: str) -> None:
    values = [
        x
        for x in expand(read_typed(f"{low}..{low + more} x {many} {scale}", "integer", "It"), "integer")
        if isinstance(x, int)
    ]
    assert list(values) == sorted(set(values))
    assert (values[0], values[-1]) == (low, low + more)
    if scale == "linear" or low <= 0:
        assert len(values) == min(many, more + 1)
    else:
        assert len(values) <= min(many, more + 1)


@pytest.mark.parametrize(
    ("field", "text", "sentence"),
    [
        ("width", "8, 0", "The field width of the family teacher-student cannot be 0: input should be"),
        ("width", "8..5000 x 3", "The field width of the family teacher-student cannot be 5000: input should be"),
        ("noise", "-1", "The field noise of the family teacher-student cannot be -1: input should be"),
        ("seed", "x", "The field seed of the family teacher-student cannot read 'x' as a number"),
        ("depth", "3", "The family teacher-student has no field 'depth'"),
    ],
)
def test_a_field_is_checked_by_itself(field: str, text: str, sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence):
        check_typed(EXAMPLE, field, text)


def test_a_field_that_is_right_is_not_blamed_for_another(root: Path) -> None:
    check_typed(EXAMPLE, "width", "8..4096 x 10")
    check_typed(EXAMPLE, "width", "")


@pytest.mark.parametrize("family", ["amplitudes", "behavior", "jets"])
def test_presets_are_grids_of_sound_cells(root: Path, family: str) -> None:
    presets = families(root)[family].presets
    assert next(iter(presets)) == "example"
    for name in presets:
        grid = open_grid(Path(family, name), root)
        assert grid.name == name.replace("-", " ").capitalize()
        assert 5 < len(cells(grid, families(root)[family])) < 60


def test_a_preset_takes_other_budgets_and_a_log_of_ones_own(root: Path) -> None:
    family = families(root)["behavior"]
    grid = open_grid(Path("behavior/share-sweep"), root)
    for text in ("budget=1e11,1e13", " users = 1000", "share=0.1"):
        grid = with_typed(grid, family, text)
    found = [cell.model_dump() for cell in cells(grid, family)]
    assert [(c["budget"], c["users"], c["share"], c["rates"]) for c in found] == [
        (1e11, 1000, 0.1, 3), (1e13, 1000, 0.1, 3),
    ]  # fmt: skip


def test_a_file_comes_before_a_preset_of_that_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    Path("jets").mkdir()
    Path("jets/example").write_text(f"{HEAD}[cell]\nwidth = 8\n")
    assert open_grid(Path("jets/example"), root).family == "teacher-student"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("behavior/best", "the family behavior has no preset 'best': use example, share-sweep, batch-sweep"),
        ("counter/best", "the family counter has no preset 'best': write a file"),
        ("nobody/example", "There is no file nobody/example: check the path"),
        ("behavior", "There is no file behavior: check the path"),
    ],
)
def test_a_preset_that_there_is_not_is_one_sentence(root: Path, path: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        open_grid(Path(path), root)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("width", "is not FIELD=VALUES: write a field"),
        ("width= ", "is not FIELD=VALUES: write a field"),
        ("wide=8", "has no field 'wide'"),
        ("width=x", "cannot read 'x' as a number"),
    ],
)
def test_values_that_cannot_be_set_are_one_sentence(root: Path, text: str, why: str) -> None:
    with pytest.raises(PlannerError, match=why):
        with_typed(typed_grid(EXAMPLE, {}), EXAMPLE, text)
