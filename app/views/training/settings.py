"""Values of the form of a new grid, as texts by name: from the link, the session, or the start values.

If a link contains none of these values, the form starts with the example grid of the family. If it contains some of the
values, the others have their defaults. Each change writes all values to the link at once. A change is therefore only
one entry in the history of the browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from isoplan.app.sweep_costs import NO_LIMIT, NO_PRICE
from isoplan.app.views.widgets.scopes import OPEN, is_back
from isoplan.app.views.widgets.state import remember
from isoplan.trainers.cell import Cell, Family
from isoplan.trainers.families import main_fields, own_fields
from isoplan.trainers.grid import default_text

EXAMPLE = "example"
"""Name of the preset with which the form of a family starts."""
FIELD = "cell_"
"""Prefix of the fields of a cell in the link."""
UNNAMED = "automatic"
NAME, SPEND, PRICE = "grid_name", "spend_cap", "device_price"
FORMER = {"hour_price": PRICE}
"""Present names of values in the link, by their former names. A former name was changed because a widget of the page
Plan has the same name."""
OTHERS = {NAME: UNNAMED, SPEND: NO_LIMIT, PRICE: NO_PRICE}
"""Default texts of the form values that are not fields of a cell, by name in the link."""
_FORMS = "train_forms"


def fields_of(family: Family[Any]) -> list[str]:
    """Return the fields of the form: first the fields that only this family has, then the fields of all families."""
    return [*own_fields(family), *Cell.model_fields]


def defaults(family: Family[Any]) -> dict[str, str]:
    """Return the default text of each value by its name in the link."""
    known = family.cell.model_fields
    return {FIELD + field: default_text(known[field]) for field in fields_of(family)} | OTHERS


def start(family: Family[Any], preset: str = EXAMPLE) -> dict[str, str]:
    """Return the texts of a preset of ``family``; all other values have their defaults."""
    fields = family.presets[preset].fields if preset in family.presets else {}
    return defaults(family) | {FIELD + field: text for field, text in fields.items()}


def read(family: Family[Any]) -> dict[str, str]:
    """Return the texts of the form of ``family`` by name, and store these texts in the session."""
    kept, usual = st.session_state.setdefault(_FORMS, {}), defaults(family)
    st.session_state[OPEN + "family"] = family.name  # restored if the user returns to the page through the menu
    linked = {FORMER.get(name, name): st.query_params[name] for name in st.query_params}
    in_link = {name: linked[name] for name in usual if name in linked}
    if in_link:
        texts = usual | in_link
    elif family.name in kept and not is_back():
        texts = kept[family.name]
        if texts != start(family):
            _write_link(family, texts)
    else:
        texts = start(family)
    kept[family.name] = texts
    return dict(texts)


def change(family: Family[Any], new: Mapping[str, str]) -> None:
    """Change some values of the form of ``family``, and update the link. The family becomes the open family."""
    kept = st.session_state.setdefault(_FORMS, {})
    kept[family.name] = kept.get(family.name, start(family)) | dict(new)
    _write_link(family, kept[family.name])


def enter(family: Family[Any]) -> None:
    """Open the form of ``family``, with its values from this session, otherwise with its start values."""
    change(family, {})


def _write_link(family: Family[Any], texts: Mapping[str, str]) -> None:
    """Write the family to the link, and the values of its form if they differ from the starting grid."""
    usual, shown = defaults(family), {FIELD + field for field in main_fields(family)}
    begins = dict(texts) == start(family)
    ours = {name: text for name, text in texts.items() if not begins and (text != usual[name] or name in shown)}
    others = {
        name: st.query_params.get_all(name)
        for name in st.query_params
        if not name.startswith(FIELD) and name not in (*OTHERS, *FORMER)
    }
    st.query_params.from_dict({**others, **ours, "family": family.name})
    remember("family", family.name)
