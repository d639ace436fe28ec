"""Baselines of guessing and counting: hand counts for small logs, known values for the log of video games."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.behavior.scores import baselines as module
from isoplan.trainers.behavior.scores.baselines import MASS, baselines, kept_baselines, untrained
from isoplan.trainers.behavior.scores.metrics import BASELINES
from isoplan.trainers.behavior.training.cell_data import Data, open_data

CELL = BehaviorCell(data="shop", length=10, batch=8)


def shop(root: Path, lines: str) -> Data:
    """Return the data of a log. Each of its ``lines`` is a user and an item."""
    folder = root / "behavior" / "shop"
    folder.mkdir(parents=True)
    (folder / "events.txt").write_text(lines)
    return open_data(root, CELL)


@pytest.fixture
def chain(tmp_path: Path) -> Data:
    """Return a log of sixty users. All users follow the same circle of twelve items, but start at different items."""
    lines = [f"u{u:02} i{(u + k) % 12:02}" for u in range(60) for k in range(8)]
    return shop(tmp_path, "\n".join(lines))


@pytest.fixture
def skewed(tmp_path: Path) -> Data:
    """Return a log of fifty users.

    In about 60 % of the events, the item is 0, the favourite of all users. Otherwise it is one of ten other items.
    """
    rng = np.random.default_rng(1)
    items = np.where(rng.random((50, 12)) < 0.6, 0, rng.integers(1, 11, (50, 12)))
    lines = [f"u{u:02} i{i:02}" for u, row in enumerate(items) for i in row]
    return shop(tmp_path, "\n".join(lines))


def test_all_alike_has_the_loss_of_the_number_of_candidates(chain: Data) -> None:
    assert baselines(chain, 32, "full")["guess_loss"] == pytest.approx(np.log(12))
    pools = np.array_split(np.arange(60), 2)
    targets = chain.log.items[chain.judged.stop - 1]
    expected = sum(len(own) * np.log(len(np.unique(targets[own]))) for own in pools) / 60
    assert baselines(chain, 32, "local")["guess_loss"] == pytest.approx(expected)


def test_popularity_is_the_unigram_cross_entropy_and_its_ranks(skewed: Data) -> None:
    found = baselines(skewed, 256, "full")
    shares = skewed.shares / skewed.shares.sum()
    targets = skewed.log.items[skewed.judged.stop - 1]
    assert found["popularity_loss"] == pytest.approx(float(-np.log(shares[targets]).mean()), rel=1e-6)
    assert found["scored"] == len(targets) == 50
    place = np.argsort(np.argsort(-skewed.shares, kind="stable"), kind="stable")[targets]
    assert found["popularity_full_recall@10"] == pytest.approx(float(np.mean(place < 10)), abs=0.03)
    assert found["popularity_recall@10"] == found["popularity_full_recall@10"]


def test_counts_after_the_last_items_know_a_circle(chain: Data) -> None:
    """In training events, the next item of the circle follows each of a user's last five items within five events."""
    found = baselines(chain, 256, "full")
    assert found["popularity_loss"] == pytest.approx(np.log(12), abs=0.02)
    assert found["last_items_loss"] < found["popularity_loss"] - 0.05
    assert found["last_items_MRR@10"] > found["popularity_MRR@10"]
    assert found["last_items_recall@10"] == pytest.approx(1.0)


def test_a_mixture_of_counts_is_a_distribution(skewed: Data) -> None:
    counts = module.count(skewed.log, skewed.split, skewed.shares.astype(float))
    recent = np.array([[0, 1, 2, -1, -1], [3, -1, -1, -1, -1]])
    scores = module._scores(counts, recent, np.arange(skewed.facts.items), MASS)
    assert np.exp(scores).sum(axis=1) == pytest.approx([1.0, 1.0])
    by_hand = counts.after[[0, 1, 2]].sum(axis=0)
    expected = (by_hand + MASS * counts.shares) / (by_hand.sum() + MASS)
    assert np.exp(scores[0]) == pytest.approx(expected)


def test_a_cell_that_is_no_better_than_counts_did_not_train(chain: Data) -> None:
    known = baselines(chain, 256, "full")
    worse = {"loss": known["popularity_loss"], "recall@10": 1.0}
    assert untrained(worse, known, "full")
    assert not untrained({"loss": known["popularity_loss"] - 0.1, "recall@10": 1.0}, known, "full")
    assert untrained({"loss": 0.1, "recall@10": known["popularity_full_recall@10"] - 0.01}, known, "full")
    local = baselines(chain, 32, "local")
    assert untrained({"loss": local["guess_loss"], "full_recall@10": 1.0}, local, "local")
    assert not untrained({"loss": local["guess_loss"] - 0.1, "full_recall@10": 1.0}, local, "local")


def test_the_numbers_of_a_log_are_counted_once(chain: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kept_baselines(tmp_path, chain, "validation", 32, "local")
    monkeypatch.setattr(module, "baselines", lambda *_: pytest.fail("counted again"))
    assert kept_baselines(tmp_path, chain, "validation", 32, "local") == pytest.approx(first)
    assert set(first) == set(BASELINES) - {"passes", "untrained"}
    broken = next((tmp_path / "baselines").iterdir())
    broken.write_text("{")
    monkeypatch.undo()
    assert kept_baselines(tmp_path, chain, "validation", 32, "local") == pytest.approx(first)


def test_video_games_have_the_numbers_that_were_counted_apart(shared: Path, tmp_path: Path) -> None:
    """The log has 23,715 items, so the guess loss is ln 23,715 = 10.074.

    A separate program computed the values of popularity: a loss of 9.31 and a recall@10 of 0.0194.
    """
    folder = tmp_path / "behavior" / "games"
    folder.mkdir(parents=True)
    shutil.copy(shared / "runs" / "amazon_video_games_events.txt", folder / "events.txt")
    found = baselines(open_data(tmp_path, BehaviorCell(data="games", length=50)), 256, "full")
    assert found["guess_loss"] == pytest.approx(10.074, abs=5e-4)
    assert found["popularity_loss"] == pytest.approx(9.31, abs=0.02)
    assert found["popularity_full_recall@10"] == pytest.approx(0.0194, abs=0.002)
    assert found["last_items_full_recall@10"] > 0.081
    assert found["scored"] == 30_901
