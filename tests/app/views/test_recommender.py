"""The page Recommender shows the results of the Python API, for the published numbers and for uploaded runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.widgets.saved_items import as_csv, as_markdown
from isoplan.data import trained
from isoplan.data.files import path
from isoplan.data.recommender import published_evidence
from isoplan.engine.costs.measured import fit_powers
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.recommender import Evidence, Settings, Stage2, recommend, with_fallback
from isoplan.engine.planning.recommender.text import sentence
from isoplan.engine.schema import Roles
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo
from tests.app.views.conftest import Open, said, told
from tests.data.sweeps import B_CRIT, EXPONENT, K_STAR, N_AT, S_STAR, write_sweeps
from tests.engine.planning.recommender import own_runs
from tests.engine.planning.recommender.sweeps import sweep

H200 = Stage2(find_device("H200"), 188)
ISO_FLOP = "Recommender, iso-FLOP sweep (simulated)"


def shown(text: object) -> str:
    """Return the text as the user reads it."""
    return str(text).replace("\\", "").replace("\xa0", " ")


def answer(at: AppTest) -> str:
    return shown(at.header[0].value)


def lines(at: AppTest, which: int = 0) -> list[list[str]]:
    return [[shown(cell) for cell in row] for row in at.table[which].value.to_numpy().tolist()]


def test_the_page_opens_with_the_recipe_that_python_gives(demo: Database, open_page: Open) -> None:
    at = open_page("recommender")
    assert told(at) == ""
    expected = recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=H200))
    assert answer(at) == sentence(expected)
    found = {row[0]: row[1:] for row in lines(at)}
    assert found["Batch size B"][0] == f"{number(expected.recipe.choices['B'].value)} sequences"
    assert "times the samples" in found["Batch size B"][4]
    assert found["Embedder share s"][3] == "inside"
    assert found["Model size N"][0] == f"{number(expected.recipe.choices['N'].value)} parameters"
    assert found["Model size N"][5] == "borrowed from val_loss: no law of recall@10 is published"
    assert "K = " not in answer(at)
    assert f"score {number(expected.recipe.choices['K'].value)} negatives" in answer(at)
    assert expected.recipe.choices["K"].value.value == 632e3  # Table 6; computed in parts, more would fit on one H200


def test_another_metric_and_budget_change_the_recipe_and_the_link(demo: Database, open_page: Open) -> None:
    at = open_page("recommender", metric="val_loss", flops="3e18", device="L40S", devices="4")
    assert told(at) == ""
    settings = Settings(stage2=Stage2(find_device("L40S"), 188, 4))
    assert answer(at) == sentence(recommend(published_evidence(), 3e18, "val_loss", settings))
    at.selectbox(key="metric_choice").select("NDCG@10").run()
    assert at.query_params["metric"] == "NDCG@10"
    assert answer(at) == sentence(recommend(published_evidence(), 3e18, "NDCG@10", settings))


def test_own_iso_flop_runs_say_n_and_d(demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, ISO_FLOP)
    at = open_page("recommender", metric="NDCG@10", sweep="Model and events")
    assert "borrowed from val_loss: no law of NDCG@10 is published" in [line[6] for line in lines(at)]
    at.selectbox(key="N_choice").select(ISO_FLOP).run()
    assert told(at) == ""
    assert at.query_params["N_runs"] == table.id
    runs = snapshots.runs(demo, snapshots.take(demo, table.id))
    rule = fit_powers(runs["N"], runs["D"], runs["C"]).rule
    runs = replace(runs, roles=runs.roles.model_copy(update={"compute": rule}))
    names = {"val_loss": "loss", "recall@10": "recall@10", "NDCG@10": "NDCG@10"}
    fits = {name: fit(FitSpec(law="isoflop", y=y, objective="ols", bootstrap=200), runs) for name, y in names.items()}
    expected = recommend(
        with_fallback(Evidence(allocation=fits), published_evidence()), 1e18, "NDCG@10", Settings(stage2=H200)
    )
    assert answer(at) == sentence(expected)
    found = {row[0]: row[1:] for row in lines(at)}
    assert found["Model size N"][0] == f"{number(expected.recipe.choices['N'].value)} parameters"


def test_one_upload_is_sorted_and_used_for_n_d_and_k(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, own_runs.mixed_csv().encode(), "mine.csv")
    at = open_page("recommender", runs=table.id)
    assert told(at) == ""
    text = [shown(m.value) for m in (*at.markdown, *at.caption)]
    assert "32 runs: 20 vary N and D, 12 vary K." in text
    assert "recall_at_10 read as recall@10; ndcg_10 read as NDCG@10." in text
    found = {row[0]: row[1:] for row in lines(at)}
    assert float(found["Model size N"][0].split()[0]) == pytest.approx(own_runs.N_STAR / 1e6, rel=0.05)
    assert float(found["Extra negatives K"][0].split()[0]) == pytest.approx(own_runs.K_STAR / 1e3, rel=0.1)
    assert found["Extra negatives K"][5].startswith("Your runs: optimum of the sweep at")
    assert "Budget 10¹⁸ left out: K has one value" in found["Extra negatives K"][5]
    assert found["Embedder share s"][5].startswith("Paper: ")
    assert not any("Your runs" in found[setting][5] for setting in ("Embedder share s", "Batch size B"))
    at.selectbox(key="column_K").select("None").run()
    assert at.query_params["columns"] == "K="
    assert "32 runs: 32 vary N and D." in " ".join(shown(m.value) for m in at.markdown)
    assert lines(at)[4][1] != found["Extra negatives K"][0]


def test_a_table_without_names_that_fit_is_asked_about_and_nothing_is_guessed(demo: Database, open_page: Open) -> None:
    rows = ["alpha,beta", *(f"{k},{0.3 - 0.01 * (i - 3) ** 2}" for i, k in enumerate((1e3, 3e3, 1e4, 3e4, 1e5, 3e5)))]
    table = tables.add(demo, "\n".join(rows).encode(), "unnamed.csv")
    at = open_page("recommender", runs=table.id)
    assert "Choose the columns" in said(at)
    assert {at.selectbox(key=f"column_{name}").value for name in ("N", "s", "B", "K", "recall@10")} == {"None"}
    at.selectbox(key="column_K").select("alpha").run()
    at.selectbox(key="column_recall@10").select("beta").run()
    assert told(at) == ""
    assert lines(at)[4][6].startswith("Your runs: optimum of the sweep")


def test_sizes_in_units_are_not_sorted_before_the_user_agrees(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, own_runs.units_csv().encode(), "units.csv")
    at = open_page("recommender", runs=table.id)
    assert "N: column 'Params (M)' reads like N in millions" in shown(said(at))
    assert "D: column 'Tokens (B)' reads like D in billions" in shown(said(at))
    assert not any("Your runs" in line[6] for line in lines(at))
    named = open_page("recommender", runs=table.id, columns="N=Params (M)&D=Tokens (B)")
    assert "N: column 'Params (M)' reads like N in millions" in shown(said(named))
    units = {"Params (M)": "millions", "Tokens (B)": "billions"}
    sizes = {"N": "Params (M)", "D": "Tokens (B)", "conversions": units}
    tables.set_roles(demo, table.id, tables.roles(demo, table.id).model_copy(update=sizes))
    at = open_page("recommender", runs=table.id)
    assert "32 runs: 20 vary N and D, 12 vary K." in [shown(m.value) for m in at.markdown]
    assert float(lines(at)[2][1].split()[0]) == pytest.approx(own_runs.N_STAR / 1e6, rel=0.05)


@pytest.mark.parametrize("column", ["corpus", "dataset"])
def test_one_of_several_data_sets_is_read_and_can_be_changed(demo: Database, open_page: Open, column: str) -> None:
    table = tables.add(demo, own_runs.data_sets_csv(column).encode(), "sets.csv")
    at = open_page("recommender", runs=table.id)
    assert told(at) == ""
    assert "63 runs: 20 vary N and D, 12 vary K, 31 are of another data set." in [shown(m.value) for m in at.markdown]
    found = {row[0]: row[1:] for row in lines(at)}
    assert float(found["Extra negatives K"][0].split()[0]) == pytest.approx(own_runs.K_STAR / 1e3, rel=0.1)
    assert f"Only runs with {column} = games" in found["Extra negatives K"][5]
    assert at.selectbox(key="data_set_choice").value == "games"
    at.selectbox(key="data_set_choice").select("books").run()
    assert at.query_params["data_set"] == "books"
    assert float(lines(at)[4][1].split()[0]) == pytest.approx(own_runs.K_STAR / 1e4, rel=0.1)
    assert lines(at)[4][1].split()[1] == "M"


def test_n_and_d_beyond_the_runs_are_stated_in_no_table(demo: Database, open_page: Open) -> None:
    at = open_page("recommender", flops="1e12")
    assert told(at).startswith("The plan lies too far beyond the runs to be an answer")
    assert "This budget lies too far beyond the runs. Supported budgets: " in answer(at)
    assert answer(at).endswith(" FLOPs for N and D.")
    for label in ("Model size N", "Training events D"):
        (line,) = [row for row in lines(at) if row[0] == label]
        assert line[1:4] == ["not stated", "", ""]
        assert line[6] == "not stated: too far beyond the runs"
        (others,) = [row for row in lines(at, 1) if row[0] == label]
        assert set(others[1:]) == {"not stated"}


def test_no_table_states_settings_far_beyond_their_sweeps(demo: Database, open_page: Open) -> None:
    at = open_page("recommender", flops="1e6", metric="val_loss")
    assert "FLOPs, for val_loss: take batches of" in answer(at)
    assert "Supported budgets: 10" in answer(at)
    assert " FLOPs for s, " in answer(at)
    for label in ("Embedder share s", "Extra negatives K"):
        (line,) = [row for row in lines(at) if row[0] == label]
        assert line[1:6] == ["not stated", "", "", "", ""]
        assert line[6].startswith("not stated: too far beyond the runs; its sweeps support budgets from")
        (others,) = [row for row in lines(at, 1) if row[0] == label]
        assert set(others[1:]) <= {"not stated", "not known"}


def test_a_spelling_of_a_metric_in_the_link_is_that_metric(demo: Database, open_page: Open) -> None:
    at = open_page("recommender", metric="Recall10")
    assert at.query_params["metric"] == "recall@10"
    assert "is not available here" not in said(at)
    assert "FLOPs, for recall@10" in answer(at)


@pytest.fixture
def share(demo: Database) -> TableInfo:
    """Return a share sweep at two budgets with a known optimum."""
    rng, rows = np.random.default_rng(0), ["budget,share,val_loss,recall@10"]
    for C, floor in ((1e17, 3.0), (1e18, 2.8)):
        for s in np.geomspace(0.003, 0.5, 12):
            loss = floor + 1.2 * s**0.8 + 4e-3 * s**-0.5 + 0.002 * rng.normal()
            rows.append(f"{C:g},{s:.6g},{loss:.6f},{1.2 - loss / 5:.6f}")
    return tables.add(demo, "\n".join(rows).encode(), "share.csv")


def test_own_share_sweep_says_what_another_share_costs(demo: Database, share: TableInfo, open_page: Open) -> None:
    at = open_page("recommender", s_runs=share.id, other_s="0.06,0.2")
    assert told(at) == ""
    assert at.selectbox(key="s_over_choice").value == "share"
    roles = Roles(loss="val_loss", budget="budget", hyper=("share",), metrics=tables.roles(demo, share.id).metrics)
    runs = snapshots.runs(demo, snapshots.take(demo, share.id, roles))
    optima = sweep(runs, FitSpec(law="starvation", axis="share", objective="ols", bootstrap=200))
    expected = recommend(Evidence(share=optima), 1e18, "recall@10", Settings(otherwise={"s": (0.06, 0.2)}))
    line = next(row for row in lines(at) if row[0] == "Embedder share s")
    value = 100 * (expected.recipe.choices["s"].value.value or 0)
    assert float(line[1].split()[0]) == pytest.approx(value, rel=0.01)
    costs = [other.amount for other in expected.recipe.choices["s"].otherwise]
    assert f"6 %: recall@10 worse by {number(costs[0])}" in line[5]
    assert f"20 %: recall@10 worse by {number(costs[1])}" in line[5]


def test_own_updates_say_the_batch_of_each_metric(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, path("papers/behavior/table03_updates_to_target.csv").read_bytes(), "updates.csv")
    at = open_page("recommender", B_runs=table.id, sweep="Batch")
    assert told(at) == ""
    expected = recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=H200))
    line = next(row for row in lines(at) if row[0] == "Batch size B")
    assert line[1].split()[0] == number(expected.recipe.choices["B"].value)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"flops": "much"}, "The budget 'much' cannot be read as a number"),
        ({"flops": "-1"}, "The budget of -1 FLOPs is not positive"),
        ({"device": "L40S", "batch": "1e9"}, "is smaller than one candidate row"),
        ({"device": "L40S", "batch": "2000", "chunk": "0"}, "does not hold the 512,000 in-batch candidates"),
        ({"other_s": "x"}, "The other s 'x' cannot be read as a number"),
        ({"rate": "0"}, "The learning rate is 0: give a positive number"),
    ],
)
def test_bad_input_is_one_sentence(demo: Database, open_page: Open, query: dict[str, str], why: str) -> None:
    assert why in told(open_page("recommender", **query))


def test_a_sweep_that_cannot_be_read_says_so_and_leaves_the_page(demo: Database, open_page: Open) -> None:
    two = tables.add(demo, b"K,val_loss\n1e4,3.0\n1e5,2.9\n", "two.csv")
    at = open_page("recommender", K_runs=two.id, sweep="Negatives", metric="val_loss")
    assert told(at) == ""
    why = {line[0]: line[6] for line in lines(at)}
    assert "Your runs do not determine K. log-parabola has 3 free parameters" in why["Extra negatives K"]
    assert not any("Your runs" in text for setting, text in why.items() if setting != "Extra negatives K")
    assert "FLOPs, for val_loss" in answer(at)
    at = open_page("recommender", N_runs="0123456789ab")
    assert told(at) == ""
    assert "of N in this link are not in this workspace" in lines(at)[2][6]
    rows = ["share,val_loss", *(f"{share},{3 + (share - 9) ** 2 / 99}" for share in range(1, 20))]
    percent = tables.add(demo, "\n".join(rows).encode(), "percent.csv")
    at = open_page("recommender", s_runs=percent.id, metric="val_loss")
    assert told(at) == ""
    assert "Divide percentages by 100" in lines(at)[0][6]
    assert at.selectbox(key="s_choice").value == percent.id


def test_a_metric_of_the_link_that_nobody_measures_is_named(demo: Database, open_page: Open) -> None:
    at = open_page("recommender", metric="auc")
    assert told(at) == ""
    assert "auc is not available here. Available: recall@10" in shown(said(at))


@pytest.mark.parametrize("setting", ["Share", "Batch", "Model and events", "Negatives"])
@pytest.mark.parametrize("metric", ["coverage@10", "val_loss", "MRR@10"])
def test_every_tab_of_every_metric_is_drawn_or_says_what_is_missing(
    demo: Database, open_page: Open, setting: str, metric: str
) -> None:
    assert told(open_page("recommender", sweep=setting, metric=metric)) == ""


def test_own_runs_show_their_matrices_and_a_pair_across_regimes(demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, ISO_FLOP)
    at = open_page("recommender", agree_runs=table.id)
    assert told(at) == ""
    at.selectbox(key="local").select("recall@10")
    at.selectbox(key="full").select("NDCG@10").run()
    assert told(at) == ""
    again = open_page("recommender", agree_runs=table.id, local="recall@10", full="NDCG@10")
    assert told(again) == ""
    assert again.selectbox(key="full").value == "NDCG@10"


def test_a_saved_fit_gives_the_frontier_of_its_metric(demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, ISO_FLOP)
    snapshot = snapshots.take(demo, table.id)
    made = fit(
        FitSpec(law="isoflop", y="recall@10", objective="ols", bootstrap=50), snapshots.runs(demo, snapshot),
        snapshot=snapshot.hash,
    )  # fmt: skip
    saved = results.save_fit(demo, made, name="Mine", table_id=table.id)
    at = open_page("recommender", N_runs=saved, sweep="Model and events")
    assert told(at) == ""
    assert "train" in answer(at)


def test_files_hold_the_table() -> None:
    rows = [{"Setting": "s", "Value": "2 %"}, {"Setting": "a|b", "Value": "1, 2"}]
    assert as_csv(rows).splitlines() == ["Setting,Value", "s,2 %", 'a|b,"1, 2"']
    assert as_markdown(rows) == "| Setting | Value |\n| --- | --- |\n| s | 2 % |\n| a\\|b | 1, 2 |\n"


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Write known tables in place of those trained by Isoplan, and return their folder."""
    monkeypatch.setattr(trained, "LOGS", {"a log": write_sweeps(tmp_path)})
    return tmp_path


