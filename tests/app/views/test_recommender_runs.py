"""The page Recommender with uploaded runs, with other evidence for one setting, and with runs trained by Isoplan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoplan.data import trained
from isoplan.data.files import path
from isoplan.data.recommender import published_evidence
from isoplan.engine.costs.measured import fit_powers
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.hardware import find_device
from isoplan.engine.planning.answer.format import number
from isoplan.engine.planning.next_values.answer import can_locate
from isoplan.engine.planning.recommender import Evidence, Settings, Stage2, recommend, with_fallback
from isoplan.engine.planning.recommender.choice import Setting
from isoplan.engine.planning.recommender.text import sentence
from isoplan.engine.schema import Roles
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.tables import TableInfo
from tests.app.views.conftest import Open, said, told
from tests.app.views.recommender_page import answer, badge, card, number_on, rows, shown
from tests.app.views.recommender_page import tables as page_tables
from tests.data.sweeps import B_CRIT, EXPONENT, K_STAR, N_AT, S_STAR, write_sweeps
from tests.engine.planning.recommender import own_runs
from tests.engine.planning.recommender.sweeps import sweep

H200 = Stage2(find_device("H200"), 188)
ISO_FLOP = "Recommender, iso-FLOP sweep (simulated)"
OWN, PUBLISHED = "from your runs", "from published runs"
NONE_OF = "none determine the embedder share or the batch size."


def test_own_iso_flop_runs_say_n_and_d(demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, ISO_FLOP)
    at = open_page("recommender", metric="NDCG@10", sweep="Model and events")
    assert badge(at, "N") == "borrowed from val_loss"
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
    assert card(at, "N")[1] == f"{number(expected.recipe.choices['N'].value)} parameters"
    assert badge(at, "N") == OWN


def test_one_upload_is_sorted_and_used_for_n_d_and_k(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, own_runs.mixed_csv().encode(), "mine.csv")
    at = open_page("recommender", runs=table.id)
    assert told(at) == ""
    said = f"32 runs: 20 determine N and D, 12 determine K, {NONE_OF} recall_at_10 is read as recall@10."
    assert f"{said} ndcg_10 is read as NDCG@10." in [shown(m.value) for m in at.markdown]
    assert number_on(at, "N") == pytest.approx(own_runs.N_STAR / 1e6, rel=0.05)
    assert number_on(at, "K") == pytest.approx(own_runs.K_STAR / 1e3, rel=0.1)
    assert [badge(at, setting) for setting in ("N", "D", "K")] == [OWN] * 3
    assert [badge(at, setting) for setting in ("s", "B")] == [PUBLISHED] * 2
    assert card(at, "K")[3].startswith("68 %: ")
    assert "recall@10 worse by 0.0057 at 7.5 k" in card(at, "K")[4]
    assert "recall@10 worse by 0.0019" in card(at, "N")[4]
    before = card(at, "K")[1]
    at.selectbox(key="column_K").select("None").run()
    assert at.query_params["columns"] == "K="
    assert (
        "32 runs: 32 vary N and D but cannot be fitted, none determine K, the embedder share or the batch size."
        in " ".join(shown(m.value) for m in at.markdown)
    )
    assert card(at, "K")[1] != before
    assert badge(at, "K") == PUBLISHED


def test_the_table_used_last_is_selected_once_if_it_has_a_sweep(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, own_runs.mixed_csv().encode(), "mine.csv")
    other = tables.add(demo, b"alpha,loss\n1,2\n2,3\n", "other.csv")
    at = open_page("recommender")
    choice = at.selectbox(key="runs_choice")
    assert choice.value == ""
    assert "mine.csv" in choice.options
    assert "other.csv" not in choice.options
    at.session_state["open_table"] = table.id
    at.run()
    assert at.selectbox(key="runs_choice").value == table.id
    assert badge(at, "K") == OWN
    at.selectbox(key="runs_choice").select("").run()
    assert at.selectbox(key="runs_choice").value == ""
    at.session_state["open_table"] = other.id
    at.run()
    assert at.selectbox(key="runs_choice").value == ""


def test_two_metrics_of_own_runs_move_their_cards(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, own_runs.mixed_csv(noise=2e-3).encode(), "mine.csv")
    at = open_page("recommender", runs=table.id, metric="recall@10,NDCG@10")
    assert told(at) == ""
    for setting in ("N", "D", "K"):
        texts = card(at, setting)
        assert set(texts) & {OWN, PUBLISHED, "borrowed from val_loss"} == {OWN}
    assert card(at, "B").count(PUBLISHED) == 2


def test_the_metric_at_the_start_is_one_that_the_runs_measure(demo: Database, open_page: Open) -> None:
    text = own_runs.mixed_csv().replace("recall_at_10", "hr@5").replace("ndcg_10", "mrr_5")
    table = tables.add(demo, text.encode(), "hits.csv")
    at = open_page("recommender", runs=table.id)
    assert told(at) == ""
    assert at.button_group(key="metric_choice").value == ["hit@5"]
    assert [badge(at, setting) for setting in ("N", "K", "s", "B")] == [
        OWN, OWN, "borrowed from val_loss", "borrowed from val_loss",
    ]  # fmt: skip


def test_a_sweep_that_cannot_be_fitted_complains_on_its_own_card(demo: Database, open_page: Open) -> None:
    lines = [row for row in own_runs.mixed_csv().splitlines() if ",1e+06," not in row and ",1e+07," not in row]
    text = "\n".join(row for row in lines if ",100000," not in row)
    at = open_page("recommender", runs=tables.add(demo, text.encode(), "few.csv").id)
    assert told(at) == ""
    assert not at.warning
    complaint = ":material/warning: Your runs do not determine K. log-parabola has 3 free parameters"
    assert [setting for setting in ("s", "K", "B", "N", "D", "lr") if complaint in " ".join(card(at, setting))] == ["K"]
    assert badge(at, "K") == PUBLISHED
    assert badge(at, "N") == OWN
    assert "26 runs: 20 determine N and D, 6 vary K but cannot be fitted" in " ".join(
        shown(m.value) for m in at.markdown
    )


def test_a_table_without_names_that_fit_is_asked_about_and_nothing_is_guessed(demo: Database, open_page: Open) -> None:
    text = ["alpha,beta", *(f"{k},{0.3 - 0.01 * (i - 3) ** 2}" for i, k in enumerate((1e3, 3e3, 1e4, 3e4, 1e5, 3e5)))]
    table = tables.add(demo, "\n".join(text).encode(), "unnamed.csv")
    at = open_page("recommender", runs=table.id)
    assert "Choose the columns" in said(at)
    assert {at.selectbox(key=f"column_{name}").value for name in ("N", "s", "B", "K", "recall@10")} == {"None"}
    at.selectbox(key="column_K").select("alpha").run()
    at.selectbox(key="column_recall@10").select("beta").run()
    assert told(at) == ""
    assert badge(at, "K") == OWN


def test_sizes_in_units_are_not_sorted_before_the_user_agrees(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, own_runs.units_csv().encode(), "units.csv")
    at = open_page("recommender", runs=table.id)
    assert "N: column 'Params (M)' looks like N in millions" in shown(said(at))
    assert "D: column 'Tokens (B)' looks like D in billions" in shown(said(at))
    assert OWN not in {badge(at, setting) for setting in ("s", "K", "B", "N", "D")}
    named = open_page("recommender", runs=table.id, columns="N=Params (M)&D=Tokens (B)")
    assert "N: column 'Params (M)' looks like N in millions" in shown(said(named))
    units = {"Params (M)": "millions", "Tokens (B)": "billions"}
    sizes = {"N": "Params (M)", "D": "Tokens (B)", "conversions": units}
    tables.set_roles(demo, table.id, tables.roles(demo, table.id).model_copy(update=sizes))
    at = open_page("recommender", runs=table.id)
    assert any(shown(m.value).startswith("32 runs: 20 determine N and D, 12 determine K") for m in at.markdown)
    assert number_on(at, "N") == pytest.approx(own_runs.N_STAR / 1e6, rel=0.05)


@pytest.mark.parametrize("column", ["corpus", "dataset"])
def test_one_of_several_data_sets_is_read_and_can_be_changed(demo: Database, open_page: Open, column: str) -> None:
    table = tables.add(demo, own_runs.data_sets_csv(column).encode(), "sets.csv")
    at = open_page("recommender", runs=table.id, sweep="Details")
    assert told(at) == ""
    text = " ".join(shown(m.value) for m in at.markdown)
    assert f"63 runs: 20 determine N and D, 12 determine K, 31 are of another dataset, {NONE_OF}" in text
    assert number_on(at, "K") == pytest.approx(own_runs.K_STAR / 1e3, rel=0.1)
    assert f"Only runs with {column} = games are used" in text
    assert at.selectbox(key="data_set_choice").value == "games"
    at.selectbox(key="data_set_choice").select("books").run()
    assert at.query_params["data_set"] == "books"
    assert number_on(at, "K") == pytest.approx(own_runs.K_STAR / 1e4, rel=0.1)
    assert card(at, "K")[1].split()[1] == "M"


@pytest.fixture
def share(demo: Database) -> TableInfo:
    """Add a table with a sweep of the embedder share at two budgets. The optimal share is known. Return the table."""
    rng, text = np.random.default_rng(0), ["budget,share,val_loss,recall@10"]
    for C, floor in ((1e17, 3.0), (1e18, 2.8)):
        for s in np.geomspace(0.003, 0.5, 12):
            loss = floor + 1.2 * s**0.8 + 4e-3 * s**-0.5 + 0.002 * rng.normal()
            text.append(f"{C:g},{s:.6g},{loss:.6f},{1.2 - loss / 5:.6f}")
    return tables.add(demo, "\n".join(text).encode(), "share.csv")


def test_own_share_sweep_says_what_another_share_costs(demo: Database, share: TableInfo, open_page: Open) -> None:
    at = open_page("recommender", s_runs=share.id, other_s="0.06,0.2")
    assert told(at) == ""
    assert at.selectbox(key="s_over_choice").value == "share"
    roles = Roles(loss="val_loss", budget="budget", hyper=("share",), metrics=tables.roles(demo, share.id).metrics)
    runs = snapshots.runs(demo, snapshots.take(demo, share.id, roles))
    optima = sweep(runs, FitSpec(law="starvation", axis="share", objective="ols", bootstrap=200))
    expected = recommend(Evidence(share=optima), 1e18, "recall@10", Settings(otherwise={"s": (0.06, 0.2)}))
    value = 100 * (expected.recipe.choices["s"].value.value or 0)
    assert number_on(at, "s") == pytest.approx(value, rel=0.01)
    costs = [other.amount for other in expected.recipe.choices["s"].otherwise]
    texts = [f"{cost.value:.2g}" for cost in costs]
    assert card(at, "s")[4] == f"recall@10 worse by {texts[0]} at 6 %, by {texts[1]} at 20 %."


def test_own_updates_say_the_batch_of_each_metric(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, path("papers/behavior/table03_updates_to_target.csv").read_bytes(), "updates.csv")
    at = open_page("recommender", B_runs=table.id, sweep="Batch")
    assert told(at) == ""
    expected = recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=H200))
    assert card(at, "B")[1].split()[0] == number(expected.recipe.choices["B"].value)
    assert badge(at, "B") == OWN


def test_runs_of_one_setting_that_cannot_be_read_complain_on_its_card(demo: Database, open_page: Open) -> None:
    two = tables.add(demo, b"K,val_loss\n1e4,3.0\n1e5,2.9\n", "two.csv")
    at = open_page("recommender", K_runs=two.id, sweep="Negatives", metric="val_loss")
    assert told(at) == ""
    assert "Your runs do not determine K. log-parabola has 3 free parameters" in card(at, "K")[-1]
    assert not any("Your runs" in text for setting in ("s", "B", "N", "D") for text in card(at, setting))
    assert "FLOPs, for val_loss" in answer(at)
    at = open_page("recommender", N_runs="0123456789ab")
    assert told(at) == ""
    assert "of N in this link are not in this workspace" in card(at, "N")[-1]
    text = ["share,val_loss", *(f"{share},{3 + (share - 9) ** 2 / 99}" for share in range(1, 20))]
    percent = tables.add(demo, "\n".join(text).encode(), "percent.csv")
    at = open_page("recommender", s_runs=percent.id, metric="val_loss")
    assert told(at) == ""
    assert "Divide percentages by 100" in card(at, "s")[-1]
    assert at.selectbox(key="s_choice").value == percent.id


def test_own_runs_show_their_matrices_and_a_pair_across_regimes(demo: Database, open_page: Open) -> None:
    table = tables.by_name(demo, ISO_FLOP)
    at = open_page("recommender", agree_runs=table.id, sweep="Metric agreement")
    assert told(at) == ""
    at.selectbox(key="local").select("recall@10")
    at.selectbox(key="full").select("NDCG@10").run()
    assert told(at) == ""
    again = open_page("recommender", agree_runs=table.id, local="recall@10", full="NDCG@10", sweep="Metric agreement")
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
    assert badge(at, "N") == OWN


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Use tables with known laws instead of the tables of runs trained by Isoplan. Return the new folder."""
    monkeypatch.setattr(trained, "LOGS", {"a log": write_sweeps(tmp_path)})
    return tmp_path


