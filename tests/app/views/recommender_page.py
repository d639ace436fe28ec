"""What the page Recommender shows: its sentence, its cards, and its tables with reasons."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Any

from streamlit.testing.v1 import AppTest

from isoplan.engine.planning.recommender.cards import Card, Cards, differing
from isoplan.engine.planning.recommender.choice import Setting

Cell = tuple[str, str]


def shown(text: object) -> str:
    """Return the text as the user reads it."""
    return str(text).replace("\\", "").replace("\xa0", " ")


def answer(at: AppTest) -> str:
    """Return the sentence of the recipe."""
    return shown(at.header[0].value)


def card(at: AppTest, setting: Setting) -> list[str]:
    """Return the texts on the card of a setting: its name, then value, source, interval, what-if line and complaint."""
    (block,) = [b for b in _blocks(at.main) if getattr(b.proto, "id", "").endswith(f"-card_{setting}")]
    return [shown(e.value) for e in _elements(block)]


def expected_card(cards: Cards, setting: Setting) -> list[str]:
    """Return the texts that the page must show for the ``cards`` of a setting."""
    groups = differing(cards[setting])
    texts = [f"**{cards[setting][0].label}**"]
    shared = len({one.what_if for one in cards[setting]}) == 1
    for i, group in enumerate(groups):
        texts += _block(group, len(groups) > 1)
        if not shared or i == len(groups) - 1:
            texts += dict.fromkeys(one.what_if for one in group if one.what_if)
        texts += [f":material/warning: {group[0].caution}"] if group[0].caution else []
        texts += [f":material/warning: {group[0].complaint}"] if group[0].complaint else []
    return texts


def _block(group: Sequence[Card], several: bool) -> list[str]:
    sure: dict[str, list[str]] = {}
    for one in group:
        sure.setdefault(one.interval if one.interval != "-" else one.no_interval, []).append(one.metric)
    named = several or len(sure) > 1
    captions = [" · ".join(filter(None, (", ".join(metrics) if named else "", text))) for text, metrics in sure.items()]
    return ["–" if group[0].text == "-" else group[0].text, group[0].source, *filter(None, captions)]


def badge(at: AppTest, setting: Setting) -> str:
    """Return the text of the first badge on the card of a setting."""
    return card(at, setting)[2]


def number_on(at: AppTest, setting: Setting) -> float:
    """Return the first number on the card of a setting, in the unit of the card."""
    return float(card(at, setting)[1].removeprefix("at least ").split()[0])


def tables(at: AppTest) -> list[list[list[Cell]]]:
    """Return the tables with reasons on the page: the head and the rows, each cell as text and reason."""
    found = [body for e in at.get("html") if "<table" in (body := _body(e))]
    return [[_cells(row) for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)] for body in found]


def rows(at: AppTest, which: int = 0) -> dict[str, list[str]]:
    """Return the texts of a table with reasons by the first cell of its rows, without the head."""
    return {line[0][0]: [text for text, _ in line[1:]] for line in tables(at)[which][1:]}


def _cells(row: str) -> list[Cell]:
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)
    reasons = [re.search(r'title="(.*?)"', cell) for cell in cells]
    texts = [shown(html.unescape(re.sub(r"<.*?>", "", cell))) for cell in cells]
    return [(t, html.unescape(r[1]) if r else "") for t, r in zip(texts, reasons, strict=True)]


def _body(element: Any) -> str:
    return str(element.proto.body)


def _blocks(block: Any) -> Iterator[Any]:
    for child in getattr(block, "children", {}).values():
        if hasattr(child, "children"):
            yield child
            yield from _blocks(child)


def _elements(block: Any) -> Iterator[Any]:
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from _elements(child)
        else:
            yield _Text(child)


class _Text:
    """Text of an element; a badge is shown without its Markdown."""

    def __init__(self, element: Any) -> None:
        found = re.fullmatch(r":\w+-badge\[(.*)\]", element.value)
        self.value = found[1] if found else element.value


def lines(at: AppTest, which: int = 0) -> list[list[str]]:
    """Return the cells of a plain table of any page."""
    return [[shown(cell) for cell in row] for row in at.table[which].value.to_numpy().tolist()]
