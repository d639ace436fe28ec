"""Cells of a grid that is not launched yet, and the estimate of their time and cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from isoplan.app.sweep_costs import bundled_cells
from isoplan.app.views.training import standing
from isoplan.app.views.training.table import fields_config
from isoplan.app.views.widgets.parts import escape_markdown, plural
from isoplan.engine.quantities import duration, power10, si
from isoplan.trainers.backend.cluster.machine import this_machine
from isoplan.trainers.backend.estimate import forecast
from isoplan.trainers.backend.estimate.calibration import calibrate
from isoplan.trainers.backend.estimate.forecast import Estimate
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap
from isoplan.trainers.cell import Cell, Family, Sizes
from isoplan.trainers.grid import Grid, axes, cells

SIZES = ("N", "D", "U", "C")


@dataclass(frozen=True, eq=False)
class Preview:
    """Summary of a grid that is not launched yet.

    ``cells`` are the cells in order, and ``shape`` is the number of values of each varied field. ``flops`` is the
    compute of all cells together; it is None if the family does not determine the compute. ``table`` has one row per
    cell.
    """

    cells: tuple[Cell, ...]
    shape: tuple[int, ...]
    flops: float | None
    table: pd.DataFrame

    @property
    def text(self) -> str:
        """Summary such as ``3 × 3 = 9 cells, 1.2 × 10¹¹ FLOPs in all``."""
        many = len(self.cells)
        product = f"{' × '.join(f'{n:,}' for n in self.shape)} = " if len(self.shape) > 1 else ""
        counted = f"{product}{many:,} {'cell' if many == 1 else 'cells'}"
        return counted if self.flops is None else f"{counted}, {power10(self.flops)} FLOPs in all"


@st.cache_resource(max_entries=16, show_spinner=False)
def preview(text: str, version: str, root: str, _grid: Grid, _family: Family[Any]) -> Preview:
    """Return the preview of the grid with the TOML text ``text``. Raises PlannerError if the grid is invalid."""
    made = tuple(cells(_grid, _family))
    sizes = [_family.sizes(cell) for cell in made]
    varied = {field: len(values) for field, values in axes(_grid, _family).items() if len(values) > 1}
    counted = [size.C for size in sizes if size.C is not None]
    table = pd.DataFrame({field: [getattr(cell, field) for cell in made] for field in varied} | _columns(sizes))
    flops = math.fsum(counted) if counted and len(counted) == len(made) else None
    return Preview(made, tuple(varied.values()), flops, table)


def _columns(sizes: list[Sizes]) -> dict[str, list[float | None]]:
    """Return the columns N, D, U and C of the table of cells.

    A column is left out if all its values are unknown. U is left out if it equals D.
    """
    columns = {name: [getattr(size, name) for size in sizes] for name in SIZES}
    if columns["U"] == columns["D"]:
        del columns["U"]
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def show_cells(found: Preview, family: Family[Any]) -> None:
    """Show the table of cells."""
    if found.table.columns.empty:
        return
    fields = fields_config([name for name in found.table.columns if name not in SIZES], family)
    big = {name: st.column_config.NumberColumn(format="compact") for name in ("N", "D", "U")}
    st.dataframe(
        found.table,
        hide_index=True,
        height=212,
        column_config={**fields, **big, "C": st.column_config.NumberColumn("C [FLOPs]", format="scientific")},
        alt=f"The {len(found.cells):,} cells of the grid.",
    )


MOST = 20
"""Maximum time in seconds for the short runs that measure the speed of this machine."""
FRESH = "1m"
"""Time for which an estimate is cached. The limit is short because each finished cell can change the estimate."""
MEASURED = "estimates"
"""Session key of the grids, as TOML texts, for which the user measured the speed of this machine."""


@st.cache_resource(show_spinner=False)
def _machine() -> Any:
    return this_machine()


def estimated(queue: Queue, family: Family[Any], found: Preview, key: str) -> Estimate:
    """Return the estimated time and cost of a grid without training its cells. ``key`` is the TOML text of the grid.

    If the user has measured the speed of this machine for this grid, the estimate uses the measurement.
    """
    if key in st.session_state.setdefault(MEASURED, set()):
        return _measured(key, str(queue.root), queue, family, found)
    return _predicted(key, str(queue.root), family.version, queue, family, found.cells)


@st.cache_resource(max_entries=64, show_spinner=False, ttl=FRESH)
def _predicted(
    key: str, root: str, version: str, _queue: Queue, _family: Family[Any], _cells: tuple[Cell, ...]
) -> Estimate:
    return predict(_queue, _family, _cells)


def predict(queue: Queue, family: Family[Any], made: Sequence[Cell]) -> Estimate:
    """Return the estimated time and cost of the cells ``made``, from cells that finished here or elsewhere."""
    records, earlier = standing.look(queue).records, bundled_cells(family.name)
    return forecast.estimate(queue.root, family, made, _machine(), None, earlier, records)


@st.cache_resource(max_entries=64, show_spinner="Running short versions of these cells", ttl="1h")
def _measured(key: str, root: str, _queue: Queue, _family: Family[Any], _found: Preview) -> Estimate:
    return forecast.estimate(_queue.root, _family, _found.cells, _machine(), calibrate, bundled_cells(_family.name))


def measure_button(key: str) -> None:
    """Show the button that measures the speed of this machine for the grid with the TOML text ``key``."""
    help_text = f"Runs short versions of these cells on this machine, for at most {MOST} s in total."
    if st.button("Measure speed", icon=":material/timer:", key="estimate", help=help_text):
        st.session_state.setdefault(MEASURED, set()).add(key)
        st.rerun(scope="fragment")


def show_costs(made: Estimate, cap: Cap) -> None:
    """Show the estimate of a grid in one line, with its evidence as help text."""
    st.markdown(emphasised(costs_text(made, cap)), help=escape_markdown(made.basis))
    if cap.hours is not None and made.hours is not None and made.hours > cap.hours:
        st.caption(
            f":material/payments: Estimate above {escape_markdown(cap.text)}: the sweep will pause at this maximum."
        )


def emphasised(text: str) -> str:
    """Return the text of an estimate as Markdown, with the time in bold."""
    head, time, rest = text.partition(TIME)
    source, _, seconds = head.rpartition(": ")
    if not time:
        return escape_markdown(text)
    return f"{escape_markdown(source)}: **{escape_markdown(seconds)}** {escape_markdown((time + rest).strip())}"


TIME = " on this machine, "
SIMULATE = "simulate missing samples for training, validation and test"


def costs_text(found: Estimate, cap: Cap) -> str:
    """Return the estimate as text: ``Estimate (rough): 34 s on this machine, 0.014 device hours, 0.028 EUR.``

    A cost is included only if a price is set. The text also states the time for the simulation of samples, and the
    number of finished cells, which need no time. If all cells are finished, the text contains no estimate and states
    only that they are finished. The result is "" if the time is unknown.
    """
    left = found.cells - found.done
    if not left or found.seconds is None or found.hours is None:
        return "" if left else "All of these cells are finished already."
    done = f" {plural(found.done, 'cell')} of {found.cells:,} are finished already." if found.done else ""
    cost = found.money(cap.price)
    spent = f", {cost:.2g} {cap.currency}" if cost is not None else ""
    disk = f", {si(found.disk, 2)}B of disk" if found.disk else ""
    longest = f" The longest cell takes {duration(found.longest)}." if found.longest and left > 1 else ""
    hours = f"{found.hours:.2g}" if found.hours < 99.5 else f"{found.hours:,.0f}"
    how = f" ({found.source})" if found.source else ""
    text = f"Estimate{how}: {duration(found.seconds)}{TIME}{hours} device hours{spent}{disk}."
    made = f" This includes {duration(found.simulation)} of one core to {SIMULATE}." if found.simulation else ""
    return f"{text}{made}{longest}{done}"
