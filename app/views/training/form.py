"""Form of a new grid: its fields, the cells that result, their cost, the cost cap, and the launch button."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pandas as pd
import streamlit as st
from pydantic.fields import FieldInfo

from isoplan.app.sweep_costs import ON_PAGES, bundled_cells, read_cap
from isoplan.app.views.training import special, standing
from isoplan.app.views.training.lines import own_fields
from isoplan.app.views.training.table import fields_config
from isoplan.app.views.widgets import parts
from isoplan.app.views.widgets.parts import escape_markdown, plural, sentences
from isoplan.app.views.widgets.scopes import belong
from isoplan.app.views.widgets.state import keep_possible, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import as_typed, duration, power10, si
from isoplan.trainers.backend.estimate import forecast
from isoplan.trainers.backend.estimate.forecast import Estimate
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap, launch
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Cell, Family, Sizes
from isoplan.trainers.families import families, find_family
from isoplan.trainers.grid import (
    Grid,
    axes,
    cells,
    check_typed,
    parse_grid,
    title_of,
    type_field,
    typed_grid,
    write_grid,
)

LONGEST = 2000
"""Maximum number of characters in a field. A longer list of values needs a file, GRID.toml."""
EXAMPLE = "example"
"""Name of the preset for first-time users. A grid made from it has no name."""


@st.fragment
def show(queue: Queue) -> None:
    """Show the form of a grid and the cells that result from it."""
    with sentences():
        choices = families(queue.root)
        top = st.container(horizontal=True)
        left, right = st.columns([1, 1])
        with left:
            keep_possible("family", choices)
            family = choices[
                str(
                    st.selectbox(
                        "Family", list(choices), key="family", bind="query-params", help="Type of model to train."
                    )
                )
            ]
        enter_family(family)
        with right:
            name = st.text_input("Name", key="grid_name", bind="query-params", max_chars=100, placeholder="optional")
        with top:
            _files(queue.root, family)
        parts.show_refusal("grid")
        st.caption(escape_markdown(family.title))
        texts = _fields(family)
        if texts is not None:
            _offer(queue, family, typed_grid(family, texts, name or ""))


def enter_family(family: Family[Any]) -> None:
    """State that the values in the form belong to ``family``, so that another family starts with its own values."""
    typed = [str(key) for key in st.session_state if str(key).startswith("cell_")]
    own = [f"cell_{field}" for field in (*own_fields(family), *Cell.model_fields)]
    belong("family", family.name, dict.fromkeys([*typed, *own, "grid_name"], ""))


def _fields(family: Family[Any]) -> dict[str, str] | None:
    """Show the fields of the form and return their texts by field name.

    Returns None if a text is invalid. An error is then shown below its field.
    """
    grid = st.grid(4, min_column_width=210)
    texts, sound = {}, True
    for field in (*own_fields(family), *Cell.model_fields):
        about = family.cell.model_fields[field]
        with grid.cell():
            texts[field] = st.text_input(
                escape_markdown(about.title or field), key=f"cell_{field}", bind="query-params", max_chars=LONGEST,
                live=True, placeholder=_default(about), help=_help(about),
            ) or ""  # fmt: skip
            try:
                check_typed(family, field, texts[field])
            except PlannerError as error:
                sound = False
                st.error(escape_markdown(str(error)))
    return texts if sound else None


def _default(about: FieldInfo) -> str:
    return "must be given" if about.is_required() else type_field((about.default,))


def _help(about: FieldInfo) -> str:
    """Return the help text of a field: its meaning and its possible values."""
    bounds = {name: getattr(part, name) for part in about.metadata for name in ("ge", "gt", "le", "lt")
              if getattr(part, name, None) is not None}  # fmt: skip
    words = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
    span = " ".join(f"{words[name]} {as_typed(float(bounds[name]))}" for name in words if name in bounds)
    choices = ", ".join(map(str, get_args(about.annotation))) if get_origin(about.annotation) is Literal else ""
    parts_of_help = [
        about.description or "",
        f"One of {choices}." if choices else "",
        f"{span[:1].upper()}{span[1:]}.",
    ]
    return escape_markdown(" ".join(part for part in parts_of_help if part.strip(" .")))


def _files(root: Path, family: Family[Any]) -> None:
    """Show a button per preset of ``family`` and the upload of a GRID.toml.

    If the cells of the family read input files, a selection of these files is shown as well.
    """
    for name, preset in family.presets.items():
        title, icon = title_of(name), ":material/school:" if name == EXAMPLE else ":material/grid_view:"
        texts = {"grid_name": "" if name == EXAMPLE else title, **preset.fields}
        st.button(
            title,
            icon=icon,
            help=escape_markdown(preset.about),
            on_click=_fill,
            args=(family, texts),
            key=f"preset_{name}",
        )
    with st.popover("Open GRID.toml", icon=":material/upload_file:"):
        parts.receive_file("grid", "A grid as a file", ["toml"], 1, partial(_read, root))
    if (choose_files := special.special_of(family).files) is not None:
        choose_files(root)


def _fill(family: Family[Any], texts: dict[str, str]) -> None:
    """Fill the form with the texts of a grid of ``family``; ``texts`` contains "grid_name" and the fields.

    All other fields are emptied, so that they have their defaults.
    """
    enter_family(family)
    for key in [key for key in st.session_state if str(key).startswith("cell_")]:
        st.session_state[key] = ""
    st.session_state["family"] = family.name
    st.session_state["grid_name"] = texts.pop("grid_name", "")
    for field, text in texts.items():
        st.session_state[f"cell_{field}"] = text


def _read(root: Path, sent: Any) -> None:
    """Fill the form with the grid in the uploaded file ``sent``. Raises PlannerError if the grid is not valid."""
    try:
        text = str(sent.getvalue().decode("utf-8"))
    except UnicodeDecodeError:
        raise PlannerError(f"{sent.name} is not a text file. Write the grid as TOML in UTF-8.") from None
    grid = parse_grid(text, root, sent.name)
    texts = {field: type_field(asked) for field, asked in grid.asked.items()}
    for field, text in texts.items():
        if len(text) > LONGEST:
            raise PlannerError(
                f"{sent.name} has too many values of {field} for this form. Run it with `isoplan train`."
            )
    _fill(find_family(grid.family, root), {"grid_name": grid.name, **texts})


def _offer(queue: Queue, family: Family[Any], grid: Grid) -> None:
    """Show the cells of ``grid`` and their cost, the button that launches them, and a download of the grid."""
    text = write_grid(grid)
    shown = preview(text, family.version, str(queue.root), grid, family)
    about = special.special_of(family).about
    show_preview(shown, family, about(queue.root, shown.cells) if about is not None else "")
    cap = ask_cap()
    show_costs(queue, family, shown, text, cap)
    with st.container(horizontal=True):
        go = st.button(
            f"Launch {plural(len(shown.cells), 'cell')}", type="primary", icon=":material/play_arrow:", key="launch"
        )
        st.download_button(
            "GRID.toml", text, "GRID.toml", "application/toml", icon=":material/download:", on_click="ignore"
        )
    if go:
        _launch(queue, family, grid, cap)


def _launch(queue: Queue, family: Family[Any], grid: Grid, cap: Cap) -> None:
    """Queue the cells of ``grid`` and rerun the page, which then shows them below the form."""
    before = standing.look(queue).records
    with writing(queue.root):
        made = launch(queue.root, grid, family, cap=cap if cap.text or cap.price else None)
    repeated = sum(name in before for name in made.cells)
    standing.changed()
    again = f" {plural(repeated, 'cell')} of it exist already." if repeated else ""
    st.session_state["launched"] = f"Launched {plural(len(made.cells), 'cell')}.{again}"
    st.session_state["grid_launched"] = True
    remember("sweep", made.key)
    st.rerun()


SIZES = ("N", "D", "U", "C")


@dataclass(frozen=True, eq=False)
class Preview:
    """Summary of a grid that is not launched yet.

    It contains the cells in order, the number of values of each varied field (``shape``), the compute of all cells in
    FLOPs, which is None if the family does not determine it, and a table with one row per cell.
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

    A column is left out if the family determines none of its values. U is left out if it equals D.
    """
    columns = {name: [getattr(size, name) for size in sizes] for name in SIZES}
    if columns["U"] == columns["D"]:
        del columns["U"]
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def show_preview(found: Preview, family: Family[Any], about: str) -> None:
    """Show the number of cells and their compute, the text ``about``, and the table of cells."""
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


MOST = 20
"""Maximum time in seconds for the short runs from which the time and cost of a grid are estimated."""


def ask_cap() -> Cap:
    """Show the fields of the price and of the cost cap; return both. Raises PlannerError for an invalid text."""
    grid = st.grid(2, min_column_width=210)
    price = grid.text_input(
        "Price of a device hour", key="hour_price", bind="query-params", max_chars=100, placeholder="for example 2.50",
        help="Price of one GPU, or of one core for cells that run on cores.",
    )  # fmt: skip
    spend = grid.text_input(
        "Maximum cost or time", key="spend_cap", bind="query-params", max_chars=100, placeholder="50 EUR or 20 h",
        help="The sweep waits when it reaches this cost or time, until you increase the maximum.",
    )  # fmt: skip
    return read_cap(spend or "", price or "", ON_PAGES)


def show_costs(queue: Queue, family: Family[Any], found: Preview, key: str, cap: Cap) -> None:
    """Show the estimated time and cost of the grid, or the button that starts the estimate.

    ``key``, the TOML text of the grid, identifies the grid for which the user requested an estimate.
    """
    requested = st.session_state.setdefault("estimates", set())
    place = st.empty()
    if key not in requested:
        help_text = f"Runs short versions of these cells on this machine, for at most {MOST} s in total."
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
    """Return the estimate as text, such as ``About 34 s on this machine, 0.014 device hours (0.028 EUR).``

    The text also contains the disk space, the time of the longest cell, the number of finished cells, which need no
    time, and whether the cap is exceeded. It is "" if no cell is left.
    """
    left = found.cells - found.done
    done = f"{found.done:,} of {found.cells:,} cells are already finished. " if found.done and left else ""
    if not left or found.seconds is None or found.hours is None:
        return done.strip()
    cost = found.money(cap.price)
    spent = f" ({cost:.2g} {cap.currency})" if cost is not None else ""
    disk = f", {si(found.disk, 2)}B of disk" if found.disk else ""
    longest = f"; the longest cell takes {duration(found.longest)}" if found.longest and left > 1 else ""
    over = cap.hours is not None and found.hours > cap.hours
    more = f" This exceeds the maximum of {cap.text}: the sweep will wait when it reaches the maximum." if over else ""
    return (
        f"{done}About {duration(found.seconds)} on this machine, {found.hours:.2g} device hours{spent}{disk}{longest}."
        f"{more}"
    )