def beside(at: AppTest) -> dict[str, list[str]]:
    """Return the rows of the table that compares the recipe with Isoplan's cells, by setting."""
    table = next(t.value for t in at.table if any(shown(c).startswith("Our cells") for c in t.value.columns))
    assert [shown(c) for c in table.columns[:3]] == ["Setting", "This recipe, 10¹⁸ FLOPs", "Our cells, 10¹² FLOPs"]
    return {shown(row[0]): [shown(cell) for cell in row[1:]] for row in table.to_numpy().tolist()}


@pytest.mark.parametrize(
    ("setting", "key"), [("Share", "s"), ("Batch", "B"), ("Model and events", "N"), ("Negatives", "K")]
)
def test_our_own_cells_stand_beside_the_recipe(
    demo: Database, ours: Path, open_page: Open, setting: str, key: str
) -> None:
    at = open_page("recommender", sweep=setting)
    assert told(at) == ""
    assert answer(at) == sentence(recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=H200)))
    found = beside(at)
    label, place = {"s": ("Embedder share s", "inside"), "B": ("Batch size B", "inside"),
                    "N": ("Model size N", ""), "K": ("Extra negatives K", "inside")}[key]  # fmt: skip
    true = {"s": 100 * S_STAR["recall@10"], "B": B_CRIT["recall@10"], "K": K_STAR["recall@10"]}
    true["N"] = N_AT * (1e12 / 3e11) ** EXPONENT
    value = float(found[label][1].split()[0]) * (1e3 if key == "N" else 1)
    assert value == pytest.approx(true[key], rel=0.05)
    assert found[label][4] == place
    assert "Runs trained by Isoplan on a log" in [h.value for h in at.subheader]


