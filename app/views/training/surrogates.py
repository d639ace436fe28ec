"""Cells of the amplitudes family on the Train page: event files, dimensions, pulls and intrinsic dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.figures.amplitudes import intrinsic
from isoplan.app.figures.amplitudes.intrinsic import Estimate, Measured, Pulls
from isoplan.app.views.fits.spec_form import how
from isoplan.app.views.training.lines import label, varied
from isoplan.app.views.widgets import parts
from isoplan.app.views.widgets.parts import draw, escape_markdown, number
from isoplan.app.views.widgets.state import keep_possible
from isoplan.engine.planning.amplitude.cell_laws import AS_PUBLISHED
from isoplan.trainers.amplitudes.cell import AmplitudeCell
from isoplan.trainers.amplitudes.source import FOLDER, MOST_BYTES, SIMULATED, Source, facts_of, import_file, list_files
from isoplan.trainers.amplitudes.surrogate.accuracy import FILE, read_pulls
from isoplan.trainers.amplitudes.surrogate.preprocessing import LOG, RAW, freedoms
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.store.record import Record
from isoplan.trainers.cell import Family

CALIBRATION = ("pull_mean", "pull_width", "bulk_mean", "bulk_width", "within_1")
WITHIN = 68.3
"""Percentage of points within one sigma if sigma is correct."""


def with_pulls(queue: Queue, records: Sequence[Record]) -> list[Record]:
    """Return the finished ``records`` with a learned uncertainty and stored pulls, the largest D first."""
    with_both = [one for one in records if calibration(one) is not None and pulls(queue, one) is not None]
    return sorted(with_both, key=lambda one: -_metrics(one).get("D", 0.0))


def pulls(queue: Queue, record: Record) -> Pulls | None:
    """Return the histogram of a finished cell; None if it is missing or cannot be drawn."""
    target = RAW if record.cell.get("target") == RAW else LOG
    return _read(queue.folder(record.name) / FILE, record.created, record.number, target)


@lru_cache(maxsize=1000)
def _read(path: Path, created: str, number: int, target: str) -> Pulls | None:
    """Return the histogram of an attempt of a cell that learned ``target``; it is read once."""
    read = read_pulls(path)
    return Pulls(*read, target=target) if read else None


def calibration(record: Record) -> Mapping[str, float] | None:
    """Return the calibration results of a finished cell; None if it learned no uncertainty."""
    metrics = _metrics(record)
    return {name: metrics[name] for name in CALIBRATION} if all(name in metrics for name in CALIBRATION) else None


def calibration_text(found: Mapping[str, float]) -> str:
    """Return mean and width of the pulls and of their bulk, and the fraction within one sigma, as text."""
    mean, width, middle, half = (_signed(found[name]) for name in CALIBRATION[:4])
    return (
        f"Pulls have mean {mean} and width {width}, their bulk {middle} and {half} (median, half of the central "
        f"{WITHIN:g} %). {100 * found['within_1']:.1f} % of the test points lie within 1 sigma, of a unit Gaussian "
        f"{WITHIN:g} %."
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if abs(value) < 100 else number(value)


def dimensions(family: Family[Any], records: Sequence[Record]) -> list[Measured]:
    """Return the intrinsic dimensions of the finished ``records`` that have them."""
    fields = [field for field in varied(family, records) if field not in ("data", "process", "sqrt_s")]
    return [measured for one in records if (measured := _measured(one, label(one, fields))) is not None]


def _measured(record: Record, text: str) -> Measured | None:
    metrics = _metrics(record)
    layer, N, D = _estimate(metrics, "dimension"), metrics.get("N", math.nan), metrics.get("D", math.nan)
    if layer is None or not (N > 0 and D > 0):
        return None
    return Measured(title(source(record)), text, N, D, layer, _estimate(metrics, "dimension_inputs"), metrics.get("d"))


def _estimate(found: Mapping[str, float], name: str) -> Estimate | None:
    return Estimate(found[name], found.get(f"{name}_spread", 0.0)) if name in found else None


def source(record: Record) -> Source:
    """Return the source of the events of a cell."""
    cell = record.cell
    return Source(str(cell.get("data", SIMULATED)), str(cell.get("process", "")), float(cell.get("sqrt_s") or 0.0))


def title(found: Source) -> str:
    """Return ``Zgg``, ``Zgg at 1,000 GeV``, ``toy Zgg``, or the name of a file."""
    if not found.made:
        return found.data
    kind = found.process if found.data == SIMULATED else f"{found.data} {found.process}"
    return f"{kind} at {found.sqrt_s:,g} GeV" if found.sqrt_s else kind


def _metrics(record: Record) -> dict[str, float]:
    """Return the finite metrics of a cell."""
    raw = dict((record.result or {}).get("metrics") or {})
    return {name: float(x) for name, x in raw.items() if isinstance(x, int | float) and math.isfinite(x)}


FIXED = {True: "√s varies", False: "√s is fixed"}
"""Texts by whether sqrt(s) varies."""
FIT = {"law": "power-D", **how(AS_PUBLISHED), "interval": "profile"}
"""Settings of the fit of K + (X_c / D)^alpha as in the paper."""


def show_dimension(root: Path, cells: Sequence[AmplitudeCell]) -> str:
    """Return ``Zgg, ttH: d = 5, √s varies; Zg at 1,000 GeV: d = 1, √s is fixed.``

    Raises PlannerError if ``facts_of`` does.
    """
    unread: dict[str, list[str]] = {}
    for source in dict.fromkeys(cell.source for cell in cells):
        facts = facts_of(root, source)
        sentence = f"*d* = {freedoms(facts.particles, facts.varying)}, {FIXED[facts.varying]}"
        unread.setdefault(sentence, []).append(escape_markdown(title(source)))
    return "; ".join(f"{', '.join(names)}: {sentence}" for sentence, names in unread.items()) + "."


def show_results(queue: Queue, family: Family[Any], done: Sequence[Record]) -> None:
    """Show a link to the laws, and the intrinsic dimensions and pulls of finished cells, side by side if both exist."""
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
    """Show the dimensions against D, or N if only N varies; if both vary, the user can choose."""
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
        "Two-NN of the last hidden layer on test points, with its spread over five subsets. Open symbols: inputs of "
        "the network. Dashed: dimension *d* of the phase space."
    )


def _varies(found: Sequence[Measured], name: str) -> bool:
    """Return whether cells with the same events differ in it; with other inputs the same width has another N."""
    return len({(one.events, getattr(one, name)) for one in found}) > len({one.events for one in found})


def _pulls(queue: Queue, family: Family[Any], found: Sequence[Record]) -> None:
    """Show the pulls of one of the cells."""
    st.subheader("Pulls", anchor=False)
    fields = varied(family, found)
    named = {record.name: label(record, fields) for record in found}
    keep_possible("pulls_of", list(named))
    chosen = st.selectbox(
        "Of the cell", list(named), format_func=lambda name: named.get(name, name), key="pulls_of", bind="query-params"
    )
    record = next(one for one in found if one.name == chosen)
    shown, text = pulls(queue, record), calibration(record)
    if shown is not None and text is not None:
        draw(lambda theme: intrinsic.draw_pulls(shown, theme), "pulls_picture")
        st.caption(escape_markdown(calibration_text(text)))


FIELD = "cell_data"
"""Form field that contains their names."""
LIMIT = MOST_BYTES // 1024**2
"""Maximum size of an uploaded file in MB."""


def show_event_files(root: Path) -> None:
    """Show the possible values of the field, and a box for another file."""
    with st.popover("Events", icon=":material/folder_open:", help=f"Files in {FOLDER}/ of the workspace"):
        offered = [SIMULATED, *list_files(root)]
        st.session_state["events_chosen"] = [name for name in typed_file() if name in offered]
        st.pills(
            "Train on", offered, format_func=escape_markdown, selection_mode="multi", key="events_chosen",
            on_change=_choose, args=(offered,),
            help="Enters the name in the field Data. With several files, each one is a value of the grid.",
        )  # fmt: skip
        parts.receive_file(
            "events", f"A file of momenta and squared amplitudes (at most {LIMIT} MB)",
            ["npz", "h5", "hdf5", "parquet"], LIMIT, partial(_bring, root),
            f"NPZ, HDF5 or Parquet. A file with events is kept in {FOLDER}/ of the workspace.",
        )  # fmt: skip
        parts.show_refusal("events")


def typed_file() -> list[str]:
    """Return the names in the field; empty at its default, so that a click replaces it."""
    names = str(st.session_state.get(FIELD) or "").split(",")
    return [name.strip() for name in names if name.strip()]


def _choose(offered: list[str]) -> None:
    """Put the selected names into the field, and keep typed names that are not in ``offered``."""
    others = [name for name in typed_file() if name not in offered]
    st.session_state[FIELD] = ", ".join([*others, *st.session_state["events_chosen"]])


def _bring(root: Path, sent: Any) -> None:
    """Import the uploaded file, and select it for training."""
    import_file(root, sent.name, sent.getvalue())
    st.session_state[FIELD] = sent.name
