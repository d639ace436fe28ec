"""Functions that read the page Recommender: the sentence, the cards, and tables whose cells show a reason on hover."""

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
    """Return the text as displayed: without backslashes, and with normal spaces."""
    return str(text).replace("\\", "").replace("\xa0", " ")


def answer(at: AppTest) -> str:
    """Return the sentence at the top of the page, which states the recipe."""
    return shown(at.header[0].value)


def card(at: AppTest, setting: Setting) -> list[str]:
    """Return the texts on the card of a setting: name, value, source, interval, and further lines such as warnings."""
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
    """Return the HTML tables of the page. Each table is a list of rows, the head first; a cell is (text, reason)."""
    found = [body for e in at.get("html") if "<table" in (body := _body(e))]
    return [[_cells(row) for row in re.findall(r"<tr>(.*?)</tr>", body, re.S)] for body in found]


def rows(at: AppTest, which: int = -1) -> dict[str, list[str]]:
    """Map the first text of each row to the other texts of the row, for HTML table ``which`` without the head row.

    The default is the last table, which belongs to the open tab.
    """
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
    """Page element with its text in ``value``, without the Markdown of a badge."""

    def __init__(self, element: Any) -> None:
        found = re.fullmatch(r":\w+-badge\[(.*)\]", element.value)
        self.value = found[1] if found else element.value


def lines(at: AppTest, which: int = 0) -> list[list[str]]:
    """Return the rows of plain table number ``which`` on the page, each as a list of texts."""
    return [[shown(cell) for cell in row] for row in at.table[which].value.to_numpy().tolist()]
