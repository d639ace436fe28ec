"""Parts of the Train page that only one family of cells has: input files, a description of a grid, and results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import streamlit as st

from isoplan.app.figures.amplitudes import intrinsic
from isoplan.app.figures.amplitudes.intrinsic import Estimate, Measured, Pulls
from isoplan.app.views.fits.spec_form import how
from isoplan.app.views.training import standing
from isoplan.app.views.training.lines import label, varied
from isoplan.app.views.training.standing import Group
from isoplan.app.views.widgets import parts
from isoplan.app.views.widgets.parts import draw, escape_markdown, number, sentences
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
"""Percentage of points for which the prediction is within one sigma, if sigma is correct (unit Gaussian)."""


def with_pulls(queue: Queue, records: Sequence[Record]) -> list[Record]:
    """Return the cells of ``records`` that learned an uncertainty and have a pull histogram, the largest D first."""
    with_both = [one for one in records if calibration(one) is not None and pulls(queue, one) is not None]
    return sorted(with_both, key=lambda one: -_metrics(one).get("D", 0.0))


def pulls(queue: Queue, record: Record) -> Pulls | None:
    """Return the pull histogram of a finished cell; None if its file is missing or cannot be drawn."""
    target = RAW if record.cell.get("target") == RAW else LOG
    return _read(queue.folder(record.name) / FILE, record.created, record.number, target)


@lru_cache(maxsize=1000)
def _read(path: Path, created: str, number: int, target: str) -> Pulls | None:
    """Return the pull histogram in the file ``path``; None if it cannot be read.

    ``created`` and ``number`` (of the attempt) are keys of the cache. ``target`` is the quantity that the cell learned.
    """
    read = read_pulls(path)
    return Pulls(*read, target=target) if read else None


def calibration(record: Record) -> Mapping[str, float] | None:
    """Return the calibration metrics of a finished cell by name; None if the cell learned no uncertainty."""
    metrics = _metrics(record)
    return {name: metrics[name] for name in CALIBRATION} if all(name in metrics for name in CALIBRATION) else None


def calibration_text(found: Mapping[str, float]) -> str:
    """Return the calibration metrics ``found`` as text.

    A pull is (prediction - truth) / (learned uncertainty).
    """
    mean, width, middle, half = (_signed(found[name]) for name in CALIBRATION[:4])
    return (
        f"Pulls have mean {mean} and width {width}. Their median is {middle}, and the half width of their central "
        f"{WITHIN:g} % interval is {half}. {100 * found['within_1']:.1f} % of the test points lie within 1 sigma "
        f"({WITHIN:g} % for a unit Gaussian)."
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if abs(value) < 100 else number(value)


def dimensions(family: Family[Any], records: Sequence[Record]) -> list[Measured]:
    """Return the intrinsic dimensions of those finished cells in ``records`` that measured a dimension."""
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
    """Return the source of the training events of a cell: file or simulation, process, and energy."""
    cell = record.cell
    return Source(str(cell.get("data", SIMULATED)), str(cell.get("process", "")), float(cell.get("sqrt_s") or 0.0))


def title(found: Source) -> str:
    """Return the name of a source: ``Zgg``, ``Zgg at 1,000 GeV``, ``toy Zgg``, or the name of a file."""
    if not found.made:
        return found.data
    kind = found.process if found.data == SIMULATED else f"{found.data} {found.process}"
    return f"{kind} at {found.sqrt_s:,g} GeV" if found.sqrt_s else kind


def _metrics(record: Record) -> dict[str, float]:
    """Return those metrics of a finished cell that are finite numbers, by name."""
    raw = dict((record.result or {}).get("metrics") or {})
    return {name: float(x) for name, x in raw.items() if isinstance(x, int | float) and math.isfinite(x)}


FIXED = {True: "√s varies", False: "√s is fixed"}
"""Text about the collision energy sqrt(s). The key is true if sqrt(s) varies within the events."""
FIT = {"law": "power-D", **how(AS_PUBLISHED), "interval": "profile"}
"""Settings with which the page Fit opens for amplitude cells: the fit of K + (X_c / D)^alpha as in the paper."""


def show_dimension(root: Path, cells: Sequence[AmplitudeCell]) -> str:
    """Return the dimension of the phase space per source of events.

    An example is ``Zgg, ttH: d = 5, √s varies; Zg at 1,000 GeV: d = 1, √s is fixed.`` Raises PlannerError if
    ``facts_of`` cannot read a source.
    """
    unread: dict[str, list[str]] = {}
    for source in dict.fromkeys(cell.source for cell in cells):
        facts = facts_of(root, source)
        sentence = f"*d* = {freedoms(facts.particles, facts.varying)}, {FIXED[facts.varying]}"
        unread.setdefault(sentence, []).append(escape_markdown(title(source)))
    return "; ".join(f"{', '.join(names)}: {sentence}" for sentence, names in unread.items()) + "."


def show_results(queue: Queue, family: Family[Any], done: Sequence[Record]) -> None:
    """Show results of amplitude cells: a link to their laws, their intrinsic dimensions, and their pulls."""
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
    """Show the dimensions against D, or against N if only N varies. If both vary, the user chooses the axis."""
    st.subheader("Intrinsic dimension", anchor=False)
    varying = [name for name in ("D", "N") if _varies(found, name)] or ["D"]
    x = varying[0]
    if len(varying) > 1:
        keep_possible("dimension_against", varying)
        x = str(
            st.segmented_control(
                "Horizontal axis", varying, default="D", required=True, key="dimension_against", bind="query-params"
            )
        )
    draw(lambda theme: intrinsic.draw_dimensions(found, x, theme), "intrinsic_picture")
    st.caption(
        "Filled symbols: Two-NN dimension of the last hidden layer on test points, with its spread over five subsets. "
        "Open symbols: the same for the inputs of the network. Dashed lines: dimension *d* of the phase space."
    )


def _varies(found: Sequence[Measured], name: str) -> bool:
    """Return whether ``name`` (N or D) varies between cells with the same events.

    Cells with other events are not compared, because N also depends on the number of inputs.
    """
    return len({(one.events, getattr(one, name)) for one in found}) > len({one.events for one in found})


def _pulls(queue: Queue, family: Family[Any], found: Sequence[Record]) -> None:
    """Show the pull histogram of one cell, which the user selects."""
    st.subheader("Pulls", anchor=False)
    fields = varied(family, found)
    named = {record.name: label(record, fields) for record in found}
    keep_possible("pulls_of", list(named))
    chosen = st.selectbox(
        "Cell", list(named), format_func=lambda name: named.get(name, name), key="pulls_of", bind="query-params"
    )
    record = next(one for one in found if one.name == chosen)
    shown, text = pulls(queue, record), calibration(record)
    if shown is not None and text is not None:
        draw(lambda theme: intrinsic.draw_pulls(shown, theme), "pulls_picture")
        st.caption(escape_markdown(calibration_text(text)))


DATA = "cell_data"
"""Name of the field Data in the form, which contains the names of the event files."""
Put = Callable[[str], object]
LIMIT = MOST_BYTES // 1024**2
"""Maximum size of an uploaded event file in MB."""


def show_event_files(root: Path, text: str, put: Put) -> None:
    """Show the available event files as options for the field Data, and a box that uploads another file.

    ``text`` is the text of the field, and ``put`` changes this text.
    """
    with st.popover("Events", icon=":material/folder_open:", help=f"Files in {FOLDER}/ of the workspace"):
        offered = [SIMULATED, *list_files(root)]
        st.session_state["events_chosen"] = [name for name in typed_files(text) if name in offered]
        st.pills(
            "Train on", offered, format_func=escape_markdown, selection_mode="multi", key="events_chosen",
            on_change=_choose, args=(offered, text, put),
            help="Enters the name in the field Data. With several files, each file is a value of the grid.",
        )  # fmt: skip
        parts.receive_file(
            "events", f"A file of momenta and squared amplitudes (at most {LIMIT} MB)",
            ["npz", "h5", "hdf5", "parquet"], LIMIT, partial(_bring, root, put),
            f"NPZ, HDF5 or Parquet. A file with events is kept in {FOLDER}/ of the workspace.",
        )  # fmt: skip
        parts.show_refusal("events")


def typed_files(text: str) -> list[str]:
    """Return the file names in the text of the field Data."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _choose(offered: list[str], text: str, put: Put) -> None:
    """Put the selected names into the field Data. Typed names that are not in ``offered`` stay."""
    others = [name for name in typed_files(text) if name not in offered]
    put(", ".join([*others, *st.session_state["events_chosen"]]) or SIMULATED)