def test_an_optimum_of_our_cells_outside_their_sweep_is_said(demo: Database, ours: Path, open_page: Open) -> None:
    at = open_page("recommender", metric="val_loss", sweep="Negatives")
    assert told(at) == ""
    assert beside(at)["Extra negatives K"][1] == "none"
    assert beside(at)["Extra negatives K"][4] == "outside, right"
    at = open_page("recommender", metric="coverage@10", sweep="Batch")
    assert told(at) == ""
    assert (
        beside(at)["Batch size B"][5]
        == "The curves of the cells trained by Isoplan do not contain coverage@10: choose another metric"
    )


COUNTED = {"Share": ("6.259", "0.0575"), "Batch": ("6.259", "0.0575"), "Model and events": ("6.259", "0.0575"),
           "Negatives": ("9.316", "0.0194")}  # fmt: skip


@pytest.mark.parametrize("sweep", list(COUNTED))
def test_what_counting_reaches_is_a_row_of_every_table_of_bundled_cells(
    demo: Database, open_page: Open, sweep: str
) -> None:
    at = open_page("recommender", sweep=sweep)
    assert told(at) == ""
    tables_of = [t.value for t in at.table if "Passes over the log" in t.value.columns]
    assert len(tables_of) == 2
    games = {shown(row[0]): [shown(cell) for cell in row[1:]] for row in tables_of[1].to_numpy().tolist()}
    assert games["popularity"][1:3] == list(COUNTED[sweep])
    assert list(games)[:3] == ["all candidates alike", "popularity", "counts after the last items"]
    assert all(row[0] for name, row in games.items() if name.startswith("cell"))
    found = beside(at)
    assert found["Model size N"][5].endswith("; confounded")
    assert max(len(row[5]) for row in found.values()) < 100
    reasons = " ".join(shown(m.value) for m in at.markdown)
    assert "Budget 10¹¹ left out: all 6 runs did no better than item counts" in reasons


