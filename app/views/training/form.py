"""Form of a new grid: one text field per field of a cell, the resulting cells, and the button that launches them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import streamlit as st
from pydantic.fields import FieldInfo

from isoplan.app.views.training import special, standing
from isoplan.app.views.training.lines import own_fields
from isoplan.app.views.training.preview import ask_cap, preview, show_costs
from isoplan.app.views.training.preview import show as show_preview
from isoplan.app.views.widgets import parts
from isoplan.app.views.widgets.parts import escape_markdown, plural, sentences
from isoplan.app.views.widgets.scopes import belong
from isoplan.app.views.widgets.state import keep_possible, remember
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import as_typed
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap, launch
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import families, find_family
from isoplan.trainers.grid import Grid, check_typed, parse_grid, title_of, type_field, typed_grid, write_grid

LONGEST = 2000
"""Maximum number of characters of a field; longer lists of values belong in a file."""
EXAMPLE = "example"
"""Preset for first-time users."""


@st.fragment
def show(queue: Queue) -> None:
    """Show the form and the resulting cells."""
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
    """State that the fields of the form and the name of the grid belong to this family of cells."""
    typed = [str(key) for key in st.session_state if str(key).startswith("cell_")]
    own = [f"cell_{field}" for field in (*own_fields(family), *Cell.model_fields)]
    belong("family", family.name, dict.fromkeys([*typed, *own, "grid_name"], ""))


def _fields(family: Family[Any]) -> dict[str, str] | None:
    """Return the texts of the fields; None if one of them is invalid and shows an error."""
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
    """Return the meaning of the field and its possible values."""
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
    """Show the presets of the ``family`` as buttons, an upload for a grid file, and the input files of its cells."""
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
    """Fill the form with a grid of a family: ``grid_name`` and the fields; all other fields get their defaults."""
    enter_family(family)
    for key in [key for key in st.session_state if str(key).startswith("cell_")]:
        st.session_state[key] = ""
    st.session_state["family"] = family.name
    st.session_state["grid_name"] = texts.pop("grid_name", "")
    for field, text in texts.items():
        st.session_state[f"cell_{field}"] = text


def _read(root: Path, sent: Any) -> None:
    """Read the uploaded file into the form."""
    grid = parse_grid(_text(sent), root, sent.name)
    texts = {field: type_field(asked) for field, asked in grid.asked.items()}
    for field, text in texts.items():
        if len(text) > LONGEST:
            raise PlannerError(
                f"{sent.name} has too many values of {field} for this form. Run it with `isoplan train`."
            )
    _fill(find_family(grid.family, root), {"grid_name": grid.name, **texts})


def _text(sent: Any) -> str:
    try:
        return str(sent.getvalue().decode("utf-8"))
    except UnicodeDecodeError:
        raise PlannerError(f"{sent.name} is not a text file. Write the grid as TOML in UTF-8.") from None


def _offer(queue: Queue, family: Family[Any], grid: Grid) -> None:
    """Show the resulting cells and their cost, and the buttons that save or launch the grid."""
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
    """Queue the cells and show them below."""
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