def _bring(root: Path, put: Put, sent: Any) -> None:
    """Import the uploaded file into the workspace and put its name into the field Data."""
    import_file(root, sent.name, sent.getvalue())
    put(sent.name)


METRIC = "recall@10"
CANDIDATES = {1: "batch-local", 2: "whole catalogue"}
"""For each stage: the items that a cell of this stage ranks in its evaluation."""


def show_baselines(queue: Queue, family: Family[Any], done: Sequence[Record]) -> None:
    """Show one line per log and stage: the metric of two baselines, and the number of cells that count as untrained.

    The baselines need no training. One baseline ranks items by their popularity. The other baseline ranks an item by
    how often this item follows the last items of a user.
    """
    by_log: dict[tuple[str, int], list[Mapping[str, float]]] = {}
    for record in done:
        metrics = (record.result or {}).get("metrics", {})
        if f"popularity_{METRIC}" in metrics:
            log = str(record.cell.get("data", ""))
            by_log.setdefault((log, int(record.cell.get("stage", 1))), []).append(metrics)
    for (log, stage), cells in by_log.items():
        st.caption(f"{escape_markdown(log)}, {CANDIDATES.get(stage, f'stage {stage}')}: {_sentence(cells)}")


def _sentence(cells: Sequence[Mapping[str, float]]) -> str:
    """Return one sentence: the metric of the two baselines, and how many of ``cells`` count as untrained."""
    first = cells[0]
    counts, after = (f"{first[f'{name}_{METRIC}']:.3g}" for name in ("popularity", "last_items"))
    worse = sum(bool(metrics.get("untrained")) for metrics in cells)
    verb = "is" if worse == 1 else "are"
    lost = f"{worse} of {len(cells)} cells {verb} no better" if worse else f"all {len(cells)} cells are better"
    return (
        f"{METRIC} is {counts} if items are ranked by popularity, and {after} if they are ranked by how often "
        f"they followed the last items; {lost} than these baselines."
    )


