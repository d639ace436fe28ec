"""What the Train page has for recommender cells: what counting reaches on their log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.cell import Family

FIT: Mapping[str, str] = {}
METRIC = "recall@10"
CANDIDATES = {1: "batch-local", 2: "whole catalogue"}
"""Among what cells of a stage are judged."""


def files(root: Path) -> None:
    """Recommender cells have their field of files in the form alone."""


def about(root: Path, cells: Sequence[BehaviorCell]) -> str:
    """Nothing that the preview of every family does not state."""
    return ""


def results(queue: Queue, family: Family[Any], done: Sequence[Record]) -> None:
    """What popularity and counts after the last items reach, by log and stage, and how many cells are no better."""
    found: dict[tuple[str, int], list[Mapping[str, float]]] = {}
    for record in done:
        metrics = (record.result or {}).get("metrics", {})
        if f"popularity_{METRIC}" in metrics:
            log = str(record.cell.get("data", ""))
            found.setdefault((log, int(record.cell.get("stage", 1))), []).append(metrics)
    for (log, stage), cells in found.items():
        st.caption(f"{escape_markdown(log)}, {CANDIDATES.get(stage, f'stage {stage}')}: {_sentence(cells)}")


def _sentence(cells: Sequence[Mapping[str, float]]) -> str:
    """``popularity reaches recall@10 0.326, counts after the last items 0.398; 1 of 3 cells is no better.``"""
    first = cells[0]
    counts, after = (f"{first[f'{name}_{METRIC}']:.3g}" for name in ("popularity", "last_items"))
    worse = sum(bool(metrics.get("untrained")) for metrics in cells)
    verb = "is" if worse == 1 else "are"
    lost = f"{worse} of {len(cells)} cells {verb} no better" if worse else f"all {len(cells)} cells are better"
    return f"popularity reaches {METRIC} {counts}, counts after the last items {after}; {lost} than counts."
