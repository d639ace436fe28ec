"""Form of a new grid: the main fields, all other settings under More, the estimate, and the launch button."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, get_args, get_origin

import streamlit as st
from pydantic.fields import FieldInfo

from isoplan.app.sweep_costs import ON_PAGES, is_money, read_cap
from isoplan.app.views.training import autopilots, costs, settings, special, standing
from isoplan.app.views.training.settings import EXAMPLE, FIELD, NAME, PRICE, SPEND, UNNAMED
from isoplan.app.views.widgets import parts
from isoplan.app.views.widgets.parts import distinct, escape_markdown, plural, sentences
from isoplan.app.views.widgets.state import recall, remember, select_one
from isoplan.engine.errors import PlannerError
from isoplan.engine.quantities import as_typed
from isoplan.trainers.backend.queue.cells import Queue
from isoplan.trainers.backend.queue.sweep import Cap, launch
from isoplan.trainers.backend.store.files import writing
from isoplan.trainers.cell import Family
from isoplan.trainers.families import families, find_family, main_fields
from isoplan.trainers.grid import (
    Grid,
    check_typed,
    default_text,
    parse_grid,
    title_of,
    type_field,
    typed_grid,
    write_grid,
)
from isoplan.trainers.ranges import zero_word

LAUNCHES, LAUNCHED = "launches", "launched"
"""Session keys. ``LAUNCHES`` is the key of the number of launches. ``LAUNCHED`` is the key of the TOML text and the
message of the latest launch.
"""
LONGEST = 2000
"""Maximum number of characters in a field. A longer list of values needs a file, GRID.toml."""


@st.fragment
def show(queue: Queue) -> None:
    """Show the form of a grid, the estimate of its cells, and the button that launches them."""
    with sentences():
        choices = families(queue.root)
        opened = _opened(queue, choices)
        row = st.grid(4, min_column_width=231)
        with row.cell():
            titles = distinct({name: family.title for name, family in choices.items()})
            select_one("Model", titles, "family", opened, lambda name: settings.enter(choices[name]),
                       help=escape_markdown(choices[opened].summary) or None)  # fmt: skip
        family = choices[opened]
        texts = settings.read(family)
        for field in main_fields(family):
            with row.cell():
                _field(family, field, texts)
        with row.cell():
            _other(family, SPEND, texts, "Spend at most", "Such as 20 h or 50 EUR. The sweep pauses at this maximum.")
        if is_money(texts[SPEND]):
            with row.cell():
                _price(family, texts)
        parts.show_refusal("grid")
        place = st.container()
        # A launch changes the key. The section then closes, and the sweep below the form is visible.
        with st.expander(
            "More settings", icon=":material/tune:", key=f"more_settings_{st.session_state.get(LAUNCHES, 0)}"
        ):
            _more(queue, family, texts)
            rest = st.container()
        pilot = st.expander("Autopilot", icon=":material/rocket_launch:")
        with place, sentences():
            _check(family, texts)
            _offer(queue, family, texts, rest)
            with pilot, sentences():
                _pilot(queue, family, texts)


def _pilot(queue: Queue, family: Family[Any], texts: dict[str, str]) -> None:
    """Show the start of an autopilot for the grid and the cap of the form."""
    grid, cap = grid_of(family, texts), read_cap(texts[SPEND], texts[PRICE], ON_PAGES)
    found = costs.preview(write_grid(grid), family.version, str(queue.root), grid, family)
    sizes = [C for cell in found.cells if (C := family.sizes(cell).C) is not None]
    autopilots.start(queue.root, family, grid, cap, max(sizes, default=None))


def _opened(queue: Queue, choices: dict[str, Family[Any]]) -> str:
    """Return the family to show: that of the link or session, otherwise that of the newest sweep, otherwise the first
    family.

    A link of an earlier version that contains fields but no family refers to the first family.
    """
    asked = recall("family")
    if asked in choices:
        return asked
    groups = standing.look(queue).groups.values()
    newest = [group.family for group in groups if group.family in choices]
    return next(iter(choices)) if any(name.startswith(FIELD) for name in st.query_params) else [*newest, *choices][0]


def _field(family: Family[Any], field: str, texts: dict[str, str]) -> None:
    """Show the text field of one field of a cell."""
    about = family.cell.model_fields[field]
    _other(family, FIELD + field, texts, about.title or field, _help(about))


def _other(family: Family[Any], name: str, texts: dict[str, str], label: str, text: str) -> None:
    """Show the text field of the value ``name`` of the form; a change is written to the link."""
    st.session_state[name] = texts[name]
    st.text_input(
        escape_markdown(label), key=name, max_chars=LONGEST, help=text,
        on_change=lambda: settings.change(family, {name: st.session_state[name] or ""}),
    )  # fmt: skip


def _check(family: Family[Any], texts: dict[str, str]) -> None:
    """Check the text of each field. Raises PlannerError with the first field whose text is invalid or missing."""
    for field in settings.fields_of(family):
        about, text = family.cell.model_fields[field], texts[FIELD + field]
        if not text.strip():
            usual = default_text(about)
            example = f", {usual} for example" if usual else ""
            raise PlannerError(f"The field {about.title or field} is empty: enter a value{example}.")
        check_typed(family, field, text)


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
        "Several values: enter a list such as 8, 16, 32, or a range such as 8..512 x 7 (seven values from 8 to 512)."
        if span
        else "",
    ]
    return escape_markdown(" ".join(part for part in parts_of_help if part.strip(" .")))


def _more(queue: Queue, family: Family[Any], texts: dict[str, str]) -> None:
    """Show the presets, the files, the name, the price, and all fields that are not main fields."""
    with st.container(horizontal=True):
        for name, preset in family.presets.items():
            st.button(
                title_of(name), icon=f":material/{'school' if name == EXAMPLE else 'grid_view'}:",
                help=escape_markdown(preset.about), key=f"preset_{name}",
                on_click=_fill, args=(family, settings.start(family, name), "" if name == EXAMPLE else title_of(name)),
            )  # fmt: skip
        with st.popover("Open GRID.toml", icon=":material/upload_file:"):
            parts.receive_file("grid", "A grid as a file", ["toml"], 1, partial(_read, queue))
        if (choose_files := special.special_of(family).files) is not None:
            choose_files(queue.root, texts[special.DATA], lambda text: settings.change(family, {special.DATA: text}))
    grid = st.grid(4, min_column_width=210)
    with grid.cell():
        _other(
            family,
            NAME,
            texts,
            "Name of the sweep",
            "Automatic: the name consists of the model and the time of the launch.",
        )
    if not is_money(texts[SPEND]):
        with grid.cell():
            _price(family, texts)
    for field in settings.fields_of(family):
        if field not in main_fields(family):
            with grid.cell():
                _field(family, field, texts)


def _price(family: Family[Any], texts: dict[str, str]) -> None:
    """Show the price field: next to the spending limit if this limit is an amount of money, otherwise under More."""
    text = (
        "Price per hour of one GPU, or of one core for cells trained on cores: 2.50 or 2.50 USD. "
        "Estimates then include money."
    )
    _other(family, PRICE, texts, "Price of a device hour", text)


def _fill(family: Family[Any], texts: dict[str, str], name: str) -> None:
    """Fill the form with ``texts`` of a grid called ``name``. The spending limit and the price stay as they are."""
    kept = {key: text for key, text in texts.items() if key not in (SPEND, PRICE)}
    settings.change(family, {**kept, NAME: name or UNNAMED})


def _read(queue: Queue, sent: Any) -> None:
    """Fill the form with the grid in the uploaded file ``sent``. Raises PlannerError if the grid is not valid."""
    try:
        text = str(sent.getvalue().decode("utf-8"))
    except UnicodeDecodeError:
        raise PlannerError(f"{sent.name} is not a text file. Write the grid as TOML in UTF-8.") from None
    grid = parse_grid(text, queue.root, sent.name)
    if grid.listed:
        raise PlannerError(f"{sent.name} lists cells, which this form cannot show. Train it with `isoplan train FILE`.")
    family = find_family(grid.family, queue.root)
    known = family.cell.model_fields
    texts = {field: type_field(asked, zero_word(known[field])) for field, asked in grid.asked.items()}
    for field, text in texts.items():
        if len(text) > LONGEST:
            raise PlannerError(
                f"{sent.name} has too many values of {field} for this form. Run it with `isoplan train`."
            )
    _fill(family, settings.defaults(family) | {FIELD + field: text for field, text in texts.items()}, grid.name)


def grid_of(family: Family[Any], texts: dict[str, str]) -> Grid:
    """Return the grid of the form. The grid omits fields that have their default values."""
    usual = settings.defaults(family)
    own = {field: texts[FIELD + field] for field in settings.fields_of(family)}
    changed = {field: text for field, text in own.items() if text.strip() != usual[FIELD + field]}
    name = texts[NAME].strip()
    return typed_grid(family, changed, "" if name == UNNAMED else name)


def _offer(queue: Queue, family: Family[Any], texts: dict[str, str], rest: Any) -> None:
    """Show the estimate of the grid and the button that launches it.

    The container ``rest``, which is under More, gets the cells, the file of the grid, and the measurement of the speed.
    """
    grid = grid_of(family, texts)
    text = write_grid(grid)
    found = costs.preview(text, family.version, str(queue.root), grid, family)
    cap = read_cap(texts[SPEND], texts[PRICE], ON_PAGES)
    costs.show_costs(costs.estimated(queue, family, found, text), cap)
    with st.container(horizontal=True, vertical_alignment="center"):
        go = st.button(
            f"Launch {plural(len(found.cells), 'cell')}", type="primary", icon=":material/play_arrow:", key="launch"
        )
        launched, message = st.session_state.get(LAUNCHED, ("", ""))
        if launched == text:
            st.markdown(f":green[:material/check:] {message}", width="content")
        if changed := _changed(family, grid):
            st.caption(escape_markdown(changed))
    if len(found.cells) < LEAST_CELLS:
        st.caption(f"A fit of a law over N and D needs at least {LEAST_CELLS} different cells.")
    with rest:
        about = special.special_of(family).about
        st.markdown(f"**{found.text}**  \n{about(queue.root, found.cells) if about is not None else ''}")
        costs.show_cells(found, family)
        with st.container(horizontal=True):
            costs.measure_button(text)
            st.download_button(
                "GRID.toml", text, "GRID.toml", "application/toml", icon=":material/download:", on_click="ignore"
            )
    if go:
        _launch(queue, family, grid, cap)


LEAST_CELLS = 6
"""Smallest number of different cells to which a law over N and D with five parameters can be fitted."""
SHOWN = 4
"""Maximum number of changed settings that are listed next to the launch button."""


def _changed(family: Family[Any], grid: Grid) -> str:
    """Return the settings under More that differ from their defaults, such as ``Epochs 20, Batch 32``."""
    known, main = family.cell.model_fields, main_fields(family)
    changed = [
        f"{known[field].title or field} {type_field(asked, zero_word(known[field]))}"
        for field, asked in grid.asked.items()
        if field not in main
    ]
    more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    return ", ".join(changed[:SHOWN]) + more


def _launch(queue: Queue, family: Family[Any], grid: Grid, cap: Cap) -> None:
    """Queue the cells of ``grid`` and rerun the page, which then shows them below the form."""
    before = standing.look(queue).records
    with writing(queue.root):
        made = launch(queue.root, grid, family, cap=cap if cap.text or cap.price else None)
    repeated = sum(name in before for name in made.cells)
    standing.changed()
    again = f" {plural(repeated, 'cell')} of this grid exist already." if repeated else ""
    message = f"Launched {plural(len(made.cells), 'cell')}.{again} The sweep is shown below."
    st.session_state[LAUNCHED] = write_grid(grid), message
    st.session_state[LAUNCHES] = st.session_state.get(LAUNCHES, 0) + 1
    remember("sweep", made.key)
    st.rerun()
