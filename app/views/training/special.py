"""Parts of the Train page for one family: files, description of a grid, and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.views.training import standing, surrogates
from isoplan.app.views.training.standing import Group
from isoplan.app.views.widgets.parts import escape_markdown, sentences
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.behavior.cell import BehaviorCell
from isoplan.trainers.cell import Family

NO_FIT: Mapping[str, str] = {}
METRIC = "recall@10"
CANDIDATES = {1: "batch-local", 2: "whole catalogue"}
"""Candidates among which cells of a stage are evaluated."""


def _no_files(root: Path) -> None:
    """Show nothing: the form field alone selects the files of recommender cells."""


def _nothing_in_common(root: Path, cells: Sequence[BehaviorCell]) -> str:
    """Return "": the common preview is sufficient."""
    return ""


def show_baselines(queue: Queue, family: Family[Any], done: Sequence[Record]) -> None:
    """Show the results of popularity and last-item counts by log and stage, and how many cells are no better."""
    by_log: dict[tuple[str, int], list[Mapping[str, float]]] = {}
    for record in done:
        metrics = (record.result or {}).get("metrics", {})
        if f"popularity_{METRIC}" in metrics:
            log = str(record.cell.get("data", ""))
            by_log.setdefault((log, int(record.cell.get("stage", 1))), []).append(metrics)
    for (log, stage), cells in by_log.items():
        st.caption(f"{escape_markdown(log)}, {CANDIDATES.get(stage, f'stage {stage}')}: {_sentence(cells)}")


def _sentence(cells: Sequence[Mapping[str, float]]) -> str:
    """Return ``popularity reaches recall@10 0.326, counts after the last items 0.398; 1 of 3 cells is no better.``"""
    first = cells[0]
    counts, after = (f"{first[f'{name}_{METRIC}']:.3g}" for name in ("popularity", "last_items"))
    worse = sum(bool(metrics.get("untrained")) for metrics in cells)
    verb = "is" if worse == 1 else "are"
    lost = f"{worse} of {len(cells)} cells {verb} no better" if worse else f"all {len(cells)} cells are better"
    return f"popularity reaches {METRIC} {counts}, counts after the last items {after}; {lost} than counts."


OFTEN = "10s"
"""Interval between two checks of finished cells while something runs."""


@dataclass(frozen=True)
class Special:
    """Functions and settings of a family for the Train page.

    ``files(root)`` draws the selection of input files beside the presets of the form. ``about(root, cells)`` returns
    the common properties of the cells of a grid, in Markdown. ``results(queue, family, records)`` draws the special
    results of the finished cells of a sweep, if any. ``fit`` contains the initial settings of the Fit page.
    """

    files: Callable[[Path], None]
    about: Callable[[Path, Sequence[Any]], str]
    results: Callable[[Queue, Family[Any], Sequence[Record]], None]
    fit: Mapping[str, str]


SPECIAL: Mapping[str, Special] = {
    "amplitudes": Special(
        surrogates.show_event_files, surrogates.show_dimension, surrogates.show_results, surrogates.FIT
    ),
    "behavior": Special(_no_files, _nothing_in_common, show_baselines, NO_FIT),
}
"""Functions and settings by the name of the family."""


def files(root: Path, family: Family[Any]) -> None:
    """Show the selection of input files for the cells of the ``family``."""
    if family.name in SPECIAL:
        SPECIAL[family.name].files(root)


def about(root: Path, family: Family[Any], cells: Sequence[Any]) -> str:
    """Return the common properties of the cells of a grid, in Markdown; empty if there are none."""
    return SPECIAL[family.name].about(root, cells) if family.name in SPECIAL else ""


def fit(family: Family[Any]) -> Mapping[str, str]:
    """Return the initial settings of the Fit page for the cells of the ``family``."""
    return SPECIAL[family.name].fit if family.name in SPECIAL else {}


def results(queue: Queue, group: Group, family: Family[Any], working: bool) -> None:
    """Show the results of the finished cells of a sweep, updated while something is ``working``."""
    if family.name in SPECIAL:
        st.fragment(_results, run_every=OFTEN if working else None)(queue, group, family)


def _results(queue: Queue, group: Group, family: Family[Any]) -> None:
    look = standing.look(queue)
    if group.key in look.groups:
        done = [record for record in look.cells(look.groups[group.key]) if record.state == "done"]
        with sentences():
            SPECIAL[family.name].results(queue, family, done)
