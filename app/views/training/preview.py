"""What a grid comes to before it is launched: its cells, their number, and the FLOPs in all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from isoplan.engine.quantities import power10
from isoplan.trainers.cell import Cell, Family, Sizes
from isoplan.trainers.grid import Grid, axes, cells
from isoplan.trainers.ranges import kind_of

SIZES = ("N", "D", "U", "C")


@dataclass(frozen=True, eq=False)
class Preview:
    """The ``cells`` of a grid in their order, ``shape`` (how many values each axis has), and a table, one row a cell.

    ``flops`` are those of all cells; None where the family cannot say.
    """

    cells: tuple[Cell, ...]
    shape: tuple[int, ...]
    flops: float | None
    table: pd.DataFrame

    @property
    def text(self) -> str:
        """``3 × 3 = 9 cells, 1.2 × 10¹¹ FLOPs in all``."""
        many = len(self.cells)
        product = f"{' × '.join(f'{n:,}' for n in self.shape)} = " if len(self.shape) > 1 else ""
        counted = f"{product}{many:,} {'cell' if many == 1 else 'cells'}"
        return counted if self.flops is None else f"{counted}, {power10(self.flops)} FLOPs in all"


@st.cache_resource(max_entries=16, show_spinner=False)
def preview(text: str, version: str, root: str, _grid: Grid, _family: Family[Any]) -> Preview:
    """The preview of a grid, which ``text`` is in TOML. Raises PlannerError for a grid that cannot be."""
    made = tuple(cells(_grid, _family))
    sizes = [_family.sizes(cell) for cell in made]
    varied = {field: len(values) for field, values in axes(_grid, _family).items() if len(values) > 1}
    counted = [size.C for size in sizes if size.C is not None]
    table = pd.DataFrame({field: [getattr(cell, field) for cell in made] for field in varied} | _columns(sizes))
    flops = math.fsum(counted) if counted and len(counted) == len(made) else None
    return Preview(made, tuple(varied.values()), flops, table)


def _columns(sizes: list[Sizes]) -> dict[str, list[float | None]]:
    """N, D, U and C of the cells, those that the family can say."""
    found = {name: [getattr(size, name) for size in sizes] for name in SIZES}
    if found["U"] == found["D"]:
        del found["U"]
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


def show(found: Preview, family: Family[Any], about: str) -> None:
    """The sentence, what there is to say ``about`` the cells, and the table, which stands as high whatever it holds."""
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
    """How the columns of fields are shown: under their titles, whole numbers with separators."""
    shown = set(names)
    known = {name: about for name, about in family.cell.model_fields.items() if name in shown}
    return {
        name: st.column_config.NumberColumn(about.title, format="localized")
        if kind_of(about) == "integer"
        else about.title or name
        for name, about in known.items()
    }