def test_cells_of_the_workspace_stand_beside_what_counting_reaches(
    demo: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_page: Open
) -> None:
    cells = (trained.LOGS["a log of video games"] / "behavior_negatives.csv").read_bytes()
    monkeypatch.setattr(trained, "LOGS", {"a log": tmp_path})
    table = tables.add(demo, cells, "my cells.csv")
    at = open_page("recommender", runs=table.id, sweep="Negatives")
    (mine,) = [t.value for t in at.table if "Passes over the log" in t.value.columns]
    lines = {shown(row[0]): [shown(cell) for cell in row[1:]] for row in mine.to_numpy().tolist()}
    assert lines["popularity"] == ["", "9.316", "0.0194", "0.00986", "0.00698"]
    assert lines["cells at 10¹¹ FLOPs (7 of 7 no better than counts)"][0] == "0.23 to 2.4"


def test_without_tables_of_our_own_the_page_shows_the_papers_alone(
    demo: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_page: Open
) -> None:
    monkeypatch.setattr(trained, "LOGS", {"a log": tmp_path})
    at = open_page("recommender")
    assert told(at) == ""
    assert "Compared with runs trained by Isoplan" not in [h.value for h in at.header]
    assert not any(h.value.startswith("Runs trained by Isoplan") for h in at.subheader)