def test_runs_trained_by_isoplan_stand_beside_the_recipe(demo: Database, ours: Path, open_page: Open) -> None:
    at = open_page("recommender", sweep="Isoplan's runs")
    assert told(at) == ""
    assert answer(at) == sentence(recommend(published_evidence(), 1e18, "recall@10", Settings(stage2=H200)))
    table = page_tables(at)[-1]
    head = ["Setting", "This recipe, 10¹⁸ FLOPs", "Runs on a log, 10¹² FLOPs", "68 %, a log"]
    assert [text for text, _ in table[0]] == head
    found = rows(at)
    true = {"Embedder share s": 100 * S_STAR["recall@10"], "Batch size B": B_CRIT["recall@10"],
            "Extra negatives K": K_STAR["recall@10"], "Model size N": N_AT / 1e3 * (10 / 3) ** EXPONENT}  # fmt: skip
    for label, value in true.items():
        assert float(found[label][1].split()[0]) == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("tab", ["Share", "Batch", "Model and events", "Negatives"])
def test_the_figure_can_show_runs_trained_by_isoplan(demo: Database, ours: Path, open_page: Open, tab: str) -> None:
    at = open_page("recommender", sweep=tab)
    key = {"Share": "s", "Batch": "B", "Model and events": "N", "Negatives": "K"}[tab]
    at.segmented_control(key=f"runs_of_{key}").set_value("a log").run()
    assert told(at) == ""
    assert not at.info


