"""A recommender of SASRec's size on the Amazon video-games log, evaluated as in the SASRec paper.

The recommender is trained on several training sets.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.report import Report
from isoplan.trainers.backend.worker.attempt_process import reuse_freed_memory
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.behavior.scores.metrics import HIT, NDCG
from isoplan.trainers.behavior.training import cell_training
from tests.trainers.jets.stream import Silent

EVENTS = Path(__file__).parents[2] / "shared" / "runs" / "amazon_video_games_events.txt"
CELL = BehaviorCell(
    data="games", h=50, width=50, layers=2, length=50, dropout=0.3, negatives=2048, softmax="joint",
    log_q=True, batch=256, steps=2500, rate=2e-3, rivals=100, looks=0,
)  # fmt: skip
JUDGED: dict[str, dict[str, str]] = {
    "last but one (validation)": {"judge": "validation"},
    "last": {"split": "last-one", "judge": "test"},
    "last, without the last but one in training": {"judge": "test"},
}
"""Settings of the training run, by the name of the scored events. The settings determine which events are held out."""
PUBLISHED = {HIT: 0.741, NDCG: 0.536}
"""Values in Table III of Kang and McAuley, arXiv:1808.09781."""
GOALS = {HIT: 0.74, NDCG: 0.55}
FULL = ("full_recall@10", "full_NDCG@10", "full_MRR@10")


def run() -> Report:
    """Train the cell for each training set on one thread, and score it on one late event of each user.

    Raises OSError if the file of the event log is missing.
    """
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place, reuse_freed_memory():
        root = Path(place)
        (root / "behavior" / "games").mkdir(parents=True)
        shutil.copy(EVENTS, root / "behavior" / "games" / "events.txt")
        begun = time.process_time()
        found = [cell_training.train(root, CELL.model_copy(update=how), Silent(root)) for how in JUDGED.values()]
        took = (time.process_time() - begun) / len(found)
    rows = [(n, *(f"{one[n]:.3f}" for one in found), f"{GOALS[n]:.2f}", f"{PUBLISHED[n]:.3f}") for n in GOALS]
    rows += [(f"{n.removeprefix('full_')}, all items", *(f"{one[n]:.4f}" for one in found), "", "") for n in FULL]
    return Report(
        "The games log",
        f"Amazon video games: {found[0]['events']:,.0f} events of {found[0]['catalogue']:,.0f} items. For each user, "
        "one event is scored among 100 items that the user never had. The settings were selected by the scores of the "
        "last but one event. The last event is scored twice: after training on all earlier events, and after training "
        "without the last but one event, which is then still part of the history. As in SASRec, h and d are 50, with "
        f"two blocks and a length of 50, and items have only ids. Each training has {CELL.steps:,} steps of "
        f"{CELL.batch} users, dropout {CELL.dropout:g}, and one softmax over the unique targets of the batch and "
        f"{CELL.negatives:,} uniform negatives, with log q subtracted. It takes {took / 60:.0f} minutes of one "
        "core, including the evaluation.",
        ("metric", *JUDGED, "goal", "SASRec, published"),
        tuple(rows),
    )