OFTEN = "10s"
"""Time between two updates of the results while a cell runs."""


@dataclass(frozen=True)
class Special:
    """Parts of the Train page that a family defines itself; a part is None if the family does not need it.

    ``files(root, text, put)`` draws the selection of input files. ``text`` is the text of the field Data, and the
    function ``put`` changes this text. ``about(root, cells)`` returns common properties of the cells of a grid, as
    Markdown. ``results(queue, family, records)`` draws the results of finished cells. ``fit`` contains the settings
    with which the Fit page opens.
    """

    files: Callable[[Path, str, Put], None] | None = None
    about: Callable[[Path, Sequence[Any]], str] | None = None
    results: Callable[[Queue, Family[Any], Sequence[Record]], None] | None = None
    fit: Mapping[str, str] = field(default_factory=dict)


SPECIAL: Mapping[str, Special] = {
    "amplitudes": Special(show_event_files, show_dimension, show_results, FIT),
    "behavior": Special(results=show_baselines),
}
"""Special parts by the name of the family. Other families have none."""


def special_of(family: Family[Any]) -> Special:
    """Return the special parts of ``family``; without entry in ``SPECIAL``, they are empty."""
    return SPECIAL.get(family.name, Special())


def results(queue: Queue, group: Group, family: Family[Any], working: bool) -> None:
    """Show the results that only this family has, for the finished cells of ``group``.

    While a cell is ``working``, the results are updated every ``OFTEN``.
    """
    if (show := special_of(family).results) is not None:
        st.fragment(_results, run_every=OFTEN if working else None)(queue, group, family, show)


def _results(
    queue: Queue, group: Group, family: Family[Any], show: Callable[[Queue, Family[Any], Sequence[Record]], None]
) -> None:
    look = standing.look(queue)
    if group.key in look.groups:
        done = [record for record in look.cells(look.groups[group.key]) if record.state == "done"]
        with sentences():
            show(queue, family, done)
