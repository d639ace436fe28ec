"""Mappings: changes, conversion to short lines of text, and a compute column that differs from the compute rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.costs import ComputeRule
from isoplan.engine.schema import SINGLE_ROLES, Metric, Roles
from isoplan.engine.store.columns.column import Column
from isoplan.engine.store.columns.compute_gap import compute_gap
from isoplan.engine.store.columns.mapping import check_roles, choice_notes, uses
from isoplan.engine.store.columns.role_changes import change_roles
from isoplan.engine.store.columns.role_lines import duration_lines, role_lines
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables import snapshots, tables

NAMES = tuple("abcdefgh")
SINGLE = tuple(role.value for role in SINGLE_ROLES)
DIRECTIONS = ("min", "max")


@st.composite
def mappings(draw: st.DrawFn) -> Roles:
    """Draw a mapping in which each column has at most one role."""
    fields: dict[str, Any] = {"metrics": [], "hyper": []}
    for name in NAMES:
        kind = draw(st.sampled_from(("", "single", "metrics", "hyper")))
        if kind == "single":
            fields[draw(st.sampled_from(SINGLE))] = name
        elif kind == "metrics":
            fields["metrics"].append(Metric(column=name, direction=draw(st.sampled_from(DIRECTIONS))))
        elif kind == "hyper":
            fields["hyper"].append(name)
    return Roles.model_validate(fields)


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a user can change with one widget: the column of a role, the metrics, or the hyperparameters."""
    kind = draw(st.sampled_from((*SINGLE, "metrics", "hyper")))
    if kind in SINGLE:
        return {kind: draw(st.sampled_from((None, *NAMES)))}
    chosen = draw(st.lists(st.sampled_from(NAMES), unique=True))
    if kind == "hyper":
        return {"hyper": chosen}
    return {"metrics": [Metric(column=name, direction=draw(st.sampled_from(DIRECTIONS))) for name in chosen]}


@given(mappings(), st.lists(changes(), min_size=1, max_size=4))
def test_no_column_ever_has_two_roles(roles: Roles, made: list[dict[str, Any]]) -> None:
    for change in made:
        before = roles
        roles, moves = change_roles(roles, change)
        names = [name for _, name in uses(roles)]
        assert len(names) == len(set(names))
        if moves:
            assert roles != before
        for field, value in change.items():
            assert list(getattr(roles, field) or ()) == list(value or ())


def test_a_chosen_loss_swaps_with_the_metric_and_a_metric_leaves_the_loss() -> None:
    roles = Roles(N="n", loss="a", metrics=(Metric(column="b", direction="min"),))
    swapped, moves = change_roles(roles, {"loss": "b"})
    assert (swapped.loss, [m.column for m in swapped.metrics]) == ("b", ["a"])
    assert moves == ("b moved from the metrics to L: loss. The metrics now have a.",)
    freed, moves = change_roles(roles, {"metrics": [*roles.metrics, Metric(column="a", direction="min")]})
    assert (freed.loss, [m.column for m in freed.metrics]) == (None, ["b", "a"])
    assert moves == ("a moved from L: loss to the metrics. L: loss has no column now.",)


def test_columns_of_the_same_kind_are_exchanged_and_others_are_taken_away() -> None:
    roles = Roles(N="n", D="d", group="g", hyper=("h",), metrics=(Metric(column="m", direction="max"),))
    swapped, moves = change_roles(roles, {"N": "d"})
    assert (swapped.N, swapped.D) == ("d", "n")
    assert moves == ("d moved from D: samples seen to N: parameters. D: samples seen now has n.",)
    taken, moves = change_roles(roles, {"N": "g"})
    assert (taken.N, taken.group) == ("g", None)
    assert moves == ("g moved from Group to N: parameters. Group has no column now.",)
    tuned, moves = change_roles(roles, {"N": "h"})
    assert (tuned.N, tuned.hyper) == ("h", ("n",))
    assert moves == ("h moved from the hyperparameters to N: parameters. The hyperparameters now have n.",)
    # A size is no metric, so the former column of N gets no role.
    sized, moves = change_roles(roles, {"N": "m"})
    assert (sized.N, sized.metrics) == ("m", ())
    assert moves == ("m moved from the metrics to N: parameters.",)


def test_only_columns_of_numbers_are_named_as_other_choices() -> None:
    columns = [Column("params", "number", minimum=2e6, maximum=9e8), Column("active_params", "text", examples=("1 M",))]
    assert choice_notes(columns, Roles(N="params")) == []
    converted = Roles(N="params", conversions={"active_params": "suffix"})
    assert choice_notes(columns, converted) == [
        "Column 'params' is read as N. To use 'active_params' instead, map it to N on the Data page "
        "(--map N=active_params in the terminal)."
    ]


def test_a_group_without_a_column_has_no_laws_of_its_own() -> None:
    roles, _ = change_roles(Roles(group="a", each=True), {"group": None})
    assert (roles.group, roles.each) == (None, False)