def test_an_optimum_of_isoplans_runs_outside_their_sweep_has_a_reason(
    demo: Database, ours: Path, open_page: Open
) -> None:
    at = open_page("recommender", metric="val_loss", sweep="Isoplan's runs")
    assert told(at) == ""
    table = page_tables(at)[-1]
    (line,) = [line for line in table if line[0][0] == "Extra negatives K"]
    assert line[2][0] == "–"
    assert line[2][1].startswith("outside the sweep")
    at = open_page("recommender", metric="coverage@10", sweep="Isoplan's runs")
    assert told(at) == ""
    (line,) = [line for line in page_tables(at)[-1] if line[0][0] == "Batch size B"]
    why = "The curves of the cells trained by Isoplan do not contain coverage@10: choose another metric."
    assert line[2] == ("–", why)


COUNTED: dict[str, tuple[Setting, str, str]] = {
    "Share": ("s", "6.259", "0.0575"), "Batch": ("B", "6.259", "0.0575"),
    "Model and events": ("N", "6.259", "0.0575"), "Negatives": ("K", "9.316", "0.0194"),
}  # fmt: skip


@pytest.mark.parametrize("tab", list(COUNTED))
def test_what_counting_reaches_is_a_row_of_every_table_of_bundled_cells(
    demo: Database, open_page: Open, tab: str
) -> None:
    setting, *scores = COUNTED[tab]
    at = open_page("recommender", sweep=tab)
    at.segmented_control(key=f"runs_of_{setting}").set_value("a log of video games").run()
    assert told(at) == ""
    (table,) = [t.value for t in at.table if "Passes over the log" in t.value.columns]
    games = {shown(row[0]): [shown(cell) for cell in row[1:]] for row in table.to_numpy().tolist()}
    assert games["popularity"][1:3] == scores
    assert list(games)[:3] == ["all candidates alike", "popularity", "counts after the last items"]
    assert all(row[0] for name, row in games.items() if name.startswith("cell"))


