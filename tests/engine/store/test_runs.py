"""Conversion of a table to runs: derived values, rows that are left out, repeats, iso-FLOP groups and units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.schema import Metric, Roles, Runs
from isoplan.engine.store.columns.categories import find_budgets
from isoplan.engine.store.columns.units import unit_notes
from isoplan.engine.store.database.database import Database, memory
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.runs import build, repeat_spread, with_target
from isoplan.engine.store.tables.snapshots import Filter, compress, expand
from tests.stored import add_rows


def runs_of(text: str, roles: Roles | None = None) -> Runs:
    with memory() as db:
        info = tables.add(db, text.encode(), "runs.csv")
        return snapshots.runs(db, snapshots.take(db, info.id, roles))


def test_rows_that_no_fit_can_use_are_left_out_and_counted() -> None:
    runs = runs_of(
        "N,D,C,loss,weight\n1e6,1e8,6e14,3,1\n,1e8,6e14,3,1\n1e6,1e8,6e14,,1\n1e6,1e8,6e14,nan,1\n1e6,1e8,6e14,inf,1\n"
        "0,1e8,6e14,3,1\n1e6,-1,6e14,3,1\n1e6,1e8,6e14,3,0\n1e6,1e8,6e14,3,\ninf,1e8,6e14,3,1\n"
    )
    assert runs.ids.tolist() == [0]
    assert runs.notes == (
        "1 row without N was left out.",
        "1 row with an infinite N was left out.",
        "1 row with N at or below zero was left out.",
        "1 row with D at or below zero was left out.",
        "2 rows without a loss were left out.",
        "1 row that diverged (infinite loss) was left out.",
        "1 row without a weight was left out.",
        "1 row with zero weight was left out.",
    )
    assert all(np.isfinite(runs[role]).all() for role in ("N", "D", "C", "loss", "weight"))


def test_nothing_usable_is_no_runs_and_says_why() -> None:
    runs = runs_of("N,D,loss\n1e6,1e8,\n1e6,1e8,nan\n", Roles(N="N", D="D", loss="loss"))
    assert len(runs) == 0
    assert runs.notes == ("2 rows without a loss were left out.",)


def test_d_follows_from_c_and_n_and_c_from_the_rule() -> None:
    runs = runs_of("N,C,loss\n1e6,6e14,3\n2e6,6e14,3\n")
    assert runs["D"].tolist() == [1e8, 5e7]
    assert "D follows from C and N by C = 6 N D." in runs.notes
    jets = Roles(N="N", D="D", loss="loss", compute=ComputeRule(rule="6npND", n_p=40))
    assert runs_of("N,D,loss\n1e6,1e8,3\n", jets)["C"].tolist() == [6 * 40 * 1e14]
    partly = runs_of("N,D,C,loss\n1e6,1e8,7e14,3\n1e6,1e8,,3\n1e6,,6e14,3\n")
    assert partly["C"].tolist() == [7e14, 6e14, 6e14]
    assert partly["D"].tolist() == [1e8, 1e8, 1e8]
    assert partly.notes[:2] == (
        "D of 1 row without a value follows from C and N by C = 6 N D.",
        "C of 1 row without a value follows from C = 6 N D.",
    )


def test_a_formula_reads_other_columns() -> None:
    rule = ComputeRule(rule="formula", formula="6*N*D + 2*N*V")
    runs = runs_of("N,D,V,loss\n1e6,1e8,1e3,3\n", Roles(N="N", D="D", loss="loss", compute=rule))
    assert runs["C"].tolist() == [6e14 + 2e9]
    assert "V" not in runs
    hyper = runs_of("N,D,V,loss\n1e6,1e8,1e3,3\n", Roles(N="N", D="D", loss="loss", hyper=("V",), compute=rule))
    assert (hyper["C"].tolist(), hyper["V"].tolist()) == ([6e14 + 2e9], [1e3])


def test_epochs_and_unique_samples_follow_from_each_other() -> None:
    assert runs_of("D,U,loss\n1e8,2e7,3\n")["epochs"].tolist() == [5]
    assert runs_of("D,epochs,loss\n1e8,4,3\n")["U"].tolist() == [2.5e7]


def test_labels_are_text_and_whole_numbers_have_no_point() -> None:
    runs = runs_of("run,seed,group,loss\n1,10,a,3\n2,11,,3\n")
    assert {k: v.tolist() for k, v in runs.labels.items()} == {
        "run": ["1", "2"],
        "seed": ["10", "11"],
        "group": ["a", ""],
    }


def test_repeats_stay_or_become_means() -> None:
    text = "N,D,seed,loss,auc\n1e6,1e8,0,3.0,0.5\n1e6,1e8,1,3.2,0.7\n2e6,1e8,0,2.0,0.9\n1e6,1e8,2,3.4,0.6\n"
    every = runs_of(text)
    assert len(every) == 4
    assert "3 rows are repeats of 1 runs" in " ".join(every.notes)
    spread = repeat_spread(every)
    assert spread is not None
    assert (spread.groups, spread.runs) == (1, 3)
    assert spread.sd == pytest.approx(np.std([3.0, 3.2, 3.4], ddof=1), rel=1e-12)
    assert spread.relative == pytest.approx(spread.sd / 3.2, rel=1e-12)
    roles = every.roles.model_copy(update={"repeats": "mean"})
    mean = runs_of(text, roles)
    assert mean.ids.tolist() == [0, 2]
    np.testing.assert_allclose(mean["loss"], [3.2, 2.0])
    np.testing.assert_allclose(mean["auc"], [0.6, 0.9])
    assert "seed" not in mean.labels
    assert "3 rows that differ only in their seed became 1 means." in mean.notes
    assert repeat_spread(mean) is None


def test_duplicate_rows_are_named() -> None:
    runs = runs_of("run,N,D,loss\na,1e6,1e8,3\nb,1e6,1e8,3\nc,1e6,1e8,3\nd,2e6,1e8,3\n")
    assert any(
        n.startswith("2 rows repeat another row in every mapped number; each counts as a run.") for n in runs.notes
    )


def test_a_metric_may_be_missing_and_is_left_out_on_demand() -> None:
    runs = runs_of("N,D,loss,auc\n1e6,1e8,3,0.5\n1e6,2e8,3,\n")
    assert len(runs) == 2
    kept = with_target(runs, "auc")
    assert kept.ids.tolist() == [0]
    assert kept.notes[-1] == "1 row without a finite auc was left out."
    assert with_target(runs, "loss") is runs
    only = runs_of("N,D,auc\n1e6,1e8,0.5\n1e6,2e8,\n")
    assert only.roles.metrics == (Metric(column="auc"),)
    assert only.ids.tolist() == [0]


BUDGETS = np.repeat([1e18, 3e18, 1e19, 3e19], 5)


def test_budgets_are_found_where_they_stand_out() -> None:
    jitter = np.random.default_rng(0).uniform(-0.02, 0.02, 20)
    found = find_budgets(BUDGETS * 10**jitter)
    np.testing.assert_allclose(np.log10(found), np.log10(BUDGETS), atol=0.02)
    assert [len(np.unique(found[i : i + 5])) for i in range(0, 20, 5)] == [1, 1, 1, 1]
    stray = find_budgets(np.append(BUDGETS, [5e18, 1e25]))
    assert np.isnan(stray[-2:]).all()
    assert np.isfinite(stray[:-2]).all()


def test_budgets_need_three_runs_each_and_half_of_all_runs() -> None:
    C = np.repeat([1e18, 1e19], [3, 4])
    assert find_budgets(C).tolist() == C.tolist()
    assert np.isnan(find_budgets(np.repeat([1e18, 1e19], [2, 5]))).all()
    few = np.repeat([1e18, 1e19, 1e20, 1e21, 1e22, 1e23], [3, 3, 2, 2, 1, 1])
    assert find_budgets(few)[:6].tolist() == few[:6].tolist()
    assert np.isnan(find_budgets(few)[6:]).all()
    assert np.isnan(find_budgets(np.append(few, 1e24))).all()
    wide = 1e18 * 10 ** np.array([0.0, 0.07, 0.14, 3.0, 3.07, 3.14])
    assert find_budgets(wide) == pytest.approx(np.repeat([1e18 * 10**0.07, 1e21 * 10**0.07], 3))
    assert np.isnan(find_budgets(1e18 * 10 ** np.array([0.0, 0.08, 0.16, 3.0, 3.08, 3.16]))).all()


@pytest.mark.parametrize(
    "C",
    [
        np.logspace(17, 21, 100),
        np.random.default_rng(1).lognormal(45, 2, 300),
        np.full(50, 1e19),
        np.array([1e18, 1e19]),
        np.array([]),
        np.array([1e18, 1e18, 1e18, np.nan, np.inf, -1]),
    ],
)
def test_no_budgets_are_made_up(C: np.ndarray) -> None:
    found = find_budgets(C)
    assert found.shape == C.shape
    assert np.isnan(found).all()


def test_budgets_of_published_tables(shared: Path) -> None:
    with memory() as db:
        sweep = tables.add(db, shared / "runs" / "llama3_isoflop.csv", "llama3.csv")
        runs = snapshots.runs(db, snapshots.take(db, sweep.id))
        from_c = runs.roles.model_copy(update={"budget": None})
        again = snapshots.runs(db, snapshots.take(db, sweep.id, from_c))
        np.testing.assert_allclose(again["budget"], runs["budget"])
        cloud = tables.add(db, shared / "runs" / "chinchilla_epoch.csv", "epoch.csv")
        assert np.isnan(snapshots.runs(db, snapshots.take(db, cloud.id))["budget"]).all()
        marked = tables.add(db, shared / "runs" / "teacher_student_sweep.csv", "teacher.csv")
        budget = snapshots.runs(db, snapshots.take(db, marked.id))["budget"]
        assert (np.isfinite(budget).sum(), len(np.unique(budget[np.isfinite(budget)]))) == (30, 5)


def sized(N: list[float], D: list[float], C: list[float] | None = None) -> Runs:
    cells = {"N": np.array(N), "D": np.array(D), "loss": np.ones(len(N))}
    cells |= {"C": np.array(C)} if C else {}
    roles = Roles(N="params", D="D", C="C" if C else None, loss="loss")
    return build(np.arange(len(N)), cells, {}, roles, "", "")


def test_mixed_units_are_named() -> None:
    mixed = sized([70, 410, 7e7, 4.1e8, 1e9, 1e9], [1e9] * 6)
    assert unit_notes(mixed) == (
        "N (column 'params') may mix units: 2 of 6 values lie between 70 and 410 and fit the other values only if "
        "they are in millions: write all values in the same unit.",
    )
    assert "may mix units" in " ".join(mixed.notes)
    millions = sized([70, 410, 1000], [1e9, 2e9, 4e9], [6 * 7e7 * 1e9, 6 * 4.1e8 * 2e9, 6 * 1e9 * 4e9])
    assert (
        "C is about 10^6 times more than 6 N D: N (column 'params') or D may be in millions" in unit_notes(millions)[0]
    )
    peta = sized([7e7, 4.1e8, 1e9], [1e9, 2e9, 4e9], [6 * 7e16 / 1e15, 6 * 8.2e17 / 1e15, 6 * 4e18 / 1e15])
    assert "may be in units of 10^15 FLOPs" in unit_notes(peta)[0]
    sizes = [1e6, 1e7, 1e8, 1e9, 1e9]
    one = sized(sizes, [1e9] * 5, [6e9 * N for N in sizes[:4]] + [6e15])
    assert "In 1 of 5 rows, C differs from 6 N D by a factor of about 1000 or more" in unit_notes(one)[0]
    assert "N (column 'params') is at most 410" in unit_notes(sized([70, 410], [1e9, 2e9]))[0]


def test_sound_units_are_not_doubted(shared: Path) -> None:
    with memory() as db:
        for name in ("chinchilla_epoch", "llama3_isoflop", "scalebench_data_constrained", "scalebench_lr_bsz",
                     "teacher_student_sweep", "scalebench_vocab", "scalebench_farseer"):  # fmt: skip
            info = tables.add(db, shared / "runs" / f"{name}.csv", name)
            assert unit_notes(snapshots.runs(db, snapshots.take(db, info.id))) == ()
    jets = build(np.arange(3), {"N": np.array([1e4, 1e5, 1e6]), "D": np.array([1e5, 1e6, 1e7]), "loss": np.ones(3),
                                "C": 240 * np.array([1e9, 1e11, 1e13])}, {},
                 Roles(N="N", D="D", C="C", loss="loss"), "", "")  # fmt: skip
    assert unit_notes(jets) == ()


@given(st.sets(st.integers(0, 300), min_size=1))
def test_ids_survive_as_ranges(chosen: set[int]) -> None:
    ids = np.array(sorted(chosen), dtype=np.int64)
    ranges = compress(ids)
    assert expand(ranges).tolist() == ids.tolist()
    assert (ranges[1:, 0] > ranges[:-1, 1]).all()


def test_a_snapshot_stays_while_the_table_changes(db: Database) -> None:
    text = "N,D,loss,kind\n" + "".join(f"{i + 1}e6,{i + 1}e8,{3 - i / 10},{'ab'[i % 2]}\n" for i in range(9))
    info = tables.add(db, text.encode(), "runs.csv")
    first = snapshots.take(db, info.id)
    runs = snapshots.runs(db, first)
    assert snapshots.take(db, info.id).hash == first.hash
    tables.withdraw(db, info.id, [2, 3], "diverged")
    add_rows(db, info.id, tables.frame(db, info.id).drop(columns=["row id", "withdrawn"]).tail(4))
    assert tables.get(db, info.id).rows == 13
    again = snapshots.runs(db, snapshots.get(db, first.hash))
    for role in runs.values:
        np.testing.assert_array_equal(again[role], runs[role])
    later = snapshots.take(db, info.id)
    assert later.hash != first.hash
    assert later.ids.tolist() == [0, 1, *range(4, 13)]
    assert [(r, why) for r, why, _ in tables.withdrawn(db, info.id)] == [(2, "diverged"), (3, "diverged")]
    tables.bring_back(db, info.id, [2, 3])
    assert len(snapshots.take(db, info.id).ids) == 13


def test_filters_hold_together(db: Database) -> None:
    text = "N,loss,kind,flag\n" + "".join(f"{i},{i / 10},{'ab'[i % 2]},{i % 3 == 0}\n" for i in range(1, 13))
    info = tables.add(db, text.encode(), "runs.csv")

    def chosen(**parts: object) -> list[int]:
        return (snapshots.take(db, info.id, None, Filter.model_validate(parts)).ids + 1).tolist()

    assert chosen(ranges={"N": (3, 5)}) == [3, 4, 5]
    assert chosen(ranges={"N": (None, 2)}) == [1, 2]
    assert chosen(ranges={"N": (11, None)}) == [11, 12]
    assert chosen(values={"kind": ("a",), "N": ("2", "4", "5")}) == [2, 4]
    assert chosen(values={"flag": ("true",)}) == [3, 6, 9, 12]
    assert chosen(exclude_ids=tuple(range(10))) == [11, 12]
    assert chosen(where="N > 6", ranges={"loss": (0, 0.9)}, values={"kind": ("a", "b")}, exclude_ids=(7,)) == [7, 9]
    everything = snapshots.take(db, info.id)
    assert snapshots.take(db, info.id, None, Filter(where="N > 0")).hash != everything.hash


def test_rows_are_withdrawn_with_a_reason_and_only_if_they_are_there(db: Database) -> None:
    info = tables.add(db, b"N,loss\n1,2.5\n2,2.4\n3,2.3\n", "runs.csv")
    for ids, reason, text in (([0], " ", "needs a reason"), ([3], "x", "Row 3 is not in runs.csv")):
        with pytest.raises(PlannerError, match=text):
            tables.withdraw(db, info.id, ids, reason)


@pytest.mark.parametrize(
    ("names", "kept", "note"),
    [
        (("a", "b", "c", "Total"), 3, "1 row called 'Total' at the end of the table was left out."),
        (("a", "b", "c", "Mittelwert:"), 3, "1 row called 'Mittelwert:' at the end of the table was left out."),
        (("a", "b", "Total"), 2, "1 row called 'Total' at the end of the table was left out."),
        (("a", "total"), 2, ""),
        (("total",), 1, ""),
        (("a", "b", "mean", "std"), 2, "2 rows called 'mean' or 'std' at the end of the table were left out."),
        (("a", "Total", "b", "c"), 4, ""),
        (("mean", "max", "sum", "total"), 4, ""),
        (("a", "mean", "b", "mean"), 4, ""),
        (("a", "b", "mean", "mean"), 4, ""),
        (("a", "b", "c", "totally"), 4, ""),
    ],
)
@pytest.mark.parametrize("column", ["run", "model"])
def test_a_row_that_sums_up_the_others_is_left_out_by_name(
    db: Database, names: tuple[str, ...], kept: int, note: str, column: str
) -> None:
    lines = "".join(f"{name},{i + 1}e6,{i + 1}e8,{3 - i / 8}\n" for i, name in enumerate(names))
    info = tables.add(db, f"{column},N,D,loss\n{lines}".encode(), "runs.csv")
    runs = snapshots.runs(db, snapshots.take(db, info.id))
    assert len(runs) == kept
    assert [text for text in runs.notes if "called" in text] == [note] * bool(note)
