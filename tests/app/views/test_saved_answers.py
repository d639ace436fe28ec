"""Saved answers: a page lists its own answers, reopens them unchanged, removes them and restores them."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from isoplan.app.views.widgets.parts import escape_markdown, powers
from isoplan.app.views.widgets.saved_items import files, list_places
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.recommender.cards import CARDS
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.saved.results import list_kinds
from tests.app.views.conftest import Open, told
from tests.app.views.recommender_page import card, shown
from tests.app.views.test_simulate import LAWS, PRICES
from tests.engine.planning.next_values.test_next_values import swept

KINDS, PLACES = list_kinds(), list_places()
ASKED: dict[str, dict[str, Any]] = {
    "repeat": {"question": "Simulate or repeat", "reach": "0.45", "kappa": "8", "have": "2M", **LAWS, **PRICES},
    "smaller": {"question": "Smaller for longer", "ask": "Target", "target": "0.42", "limits": ["parameters", "hours"],
                "max_params": "5e6", "max_hours": "1e4", "device": "H100", "hour_price": "2.5", "queries": "1e9"},
    "next_cells": {"question": "Next cells", "budget": "1e15", "spend": "5 %", "max_cells": "4", "rounds": "2"},
    "next_values": {"question": "Next values", "max_cells": "2", "rounds": "1"},
    "recipe": {"metric": "NDCG@10", "flops": "3e18", "device": "L40S", "devices": "8", "other_s": "0.05, 0.1"},
    "amplitude": {"n_f": "5", "reach": "5e-4", "scale": "a run of mine", "x1": "1e4", "loss1": "1e-3", "N1": "1e5"},
}  # fmt: skip


def save(at: AppTest, name: str) -> None:
    """Save the answer that the page shows, under ``name``."""
    next(box for box in at.text_input if box.label == "Name of the answer").set_value(name)
    next(b for b in at.button if b.label == "Save the answer").click().run()
    assert told(at) == ""


def content(at: AppTest, kind: str) -> tuple[str, list[list[str]]]:
    """Return the sentence of the answer, and its cards or the rows of its first table."""
    if kind == "recipe":
        return shown(at.header[0].value), [card(at, setting) for setting in CARDS]
    return shown(at.header[0].value), [[shown(cell) for cell in row] for row in at.table[0].value.to_numpy().tolist()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_answer_opens_again_at_the_same_inputs(kind: str, jets: str, demo: Database, open_page: Open) -> None:
    asked = ASKED[kind] | ({"fit": jets} if kind in ("smaller", "next_cells") else {})
    if kind == "next_values":
        asked |= {"fit": results.save_fit(demo, swept(0.1), name="Sweep")}
    at = open_page(PLACES[kind].page, **asked)
    assert told(at) == ""
    first = content(at, kind)
    save(at, "For the talk")
    (kept,) = results.answers(demo)
    assert (kept.kind, kept.name) == (kind, "For the talk")
    assert powers(kept.sentence).startswith(first[0].rstrip("."))
    assert escape_markdown(powers(kept.sentence)) in "\n".join(c.value.replace("\xa0", " ") for c in at.caption)
    assert results.answer(demo, kept.hash)["schema"] == 1
    assert "Saved answers" in [h.value for h in at.header]
    again = open_page(PLACES[kind].page, **kept.query)
    assert told(again) == ""
    assert content(again, kind) == first


def test_answers_are_listed_with_plans_and_on_their_own_question(demo: Database, jets: str, open_page: Open) -> None:
    for kind in KINDS:
        results.save_answer(demo, kind, {"kind": kind}, f"The {kind} sentence.", {}, f"My {kind}")

    def said(at: AppTest) -> set[str]:
        text = "\n".join(c.value for c in at.caption)
        return {kind for kind in KINDS if f"The {kind} sentence." in text}

    assert said(open_page("plan", fit=jets)) == set(KINDS)
    for kind, place in PLACES.items():
        query = {"question": place.title} if place.page == "plan" else {}
        assert said(open_page(place.page, **query)) == {kind}
    home = open_page("home")
    assert told(home) == ""
    assert f"Answers ({len(KINDS)})" in [h.value for h in home.header]


def test_a_saved_answer_is_renamed_deleted_and_restored(demo: Database, open_page: Open) -> None:
    key = results.save_answer(demo, "amplitude", {}, "A sentence.", {}, "First")
    at = open_page("amplitude")
    next(box for box in at.text_input if box.value == "First").set_value("Second")
    next(b for b in at.button if b.label == "Rename").click().run()
    assert [one.name for one in results.answers(demo)] == ["Second"]
    at.button(key=f"delete_{key}").click().run()
    assert results.answers(demo) == []
    assert "Saved answers" not in [h.value for h in at.header]
    at.button(key=f"restore_{key}").click().run()
    assert [one.name for one in results.answers(demo)] == ["Second"]


def test_every_page_offers_the_same_files() -> None:
    document = Document("Said.", (("N", Quantity(1.0)),), (), {"schema": 1}, "print(1)\n")
    made = files(document)
    assert {label: ending for label, (_, ending, _) in made.items()} == {
        "JSON": "json", "CSV": "csv", "Markdown": "md", "LaTeX": "tex", "Python": "py"
    }  # fmt: skip
    assert made["Python"][0]() == "print(1)\n"
    assert made["JSON"][0]() == '{\n  "schema": 1\n}'
