"""A run table is split into sweeps: names of columns and metrics, groups of runs, and evidence for each setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoplan.data.recommender import published_evidence
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.recommender import recommend, with_fallback
from isoplan.engine.planning.recommender.builder import Built, build_evidence
from isoplan.engine.planning.recommender.columns import Columns, find_columns, metric_name
from isoplan.engine.planning.recommender.document import evidence_json, read_evidence
from isoplan.engine.planning.recommender.run_table import Table, read_sweeps
from isoplan.engine.planning.recommender.sorting import describe, sort_runs
from isoplan.engine.schema import Roles
from isoplan.engine.store.files.table_files import open_table
from tests.engine.planning.recommender.own_runs import K_STAR, N_STAR, mixed_csv


def sweeps_of(folder: Path, text: str, chosen: dict[str, str] | None = None) -> Table:
    (folder / "runs.csv").write_text(text)
    with open_table(folder / "runs.csv") as opened:
        numeric = [c.name for c in opened.columns if c.kind == "number"]
        words = [c.name for c in opened.columns if c.kind == "text"]
        return read_sweeps(opened.read, find_columns(numeric, opened.roles, chosen, words))


def built(folder: Path, text: str, *metrics: str) -> Built:
    return build_evidence(sweeps_of(folder, text), metrics, refits=20)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("recall_at_10", "recall@10"), ("recall10", "recall@10"), ("Recall@10", "recall@10"),
        ("val/recall@10", "recall@10"), ("ndcg_10", "NDCG@10"), ("NDCG@100", "NDCG@100"), ("hr@10", "hit@10"),
        ("test_mrr_at_5", "MRR@5"), ("loss", "val_loss"), ("eval/loss", "val_loss"), ("entropy", "val_entropy"),
        ("full_recall@10", None), ("recall@10/ctx_5", None), ("train_loss", None), ("recall@10_std", None),
        ("recall", None), ("non_emb_params", None), ("", None),
    ],
)  # fmt: skip
def test_spellings_of_a_metric(column: str, name: str | None) -> None:
    assert metric_name(column) == name


@pytest.mark.parametrize(
    ("column", "setting"),
    [
        *((name, "K") for name in ("neg_samples", "n_neg", "num_negatives", "K", "negatives", "extra_negatives")),
        *((name, "s") for name in ("emb_share", "embedding_share", "embedder_fraction", "emb_frac", "s", "share")),
        *((name, "B") for name in ("batch", "batch_size", "global_batch_size", "bsz")),
        *((name, "lr") for name in ("lr", "learning_rate")),
    ],
)
def test_spellings_of_a_setting(column: str, setting: str) -> None:
    assert find_columns(["non_emb_params", column, "x"], Roles()).settings == {setting: column}


def test_a_column_whose_name_fits_nothing_is_never_taken() -> None:
    assert find_columns(["alpha", "beta", "recall_x"], Roles()) == Columns({}, {}, Roles())
    with pytest.raises(PlannerError, match=r"K: the table has no numeric column 'gamma'\. Choose one of alpha"):
        find_columns(["alpha"], Roles(), {"K": "gamma"})
    found = find_columns(["alpha", "beta"], Roles(), {"K": "alpha", "recall@10": "beta"})
    assert found.settings == {"K": "alpha"}
    assert found.metrics["recall@10"].direction == "max"


def test_the_exact_spelling_of_a_metric_is_read_first() -> None:
    found = find_columns(["val/recall@10", "recall@10", "loss", "val_loss"], Roles(loss="loss"))
    assert {name: m.column for name, m in found.metrics.items() if name in ("recall@10", "val_loss")} == {
        "recall@10": "recall@10",
        "val_loss": "val_loss",
    }
    assert found.metrics["val_loss"].direction == "min"


def test_a_mixed_table_is_sorted_by_what_varies_in_it(tmp_path: Path) -> None:
    found = sweeps_of(tmp_path, mixed_csv())
    assert found.sentence == "32 runs: 20 vary N and D, 12 vary K."
    assert found.columns.renamed == {"recall@10": "recall_at_10", "NDCG@10": "ndcg_10"}
    assert found.columns.settings == {
        "N": "non_emb_params", "D": "tokens", "budget": "budget", "s": "emb_share", "K": "neg_samples",
    }  # fmt: skip
    assert found.remarks["K"] == (
        "Budget 10¹⁸ left out: K has only one value.",
        "Budget 3.00 × 10¹⁸ left out: K has only one value.",
    )
    assert sweeps_of(tmp_path, mixed_csv(constant_k="")).sentence == found.sentence


def test_a_run_of_the_allocation_between_the_values_of_k_does_not_count_for_k() -> None:
    N = np.array([1e6, 2e6, 4e6, 8e6, 16e6] + [4e6] * 6)
    K = np.array([512.0] * 5 + [64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0])
    found = sort_runs({"N": N, "K": K, "budget": np.full(11, 1e16)})
    assert describe(found, 11) == "11 runs: 5 vary N and D, 6 vary K."
    assert found["K"].rows.tolist() == [False] * 5 + [True] * 6
    fitting = sort_runs({"N": N, "K": np.where(K == 512, 1024.0, K), "budget": np.full(11, 1e16)})
    assert fitting["K"].rows[2]
    assert fitting["N"].rows[:5].all()


def test_a_mixed_table_determines_k_and_n_and_d_of_its_metric(tmp_path: Path) -> None:
    made = built(tmp_path, mixed_csv(), "recall@10")
    assert made.errors == {}
    assert set(made.runs) == {"N", "K"}
    recipe = recommend(with_fallback(made.evidence, published_evidence()), 1e18, "recall_at_10").recipe
    assert recipe.metric == "recall@10"
    assert recipe.choices["N"].value.value == pytest.approx(N_STAR, rel=0.05)
    assert recipe.choices["D"].value.value == pytest.approx(1e18 / 6 / N_STAR, rel=0.05)
    assert recipe.choices["K"].value.value == pytest.approx(K_STAR, rel=0.1)
    assert recipe.choices["N"].borrowed == ""
    assert "Budget 10¹⁸ left out: K has only one value." in recipe.choices["K"].remarks
    assert recipe.choices["s"].remarks == ()


def test_a_setting_that_cannot_be_fitted_is_a_remark_of_that_setting_alone(tmp_path: Path) -> None:
    rows = [row for row in mixed_csv().splitlines() if ",1e+06," not in row and ",1e+07," not in row]
    made = built(tmp_path, "\n".join(row for row in rows if ",100000," not in row), "recall@10")
    assert set(made.errors) == {"K"}
    recipe = recommend(with_fallback(made.evidence, published_evidence()), 1e18, "recall@10").recipe
    assert recipe.choices["N"].value.value == pytest.approx(N_STAR, rel=0.05)
    assert recipe.choices["K"].value.value == 632e3
    assert recipe.choices["K"].remarks[-1].startswith("Your runs do not determine K. log-parabola has 3 free")
    assert [setting for setting, choice in recipe.choices.items() if choice.remarks] == ["K"]
    again = read_evidence(evidence_json(made.evidence))
    assert again.remarks == made.evidence.remarks


def test_a_metric_that_no_column_measures_is_named(tmp_path: Path) -> None:
    made = built(tmp_path, mixed_csv(), "MRR@10")
    assert made.errors["K"] == "MRR@10: no column of the table contains this metric. The table has recall@10, NDCG@10."
    assert built(tmp_path, "a,b\n1,2\n3,4\n", "recall@10").evidence.metrics == ()


@pytest.mark.parametrize("n", [0, 1])
def test_a_table_without_runs_to_compare_has_no_sweep(n: int) -> None:
    values = {name: np.full(n, 1.0) for name in ("N", "D", "budget", "K")}
    assert sort_runs(values) == {}
    assert describe({}, n) == ("0 runs." if n == 0 else "1 run: 1 belongs to no sweep.")


def test_the_largest_group_at_a_budget_is_the_sweep_and_other_runs_are_named() -> None:
    N = np.array([1e6] * 5 + [2e6] * 3)
    K = np.array([1e3, 1e4, 1e5, 1e6, 1e7, 5e3, 5e4, 5e5])
    found = sort_runs({"N": N, "K": K, "budget": np.full(8, 1e18)})
    assert set(found) == {"K"}
    assert found["K"].rows.tolist() == [True] * 5 + [False] * 3
    assert found["K"].remarks == ("3 runs at 10¹⁸ FLOPs left out: they differ in other settings.",)


def test_training_stages_and_groups_are_not_compared() -> None:
    K, stage = np.array([1e3, 1e4, 1e5, 1e6]), np.array([1.0, 1.0, 2.0, 2.0])
    assert sort_runs({"K": K}, [stage])["K"].rows.sum() == 2
    assert sort_runs({"K": K}, [])["K"].rows.all()


def test_learning_rate_and_batch_sweeps_are_recognised() -> None:
    n = np.ones(4)
    rest = {"N": 1e6 * n, "D": 1e8 * n, "budget": 6e14 * n, "s": 0.05 * n}
    lr = sort_runs({**rest, "lr": np.geomspace(1e-4, 1e-2, 4), "B": 64 * n})
    assert describe(lr, 4) == "4 runs: 4 vary the learning rate."
    B = sort_runs({**rest, "lr": np.geomspace(1e-4, 1e-2, 4), "B": np.geomspace(16, 512, 4)})
    assert set(B) == {"B"}


def test_a_million_runs_are_sorted_in_seconds() -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    values = {
        "budget": rng.choice([1e17, 1e18, 1e19], n),
        "K": rng.choice(np.geomspace(1e3, 1e6, 30), n),
        "N": np.full(n, 1e6),
    }
    assert set(sort_runs(values)) == {"K"}


def test_several_rows_of_one_run_count_once(tmp_path: Path) -> None:
    head, *rows = mixed_csv().splitlines()
    early = [",".join([*row.split(",")[:6], "0.01", "0.01", "1"]) for row in rows]
    lines = [line for first, last in zip(early, rows, strict=True) for line in (first, f"{last},2")]
    found = sweeps_of(tmp_path, "\n".join([f"{head},step", *lines]))
    assert found.sentence == "32 runs: 20 vary N and D, 12 vary K."
    assert float(found.runs["recall_at_10"].min()) > 0.05