def lines(db: Database, content: bytes, **changed: Any) -> list[str]:
    info = tables.add(db, content, "runs.csv")
    roles = tables.roles(db, info.id).model_copy(update=changed)
    known = tables.columns(db, info.id)
    return [f"{line.label}: {', '.join([*line.columns, line.text])}" for line in role_lines(known, roles)]


def test_roles_are_one_short_line_each(db: Database) -> None:
    content = b"params,tokens,val_loss,acc,dataset,lr\n5e7,1e9,3.25,0.5,c4,1e-3\n7e9,,2.5,0.6,pile,1e-2\n"
    assert lines(db, content) == [
        "N: params, 50 M to 7.0 B",
        "D: tokens, 1.0 B, 1 missing",
        "C: computed as 6 N D",
        "Loss: val_loss, 2.5 to 3.25",
        "Metric: acc, larger is better",
        "Group: dataset, 2 values",
        "Settings: lr, ",
    ]


def test_the_time_of_a_run_and_the_columns_that_are_not_used(db: Database) -> None:
    info = tables.add(db, b"params,tokens,val_loss,gpu_hours,who\n5e7,1e9,3.25,0.5,a\n7e9,2e9,2.5,0.6,b\n", "runs.csv")
    roles, known = tables.roles(db, info.id), tables.columns(db, info.id)
    lines = [
        (line.label, line.columns, line.text)
        for line in duration_lines(known, roles.model_copy(update={"group": None, "run": None}))
    ]
    assert lines == [("Time of a run", ("gpu_hours",), "hours"), ("Not used", ("who",), "")]
    found = snapshots.runs(db, snapshots.take(db, info.id)).seconds
    assert found is not None
    assert list(found) == [1800.0, 2160.0]


def test_lines_of_missing_computed_and_converted_roles(db: Database) -> None:
    content = b"Params (M),steps,loss,group\n1.5,10,3,a\n16,20,2,b\n"
    found = lines(
        db, content, N="Params (M)", conversions={"Params (M)": "millions"}, derived={"D": "steps * 512"},
        step=None, hyper=(), group="group", each=True,
    )  # fmt: skip
    assert found == [
        "N: Params (M), 1.5 M to 16 M",
        "D: computed as steps * 512",
        "C: computed as 6 N D",
        "Loss: loss, 2 to 3",
        "One law for each: group, ",
    ]
    assert lines(db, b"x,y\n1,2\n3,4\n")[:4] == ["N: no column", "D: no column", "C: no column", "Loss: no column"]


def table_with(db: Database, factor: float, spread: float = 0.0, power: float = 1.0) -> str:
    """Return the id of a table of 30 runs with ``C = factor * 6 * N**power * D`` and noise in ln C."""
    rng = np.random.default_rng(5)
    rows = ["N,D,C,loss"]
    for N, D in ((N, D) for N in np.geomspace(1e6, 1e9, 6) for D in np.geomspace(1e9, 1e11, 5)):
        C = factor * 6 * N**power * D * np.exp(spread * rng.normal())
        rows.append(f"{N:.9g},{D:.9g},{C:.9g},{1 + N**-0.3 + D**-0.3:.6g}")
    return tables.add(db, "\n".join(rows).encode(), "runs.csv").id


def test_compute_that_is_forty_times_the_rule_is_a_question_with_two_answers(db: Database) -> None:
    table = table_with(db, 40)
    gap = compute_gap(snapshots.runs(db, snapshots.take(db, table)))
    assert gap is not None
    assert gap.text == "C of the table (column 'C') is 40 times 6 N D (median)."
    assert (gap.measured_text, gap.rule_text) == ("240 N D", "6 N D")
    for answer, per_pair in ((gap.with_column, 240.0), (gap.with_rule, 6.0)):
        roles = answer(tables.roles(db, table))
        check_roles(tables.columns(db, table), roles)
        runs = snapshots.runs(db, snapshots.take(db, table, roles))
        assert compute_gap(runs) is None
        assert runs.roles.compute.per_pair == pytest.approx(per_pair)
        assert runs["C"][0] == pytest.approx(240e15 if answer == gap.with_column else 6e15)


def test_compute_that_is_not_proportional_gets_exponents(db: Database) -> None:
    gap = compute_gap(snapshots.runs(db, snapshots.take(db, table_with(db, 1e6, power=0.5))))
    assert gap is not None
    assert gap.measured.rule.rule == "powers"
    assert gap.measured.rule.a == pytest.approx(0.5)


@pytest.mark.parametrize("factor", [1.0, 2.9, 0.4, 1e-18])
def test_compute_near_the_rule_or_in_another_unit_is_no_question(db: Database, factor: float) -> None:
    assert compute_gap(snapshots.runs(db, snapshots.take(db, table_with(db, factor)))) is None


def test_a_table_without_a_column_of_compute_is_no_question(db: Database) -> None:
    info = tables.add(db, b"N,D,loss\n1e6,1e9,3\n1e7,1e9,2\n", "runs.csv")
    runs = snapshots.runs(db, snapshots.take(db, info.id))
    assert runs.roles.compute == ComputeRule()
    assert compute_gap(runs) is None
