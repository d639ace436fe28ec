"""The document on recommender cells and their rank correlations. The tests write it from tables with known results."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest

import benchmarks.behavior_laws as laws
from benchmarks.behavior_laws import ranked
from benchmarks.behavior_laws.figures import figures
from benchmarks.behavior_laws.page import report, write
from isoplan.data import trained
from isoplan.engine.agreement import across
from isoplan.engine.errors import PlannerError
from isoplan.trainers import bundle
from tests.data.sweeps import BUDGETS, write_sweeps

LOG, STEM = "a made-up log", "made_up"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sweeps(tmp_path_factory.mktemp("laws"))


def cells_of(page: str, head: str) -> dict[str, list[str]]:
    """Return the first table below the heading ``head``: the first entry of a row is the key of the other entries."""
    below = page.split(f"{head}\n", 1)[1].split("\n#")[0]
    lines = [line.strip("| ").split(" | ") for line in below.splitlines() if line.startswith("|")]
    return {first: rest for first, *rest in lines[2:]}


def test_both_kinds_of_candidates_rank_cells_as_they_were_written(folder: Path) -> None:
    for stage, (other, _) in ((1, ("full", 0)), (2, ("local", 0))):
        found = ranked.by_budget(folder, stage)  # type: ignore[arg-type]
        assert [a.n for a in found] == [12 if stage == 1 else 6] * len(BUDGETS)
        pairs = [(name, f"{other}_{name}") for name in ranked.JUDGED]
        for pair in across(found, pairs):
            assert pair.rho == pytest.approx([-1.0 if pair.local == "loss" else 1.0] * len(BUDGETS))


def test_two_neighbours_that_change_places_among_six_leave_a_known_correlation(tmp_path: Path) -> None:
    """Spearman's rho = 1 - 6 * sum(d^2) / (n * (n^2 - 1)). With n = 6 and d = 1 twice, rho = 1 - 12 / 210."""
    path = write_sweeps(tmp_path, sweeps=("negatives",)) / "behavior_negatives.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    first = sorted((row for row in rows if float(row["budget"]) == BUDGETS[0]), key=lambda row: float(row["NDCG@10"]))
    first[2]["local_NDCG@10"], first[3]["local_NDCG@10"] = first[3]["local_NDCG@10"], first[2]["local_NDCG@10"]
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]))
    (pair,) = across(ranked.by_budget(tmp_path, 2), [("local_NDCG@10", "NDCG@10")])
    assert pair.rho == pytest.approx((1 - 12 / 210, 1.0, 1.0))


def test_short_histories_that_prefer_other_cells_are_said(folder: Path) -> None:
    for stage in (1, 2):
        found = ranked.by_history(folder, stage, "recall@10")
        assert list(found.values()) == pytest.approx([-1.0] * len(BUDGETS))
        assert ranked.by_history(folder, stage, "NDCG@10") == {}
    lines = cells_of(write(folder, LOG, STEM), "### Short and long histories")
    assert lines["2"] == ["recall@10", "−1.00", "−1.00", "−1.00", "0.26 to 0.73 up to 10¹⁷, then at least 0.87"]


def test_the_page_says_optima_critical_batches_and_correlations(folder: Path) -> None:
    page = write(folder, LOG, STEM)
    made = cells_of(page, "## What was trained")
    assert [made[sweep][-2] for sweep in ("share", "batch", "negatives")] == ["18 of 18", "", "0 of 18"]
    assert cells_of(page, "## The share of the embedder")["val_loss"][0].startswith("6 %")
    assert cells_of(page, "## The share of the embedder")["coverage@10"][0] == "outside, above 47 %"
    assert cells_of(page, "## The share of the embedder")["val_loss"][-1] == "1.1 % to 3.7 %"
    assert cells_of(page, "## Extra negatives")["recall@10"][0].startswith("300 (")
    assert cells_of(page, "## Extra negatives")["val_loss"][0] == "outside, above 4,096"
    batch = cells_of(page, "## The critical batch")
    assert float(batch["val_loss"][-2].split()[0]) == pytest.approx(100, rel=0.05)
    assert batch["MRR@10"][-2:] == ["no plateau", "201"]
    assert [row[-1] for row in batch.values()] == ["574", "544", "274", "201"]
    assert cells_of(page, "## Model and events")["NDCG@10"][0].startswith("0.6 (")
    same = cells_of(page, "### Stage 1: batch-local against the full catalogue")
    assert same["loss"][0] == "−1.00"
    assert same["recall@10"][:2] == ["1.00", "1.00"]