def test_the_evidence_of_isoplans_runs_is_listed_below_their_table(demo: Database, open_page: Open) -> None:
    at = open_page("recommender", sweep="Isoplan's runs")
    reasons = " ".join(shown(m.value) for m in at.markdown)
    assert "Confounded: " in reasons
    assert "Budget 10¹¹ left out: all 6 runs did no better than item counts" in reasons


def test_cells_of_the_workspace_stand_beside_what_counting_reaches(
    demo: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_page: Open
) -> None:
    cells = (trained.LOGS["a log of video games"] / "behavior_negatives.csv").read_bytes()
    monkeypatch.setattr(trained, "LOGS", {"a log": tmp_path})
    table = tables.add(demo, cells, "my cells.csv")
    at = open_page("recommender", runs=table.id, sweep="Negatives")
    (mine,) = [t.value for t in at.table if "Passes over the log" in t.value.columns]
    found = {shown(row[0]): [shown(cell) for cell in row[1:]] for row in mine.to_numpy().tolist()}
    assert found["popularity"] == ["", "9.316", "0.0194", "0.00986", "0.00698"]
    assert found["cells at 10¹¹ FLOPs (7 of 7 no better than counts)"][0] == "0.23 to 2.4"


def test_without_tables_of_our_own_the_page_shows_the_papers_alone(
    demo: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, open_page: Open
) -> None:
    monkeypatch.setattr(trained, "LOGS", {"a log": tmp_path})
    at = open_page("recommender")
    assert told(at) == ""
    assert not at.segmented_control
    at = open_page("recommender", sweep="Isoplan's runs")
    assert told(at) == ""
    assert "No run trained by Isoplan measures recall@10" in shown(said(at))


