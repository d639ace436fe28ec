"""What the Train page has for amplitude surrogates: d of their events, intrinsic dimensions, and pulls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.figures.amplitudes import intrinsic
from isoplan.app.figures.amplitudes.intrinsic import Measured
from isoplan.app.views.fits.spec_form import how
from isoplan.app.views.training.lines import label, varied
from isoplan.app.views.training.surrogates import calibration, calibration_text, dimensions, pulls, title, with_pulls
from isoplan.app.views.widgets.parts import draw, escape_markdown
from isoplan.app.views.widgets.state import keep_possible
from isoplan.engine.planning.amplitude.cell_law import AS_PUBLISHED
from isoplan.trainers.amplitudes.cell import AmplitudeCell
from isoplan.trainers.amplitudes.source import facts_of
from isoplan.trainers.amplitudes.surrogate.invariants import freedoms
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import Family

FIXED = {True: "√s varies", False: "√s is fixed"}
"""By whether it varies."""
FIT = {"law": "power-D", **how(AS_PUBLISHED), "interval": "profile"}
"""K + (X_c / D)^alpha, as the paper fits it."""


def about(root: Path, cells: Sequence[AmplitudeCell]) -> str:
    """``Zgg, ttH: d = 5, √s varies; Zg at 1,000 GeV: d = 1, √s is fixed.`` Raises PlannerError as ``facts_of``."""
    told: dict[str, list[str]] = {}
    for source in dict.fromkeys(cell.source for cell in cells):
        facts = facts_of(root, source)
        said = f"*d* = {freedoms(facts.particles, facts.varying)}, {FIXED[facts.varying]}"
        told.setdefault(said, []).append(escape_markdown(title(source)))
    return "; ".join(f"{', '.join(names)}: {said}" for said, names in told.items()) + "."


def results(queue: Queue, family: Family[Any], done: Sequence[Record]) -> None:
    """The way to their laws; intrinsic dimensions and pulls of finished cells, side by side where both are there."""
    if done:
        st.page_link(
            "views/precision.py", label="Exponents and laws on the page Precision", icon=":material/scatter_plot:"
        )
    measured, learned = dimensions(family, done), with_pulls(queue, done)
    if not measured and not learned:
        return
    grid = st.grid(1 + bool(measured and learned), min_column_width=420)
    if measured:
        with grid.cell():
            _dimensions(measured)
    if learned:
        with grid.cell():
            _pulls(queue, family, learned)


def _dimensions(found: Sequence[Measured]) -> None:
    """Against D, or N where that alone varies; where both do one may choose."""
    st.subheader("Intrinsic dimension", anchor=False)
    varying = [name for name in ("D", "N") if _varies(found, name)] or ["D"]
    x = varying[0]
    if len(varying) > 1:
        keep_possible("dimension_against", varying)
        x = str(
            st.segmented_control(
                "Against", varying, default="D", required=True, key="dimension_against", bind="query-params"
            )
        )
    draw(lambda theme: intrinsic.draw_dimensions(found, x, theme), "intrinsic_picture")
    st.caption(
        "Two-NN of the last hidden layer on test points, with its spread over five subsets; open: of what it reads. "
        "Dashed: the dimension *d* of the phase space."
    )


def _varies(found: Sequence[Measured], name: str) -> bool:
    """Whether there are cells of the same events that differ in it: the same width is another N with other inputs."""
    return len({(one.events, getattr(one, name)) for one in found}) > len({one.events for one in found})


def _pulls(queue: Queue, family: Family[Any], found: Sequence[Record]) -> None:
    """The pulls of one of the cells."""
    st.subheader("Pulls", anchor=False)
    fields = varied(family, found)
    named = {record.name: label(record, fields) for record in found}
    keep_possible("pulls_of", list(named))
    chosen = st.selectbox(
        "Of the cell", list(named), format_func=lambda name: named.get(name, name), key="pulls_of", bind="query-params"
    )
    record = next(one for one in found if one.name == chosen)
    shown, told = pulls(queue, record), calibration(record)
    if shown is not None and told is not None:
        draw(lambda theme: intrinsic.draw_pulls(shown, theme), "pulls_picture")
        st.caption(escape_markdown(calibration_text(told)))
