"""The table of cells, the actions on selected cells, and the log of a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from isoplan.app.curve_forecasts import forecast_ends
from isoplan.app.views.training import actions, standing
from isoplan.app.views.training.lines import last_said, varied
from isoplan.app.views.training.standing import Group
from isoplan.app.views.widgets.parts import escape_markdown, plural
from isoplan.engine.curves.forecast import End
from isoplan.engine.quantities import duration
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.progress import STATES, Pace, describe_simulation, pace
from isoplan.trainers.backend.store.attempt_curves import Point, log_tail
from isoplan.trainers.backend.store.record import Record, log_of
from isoplan.trainers.cell import Family
from isoplan.trainers.ranges import kind_of

SHOWN = {state: name.capitalize() for state, name in STATES.items()}
"""Names of the states in the table, by their names in the records."""
OURS = ("State", "Done", "Loss", "Final loss", "Step", "Seconds", "Attempts", "Cell", "Why")
OPTIONAL = ("Final loss", "Why")
"""Columns that are shown only if a cell has a value."""


def frame(
    queue: Queue,
    family: Family[Any],
    records: Sequence[Record],
    state: Callable[[Record], str] = lambda record: record.state,
    now: datetime | None = None,
    ends: Mapping[str, End] | None = None,
) -> pd.DataFrame:
    """Return a table with one row per cell in the given order.

    The fields in which the cells differ come after the column State. ``Done`` is the completed percentage of the
    training steps. ``Seconds`` is the time of all attempts so far. ``Loss`` is the last logged value. ``Final loss`` is
    the predicted end of a running cell, from ``ends`` by name.
    """
    at = now or datetime.now(UTC)
    table = pd.DataFrame(
        [_row(queue, record, family.loss, state(record), at, (ends or {}).get(record.name)) for record in records],
        columns=list(OURS),
    )
    for place, field in enumerate(varied(family, records), start=1):
        named = field if field not in OURS else f"{field} "
        table.insert(place, named, [record.cell.get(field) for record in records])
    return table


def _row(queue: Queue, record: Record, loss: str, state: str, now: datetime, end: End | None) -> tuple[object, ...]:
    share: float | None = None
    if record.state == "done" and record.result is not None:
        steps = record.result.get("steps")
        step, share = "" if steps is None else f"{steps:,} steps", 100.0
        value = record.result.get("metrics", {}).get(loss)
    else:
        last = last_said(queue.folder(record.name), record)
        step, value = _step(queue, record, last), last.values.get(loss) if last else None
        share = 100 * last.step / last.total if last and last.total and last.step else None
    taken = seconds(record, now)
    final = f"{end.loss:.4g} ({end.low:.4g} to {end.high:.4g})" if end is not None else ""
    return (
        SHOWN.get(state, state),
        share,
        value,
        final,
        step,
        taken or None,
        record.number,
        record.name[:8],
        why(record),
    )


def _step(queue: Queue, record: Record, last: Point | None) -> str:
    """Return the progress of an unfinished cell or of its simulation, such as ``1,200 of 4,000, 30 s left``."""
    found = pace(queue.folder(record.name), record.number) if record.state == "running" and record.begun else Pace()
    if found.prepares and not found.simulated:
        return "Starting and reading data"
    if found.simulated:
        text = describe_simulation(*found.simulated, record.family, found.left)
        return text[0].upper() + text[1:]
    if last is None or not last.step:
        return ""
    step = f"{last.step:,} of {last.total:,}" if last.total else f"{last.step:,}"
    return f"{step}, {duration(found.left)} left" if found.left else step


def seconds(record: Record, now: datetime) -> float:
    """Return the seconds of all attempts of a cell.

    A running attempt counts from the time at which its lease was given until ``now``.
    """
    ended = sum(float(result.get("seconds", 0.0)) for result in record.results.values())
    given = record.lease.get("given")
    if record.number and record.begun and record.result is None and given:
        return ended + max((now - datetime.fromisoformat(str(given))).total_seconds(), 0.0)
    return ended


def why(record: Record) -> str:
    """Return the reason why a cell failed or was cancelled, or why its previous attempt died; "" without a reason."""
    if record.state in ("stopping", "cancelled"):
        return record.order.why
    latest = record.results.get(record.number) or record.results.get(record.number - 1) or {}
    has_reason = record.state == "failed" or (record.state in ("queued", "running") and latest.get("state") == "died")
    return str(latest.get("why", "")) if has_reason else ""


FEW = 12
"""Minimum number of cells for which the table can be filtered by state."""
MANY = 500
"""Number of rows above which the table is redrawn every 10 s instead of every 2 s."""
TAIL_LINES = 200


def show(queue: Queue, group: Group, family: Family[Any], working: bool, may: bool) -> None:
    """Show the table of the cells of ``group``; redraw it every few seconds while a cell is ``working``."""
    often = "2s" if len(group.names) <= MANY else "10s"
    st.fragment(_show, run_every=often if working else None)(queue, group, family, may)


def _show(queue: Queue, group: Group, family: Family[Any], may: bool) -> None:
    look = standing.look(queue)
    st.subheader("Cells", anchor=False, width="content")
    cells = look.cells(look.groups[group.key]) if group.key in look.groups else []
    chosen = _states(len(cells))
    shown = [record for record in cells if not chosen or SHOWN[look.state(record)] in chosen]
    _failed(cells)
    ends = forecast_ends(queue, family, look.records.values())
    table = frame(queue, family, shown, look.state, ends=ends)
    picked = _table(table, f"{group.key}_{'_'.join(chosen)}_{st.session_state.get('cells_gone', 0)}", family, may)
    names = [shown[i].name for i in picked if i < len(shown)]
    if may:
        actions.of_cells(queue, look, names)
    if len(names) == 1 and names[0] in look.records:
        _log(queue, look.records[names[0]])


def _states(many: int) -> list[str]:
    """Show the filter by state and return the chosen states.

    A table of fewer than ``FEW`` cells shows the filter only if the link contains states. Links of
    earlier versions contain the state names that the records use.
    """
    linked = st.query_params.get_all("states")
    if any(name not in SHOWN.values() for name in linked):
        st.session_state["states"] = list(dict.fromkeys(SHOWN[name] for name in linked if name in SHOWN))
    if many < FEW and not linked and not st.session_state.get("states"):
        return []
    options = list(dict.fromkeys(SHOWN.values()))
    return st.pills("State", options, selection_mode="multi", key="states", bind="query-params")


def _failed(cells: Sequence[Record]) -> None:
    """Show the number of failed cells and the most frequent reason."""
    reasons = Counter(why(record) for record in cells if record.state == "failed")
    if reasons:
        (most, many), whole = reasons.most_common(1)[0], reasons.total()
        share = "" if many == whole else f" ({many:,} of them)"
        st.caption(f":material/error: {plural(whole, 'cell')} failed{share}: {escape_markdown(most)}")


def _table(table: pd.DataFrame, key: str, family: Family[Any], may: bool) -> list[int]:
    """Show the table and return the positions of the selected rows."""
    state = st.dataframe(
        table,
        key=f"table_{key}",
        hide_index=True,
        column_order=[name for name in table.columns if name not in OPTIONAL or table[name].any()],
        on_select="rerun",
        selection_mode="multi-row",
        placeholder="",
        column_config={
            **fields_config([name for name in table.columns if name not in OURS], family),
            "State": st.column_config.TextColumn(width=100),
            "Done": st.column_config.ProgressColumn(format="%d%%", min_value=0, max_value=100, width=92),
            "Step": st.column_config.TextColumn("Progress", width=300),
            "Loss": st.column_config.NumberColumn(format="%.4g", width=80),
            "Final loss": st.column_config.TextColumn(
                help="Predicted from the curves of finished cells, with its 68 % interval.", width=180
            ),
            "Seconds": st.column_config.NumberColumn(format="%.1f", width=80),
            "Attempts": st.column_config.NumberColumn(width=76),
            "Cell": st.column_config.TextColumn(width=84),
            "Why": st.column_config.TextColumn(width="large"),
        },
        alt=f"{len(table):,} cells with state, fields, progress, loss and time.",
    )
    return list(state["selection"]["rows"])


def fields_config(names: Iterable[str], family: Family[Any]) -> dict[str, Any]:
    """Return the formats of the columns that show fields: titles as headers, integers with thousands separators."""
    shown = set(names)
    infos = {name: about for name, about in family.cell.model_fields.items() if name in shown}
    return {
        name: st.column_config.NumberColumn(about.title, format="localized")
        if kind_of(about) == "integer"
        else about.title or name
        for name, about in infos.items()
    }


def _log(queue: Queue, record: Record) -> None:
    """Show the last lines of the log of the newest attempt of a cell, and a download of its whole log."""
    folder = queue.folder(record.name)
    text = "\n".join(log_tail(folder, record.number).splitlines()[-TAIL_LINES:])
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**Log of cell {escape_markdown(record.name)}**, attempt {record.number}")
            st.download_button(
                "The whole log",
                lambda: whole_log(queue, record),
                f"{record.name}.log",
                "text/plain",
                icon=":material/download:",
                on_click="ignore",
                disabled=not record.number,
            )
        if reason := why(record):
            st.error(escape_markdown(reason), icon=":material/error:")
        with st.container(height=240, autoscroll=True, border=False):
            st.code(text or "The log is empty.", language=None, wrap_lines=True)


def whole_log(queue: Queue, record: Record) -> bytes:
    """Return the logs of all attempts of a cell, concatenated."""
    parts = []
    for number in range(1, record.number + 1):
        place = log_of(queue.folder(record.name), number)
        head = f"--- attempt {number} ---\n".encode()
        parts.append(head + (place.read_bytes() if place.exists() else b""))
    return b"\n".join(parts)