def test_the_button_of_a_setting_opens_the_question_about_its_next_values(demo: Database, open_page: Open) -> None:
    table = tables.add(demo, own_runs.mixed_csv(noise=1e-3).encode(), "mine.csv")
    at = open_page("recommender", runs=table.id, sweep="Negatives", flops="1e18")
    assert told(at) == ""
    at.button(key="narrow_K").click().run()
    assert told(at) == ""
    (saved,) = [one for one in results.fits(demo) if one.law == "log-parabola"]
    assert saved.name == "Optimum over neg_samples (parabola), mine.csv, the sweep at 3.00 × 10¹⁷ FLOPs, recall_at_10"
    asked = at.query_params
    assert (asked["question"], asked["fit"]) == ("Next values", saved.hash)
    assert "neg_samples" in answer(at)
    assert can_locate(kept := results.fit(demo, saved.hash))
    assert kept.n == 5


def test_published_evidence_has_no_button_to_narrow_it(demo: Database, open_page: Open) -> None:
    at = open_page("recommender", sweep="Share")
    assert not [one for one in at.button if (one.key or "").startswith("narrow_")]


def test_a_saved_surface_leads_to_next_cells_at_the_budget(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("recommender", sweep="Model and events", N_runs=jets, flops="1e13")
    at.button(key="narrow_N").click().run()
    asked = at.query_params
    assert (asked["question"], asked["fit"], asked["budget"]) == ("Next cells", jets, "1e+13")