def test_correlations_of_the_paper_stand_beside_ours_as_it_prints_them_turned(folder: Path) -> None:
    page = write(folder, LOG, STEM)
    one, two = (cells_of(page, f"### Stage {k}: the loss against each metric, {kind}")
                for k, kind in ((1, "batch-local"), (2, "full catalogue")))  # fmt: skip
    assert (one["recall@10"][-1], one["coverage@10"][-1]) == ("0.97 to 0.99", "0.22 to 0.97")
    assert (two["recall@10"][-1], two["coverage@10"][-1]) == ("−0.93 to 1.00", "−1.00 to −0.60")
    train = cells_of(page, "### The training loss against each metric")
    assert train["loss"] == ["1.00", "0.99", "−1.00", "0.68", "−1.00"]
    assert (train["MRR@10"][1], train["coverage@10"][3]) == ("0.83", "0.90")


def test_every_figure_is_drawn_and_named_on_the_page(folder: Path) -> None:
    page, drawn = write(folder, LOG, STEM), figures(folder)
    assert page.startswith("# The laws of our recommender cells on a made-up log\n")
    assert all(f"images/{STEM}_{name}.png" in page for name in drawn)
    assert page.count("](images/") == len(drawn) == 5


def test_updates_that_rise_with_the_batch_say_no_critical_one(folder: Path, tmp_path: Path) -> None:
    rising = Path(shutil.copytree(folder, tmp_path / "rising"))
    table = rising / "behavior_curves.csv"
    rows = list(csv.DictReader(table.read_text().splitlines()))
    slow = [row | {"update": f"{(8 if row['run'] == rows[-1]['run'] else 1) * float(row['update'])}"} for row in rows]
    bundle.write(table, list(rows[0]), slow)
    said = (
        r"The values of the runs rise with batch, from [\d.]+ at 256 to [\d.]+ at the largest batch, but the law falls"
    )
    assert re.search(said, trained.evidence(rising, "recall@10").missing["B"])
    law = "The training steps to a value of recall@10 do not follow the law S\\(B\\)."
    assert re.search(f"No B_crit of recall@10: {law} {said}", write(rising, LOG, STEM))


def test_sections_without_a_table_are_left_out(tmp_path: Path) -> None:
    page = write(write_sweeps(tmp_path, sweeps=("share",)), LOG, STEM)
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    assert heads == ["## What was trained", "## The share of the embedder", "## Do the metrics agree?"]
    assert "### Stage 2" not in page
    assert list(figures(tmp_path)) == ["share_loss"]
    with pytest.raises(PlannerError, match="No sweep of stage 2 of our own cells is trained yet"):
        ranked.judged(tmp_path, 2)


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@pytest.mark.parametrize("log", list(trained.LOGS))
def test_the_bundled_pages_are_what_the_bundled_tables_give(log: str) -> None:
    """The words are equal. Numbers agree within 2 %, because processors can round differently."""
    stem = laws.PAGES[log]
    made, kept = write(trained.LOGS[log], log, stem), (laws.DOCS / f"{stem}.md").read_text("utf-8")
    lines = zip(made.splitlines(), kept.splitlines(), strict=True)
    assert [(one, other) for one, other in lines if NUMBER.sub("0", one) != NUMBER.sub("0", other)] == []
    numbers = [[float(x.replace(",", "")) for x in NUMBER.findall(text)] for text in (made, kept)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02)


def test_without_any_table_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trained, "LOGS", dict.fromkeys(trained.LOGS, tmp_path))
    monkeypatch.setattr(laws, "DOCS", tmp_path)
    assert "Not trained yet" in laws.run().sentence
    assert not list(tmp_path.iterdir())


def test_the_report_is_the_recipe_of_each_metric(folder: Path) -> None:
    made = report({LOG: folder, "another": folder / "nowhere"}).rows
    assert {row[:2] for row in made} == {(LOG, "10¹²")}
    found = {row[2]: row[3:] for row in made}
    assert (found["recall@10"][0], found["recall@10"][4]) == ("4 %", "300")
    assert found["MRR@10"][1] == "no plateau"
    assert "val_entropy" not in found
    assert found["coverage@10"][:2] == ("right of the sweep", "not known")
