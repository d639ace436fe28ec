"""A cell of SASRec's size on the Amazon video-games log, judged as SASRec was published."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.report import Report
from tests.trainers.jets.stream import Silent
from trainers.backend.heap import kept_heap
from trainers.behavior import training
from trainers.behavior.cell import BehaviorCell
from trainers.behavior.names import HIT, NDCG

EVENTS = Path(__file__).parents[2] / "shared" / "runs" / "amazon_video_games_events.txt"
CELL = BehaviorCell(
    data="games", judge="test", h=50, width=50, layers=2, length=50, dropout=0.3, negatives=2048, softmax="joint",
    log_q=True, batch=256, steps=2500, rate=2e-3, rivals=100, looks=0,
)  # fmt: skip
PUBLISHED = {HIT: 0.741, NDCG: 0.536}
"""Kang and McAuley, arXiv:1808.09781, Table III."""
GOALS = {HIT: 0.74, NDCG: 0.55}
FULL = ("full_recall@10", "full_NDCG@10", "full_MRR@10")


def run() -> Report:
    """Train the cell on one thread and judge it on the last event of every user. Raises OSError without the log."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place, kept_heap():
        root = Path(place)
        (root / "behavior" / "games").mkdir(parents=True)
        shutil.copy(EVENTS, root / "behavior" / "games" / "events.txt")
        begun = time.process_time()
        found = training.train(root, CELL, Silent(root))
        took = time.process_time() - begun
    rows = [(name, f"{found[name]:.3f}", f"{GOALS[name]:.2f}", f"{PUBLISHED[name]:.3f}") for name in GOALS]
    rows += [(name.removeprefix("full_") + ", all items", f"{found[name]:.4f}", "", "") for name in FULL]
    return Report(
        "The games log",
        f"Amazon video games: {found['events']:,.0f} events of {found['catalogue']:,.0f} items. The last event of "
        "every user is judged beside 100 items that the user never had, the one before is left for validation. h and d "
        "are 50, two blocks, length 50 as SASRec has them, ids alone; "
        f"{CELL.steps:,} updates of {CELL.batch} users, one softmax over the unique targets of the batch and "
        f"{CELL.negatives:,} uniform negatives, corrected by log q; {took / 60:.0f} minutes of one core, "
        "judging included.",
        ("metric", "ours", "goal", "SASRec, published"),
        tuple(rows),
    )
