"""What the Train page has for the cells of one family alone, beside what it has for those of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.views.training import amplitudes, events, recommenders, standing
from isoplan.app.views.training.standing import Group
from isoplan.app.views.widgets.parts import sentences
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import Family

OFTEN = "10s"
"""Between two looks at what has finished, while something runs."""


@dataclass(frozen=True)
class Special:
    """``files(root)`` stands beside the presets of the form, for what cells read; ``about(root, cells)`` says what the
    cells of a grid have in common, in Markdown; ``results(queue, family, records)`` draws what the finished cells of a
    sweep measured, and nothing where they measured nothing of the kind; ``fit`` is what the Fit page opens with.
    """

    files: Callable[[Path], None]
    about: Callable[[Path, Sequence[Any]], str]
    results: Callable[[Queue, Family[Any], Sequence[Record]], None]
    fit: Mapping[str, str]


SPECIAL: Mapping[str, Special] = {
    "amplitudes": Special(events.show, amplitudes.about, amplitudes.results, amplitudes.FIT),
    "behavior": Special(recommenders.files, recommenders.about, recommenders.results, recommenders.FIT),
}
"""By the name of the family."""


def files(root: Path, family: Family[Any]) -> None:
    """What there is to read for the cells of the ``family``."""
    if family.name in SPECIAL:
        SPECIAL[family.name].files(root)


def about(root: Path, family: Family[Any], cells: Sequence[Any]) -> str:
    """What the cells of a grid have in common, in Markdown; empty where there is nothing to say."""
    return SPECIAL[family.name].about(root, cells) if family.name in SPECIAL else ""


def fit(family: Family[Any]) -> Mapping[str, str]:
    """What the Fit page opens with for the cells of the ``family``."""
    return SPECIAL[family.name].fit if family.name in SPECIAL else {}


def results(queue: Queue, group: Group, family: Family[Any], working: bool) -> None:
    """What the finished cells of a sweep measured, drawn anew while something is ``working``."""
    if family.name in SPECIAL:
        st.fragment(_results, run_every=OFTEN if working else None)(queue, group, family)


def _results(queue: Queue, group: Group, family: Family[Any]) -> None:
    look = standing.look(queue)
    if group.key in look.groups:
        done = [record for record in look.cells(look.groups[group.key]) if record.state == "done"]
        with sentences():
            SPECIAL[family.name].results(queue, family, done)
