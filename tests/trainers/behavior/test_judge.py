"""Tests of the evaluation of a model. Limited memory for scores does not change the result. Items can be tied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from isoplan.trainers.behavior.cell import BehaviorCell  # noqa: E402
from isoplan.trainers.behavior.logs.split import pack  # noqa: E402
from isoplan.trainers.behavior.model.two_part import AT_ONCE  # noqa: E402
from isoplan.trainers.behavior.scores import evaluation as judging  # noqa: E402
from isoplan.trainers.behavior.scores.evaluation import evaluate_model, score_among_negatives  # noqa: E402
from isoplan.trainers.behavior.training.cell_data import open_data  # noqa: E402
from isoplan.trainers.behavior.training.trainer import Trainer  # noqa: E402
from tests.trainers.behavior.cells import TWO  # noqa: E402
from tests.trainers.jets.stream import Silent  # noqa: E402


def test_full_metrics_are_those_of_all_scores_at_once(tmp_path: Path) -> None:
    data = open_data(tmp_path, TWO)
    trainer = Trainer(TWO, TWO.sized(data.facts).shape, data, "cpu")
    stream = Silent(tmp_path)
    full = evaluate_model(trainer, data.judged, "full", stream).metrics
    local = evaluate_model(trainer, data.judged, "local", stream).metrics
    trainer.model.eval()
    with torch.no_grad():
        catalogue = trainer.model.embedder(data.known)
        packed = pack(data.judged, np.arange(len(data.judged)))
        items = torch.from_numpy(data.log.items[packed.inputs].astype(np.int64))
        queries = trainer.model.context(catalogue[items], np.diff(packed.starts))[torch.from_numpy(packed.scored)]
        targets = torch.from_numpy(data.log.items[packed.targets[packed.scored]].astype(np.int64))
        scores = queries @ catalogue.mT
    ranks = (scores > scores.gather(1, targets[:, None])).sum(1) + 1
    assert full["loss"] == pytest.approx(float(torch.nn.functional.cross_entropy(scores, targets)), rel=1e-5)
    assert full["recall@10"] == pytest.approx(float((ranks <= 10).float().mean()))
    assert full["NDCG@10"] == pytest.approx(float(torch.where(ranks <= 10, 1 / torch.log2(ranks + 1), 0).mean()))
    losses = []
    for part, own in zip(queries.tensor_split(3), targets.tensor_split(3), strict=True):
        unique, place = own.unique(return_inverse=True)
        losses.append(torch.nn.functional.cross_entropy(part @ catalogue[unique].mT, place, reduction="sum"))
    assert local["loss"] == pytest.approx(float(sum(losses)) / len(targets), rel=1e-5)
    beside = score_among_negatives(trainer, data.judged, 20, stream)
    assert full["recall@10"] < beside["hit@10/rivals"] < 1


def test_scores_that_are_made_some_at_a_time_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of many events is ranked in pieces, with the scores of at most three events in memory."""
    data = open_data(tmp_path, TWO)
    trainer = Trainer(TWO, TWO.sized(data.facts).shape, data, "cpu")
    stream = Silent(tmp_path)

    def found() -> dict[str, float]:
        judged = {
            f"{r}_{k}": v
            for r in ("local", "full")
            for k, v in evaluate_model(trainer, data.judged, r, stream).row().items()
        }
        return judged | score_among_negatives(trainer, data.judged, 20, stream)

    whole = found()
    monkeypatch.setattr(judging, "AT_ONCE", 3 * data.facts.items)
    assert found() == pytest.approx(whole, rel=1e-6)


def test_items_of_which_the_same_is_known_are_tied(tmp_path: Path) -> None:
    """All items except one have equal features, so their scores are tied.

    Each rank among the tied items is equally probable for a target.
    """
    count = 2 * AT_ONCE + 5
    folder = tmp_path / "behavior" / "shop"
    folder.mkdir(parents=True)
    rows = [f"{user},{1 + (97 * user + step) % (count - 1)}" for user in range(60) for step in range(6)]
    (folder / "events.csv").write_text("\n".join(["user,item", *rows]) + "\n")
    (folder / "items.csv").write_text("item,shop\n" + "".join(f"{i},s{min(i, 1)}\n" for i in range(count)))
    cell = BehaviorCell.model_validate({"data": "shop", "batch": 1, "h": 6, "width": 6, "rivals": 50})
    data = open_data(tmp_path, cell)
    trainer = Trainer(cell, cell.sized(data.facts).shape, data, "cpu")
    assert torch.equal(trainer.embeddings()[1:], trainer.embeddings()[1:2].expand(len(data.known) - 1, -1))
    stream, same = Silent(tmp_path), len(data.known) - 1
    full = evaluate_model(trainer, data.judged, "full", stream).metrics
    assert 9 - 1e-9 <= same * full["recall@10"] <= 10 + 1e-9
    assert full["MRR@10"] <= sum(1 / place for place in range(1, 11)) / same + 1e-12
    local = evaluate_model(trainer, data.judged, "local", stream).metrics
    pool = len(set(data.log.items[data.judged.stop - 1].tolist()))
    assert local["recall@10"] == pytest.approx(10 / pool)
    assert local["loss"] == pytest.approx(np.log(pool))
    beside = score_among_negatives(trainer, data.judged, 50, stream)
    assert 9 / 51 < beside["hit@10/rivals"] <= 10 / 51 + 1e-9
