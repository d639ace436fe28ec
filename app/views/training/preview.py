"""Preview of a grid before it is launched: its cells, their FLOPs and time, and the cap of its sweep."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from isoplan.app.sweep_costs import bundled_cells, read_cap
from isoplan.app.views.widgets.parts import escape_markdown
from isoplan.engine.quantities import duration, power10, si
from isoplan.trainers.backend.estimate import forecast
from isoplan.trainers.backend.estimate.forecast import Estimate
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap
from isoplan.trainers.cell import Cell, Family, Sizes
from isoplan.trainers.grid import Grid, axes, cells
from isoplan.trainers.ranges import kind_of

SIZES = ("N", "D", "U", "C")


@dataclass(frozen=True, eq=False)
class Preview:
    """A preview: the ``cells`` in order, ``shape`` (number of values per axis), and a table with one row per cell.

    ``flops`` is the total; None if the family does not determine it.
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
    """Return the preview of a grid, whose TOML text is ``text``. Raises PlannerError if the grid is invalid."""
    made = tuple(cells(_grid, _family))
    sizes = [_family.sizes(cell) for cell in made]
    varied = {field: len(values) for field, values in axes(_grid, _family).items() if len(values) > 1}
    counted = [size.C for size in sizes if size.C is not None]
    table = pd.DataFrame({field: [getattr(cell, field) for cell in made] for field in varied} | _columns(sizes))
    flops = math.fsum(counted) if counted and len(counted) == len(made) else None
    return Preview(made, tuple(varied.values()), flops, table)


def _columns(sizes: list[Sizes]) -> dict[str, list[float | None]]:
    """Return N, D, U and C of the cells, as far as the family determines them."""
    columns = {name: [getattr(size, name) for size in sizes] for name in SIZES}
    if columns["U"] == columns["D"]:
        del columns["U"]
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def show(found: Preview, family: Family[Any], about: str) -> None:
    """Show the summary, the text ``about`` the cells, and the table, which has a fixed height."""
    st.markdown(f"**{found.text}**")
    if about:
        st.caption(about)
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


def fields_config(names: Iterable[str], family: Family[Any]) -> dict[str, Any]:
    """Return the formats of field columns: titles as headers, integers with separators."""
    shown = set(names)
    infos = {name: about for name, about in family.cell.model_fields.items() if name in shown}
    return {
        name: st.column_config.NumberColumn(about.title, format="localized")
        if kind_of(about) == "integer"
        else about.title or name
        for name, about in infos.items()
    }


CALLED = ("cap of the sweep", "price of a device hour")
"""Names of the two fields in messages."""
MOST = 20
"""Maximum time of an estimate in seconds."""


def ask_cap() -> Cap:
    """Return the price of a device hour and the cap of the sweep. Raises PlannerError if one is invalid."""
    grid = st.grid(2, min_column_width=210)
    price = grid.text_input(
        "Price of a device hour", key="hour_price", bind="query-params", max_chars=100, placeholder="for example 2.50",
        help="Price of one GPU, or of one core for cells that run on cores.",
    )  # fmt: skip
    spend = grid.text_input(
        "Maximum cost or time", key="spend_cap", bind="query-params", max_chars=100, placeholder="50 EUR or 20 h",
        help="At this cost or time, the cells of the sweep wait until you increase it.",
    )  # fmt: skip
    return read_cap(spend or "", price or "", CALLED)


def show_costs(queue: Queue, family: Family[Any], found: Preview, key: str, cap: Cap) -> None:
    """Show the resources that the grid ``key`` needs once requested, else the button that measures them."""
    requested = st.session_state.setdefault("estimates", set())
    place = st.empty()
    if key not in requested:
        help_text = f"Runs short cells of this grid on this machine, at most {MOST} s."
        if not place.button("Estimate time and cost", icon=":material/timer:", key="estimate", help=help_text):
            return
        place.empty()
    made = _estimated(key, str(queue.root), queue, family, found)
    requested.add(key)
    place.markdown(f"{escape_markdown(costs_text(made, cap))}  \n:gray[{escape_markdown(made.basis)}]")


@st.cache_resource(max_entries=64, show_spinner="Running short cells on this machine", ttl="1h")
def _estimated(key: str, root: str, _queue: Queue, _family: Family[Any], _found: Preview) -> Estimate:
    return forecast.estimate(_queue.root, _family, _found.cells, earlier=bundled_cells(_family.name))


def costs_text(found: Estimate, cap: Cap) -> str:
    """Return ``About 34 s on this machine, 0.014 device hours (0.028 EUR), 1.2 MB of disk; the longest cell 8 s.``"""
    left = found.cells - found.done
    done = f"{found.done:,} of {found.cells:,} cells are already finished. " if found.done and left else ""
    if not left or found.seconds is None or found.hours is None:
        return done.strip()
    cost = found.money(cap.price)
    spent = f" ({cost:.2g} {cap.currency})" if cost is not None else ""
    disk = f", {si(found.disk, 2)}B of disk" if found.disk else ""
    longest = f"; the longest cell takes {duration(found.longest)}" if found.longest and left > 1 else ""
    over = cap.hours is not None and found.hours > cap.hours
    more = f" This exceeds the maximum of {cap.text}: the sweep waits when it is reached." if over else ""
    return (
        f"{done}About {duration(found.seconds)} on this machine, {found.hours:.2g} device hours{spent}{disk}{longest}."
        f"{more}"
    )
