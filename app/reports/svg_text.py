"""Text of figures as SVG: texts with the few HTML tags that Plotly supports become lines of ``tspan`` elements."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from html import escape
from html.parser import HTMLParser

LEADING = 1.3
"""Distance between two lines of text, in units of the font size."""
SMALL = 0.7
"""Font size of a superscript or subscript, in units of the font size of the line."""
CAPITAL = 0.66
"""Height of a capital letter, in units of the font size."""
WIDTH = 0.48
"""Mean width of a letter, in units of the font size."""
ANCHORS = {"left": "start", "center": "middle", "right": "end"}
COLOUR = re.compile(r"color:\s*(#[0-9a-fA-F]{3,8}|rgba?\([\d., ]+\)|[a-z]+)")
CONTROL = re.compile("[\x00-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
"""Characters that XML does not allow."""


@dataclass(frozen=True)
class Run:
    """A piece of text with one style. ``raised`` is 1 for a superscript, -1 for a subscript, else 0."""

    text: str
    bold: bool = False
    italic: bool = False
    raised: int = 0
    colour: str = ""

    def as_svg(self, size: float, moved: int) -> str:
        """Return the ``tspan`` element of this piece; ``moved`` is the value ``raised`` of the previous piece."""
        style = ' font-weight="bold"' if self.bold else ""
        style += ' font-style="italic"' if self.italic else ""
        style += f' fill="{self.colour}"' if self.colour else ""
        style += f' font-size="{SMALL * size:.2f}"' if self.raised else ""
        shift = (_rise(moved) - _rise(self.raised)) * size
        style += f' dy="{shift:.2f}"' if shift else ""
        return f"<tspan{style}>{escape(CONTROL.sub(' ', self.text))}</tspan>"


def _rise(raised: int) -> float:
    return {1: 0.36, -1: -0.18, 0: 0.0}[raised]


@dataclass
class _Reader(HTMLParser):
    """Parser that collects a text as lines of pieces (``Run``). Unknown tags are removed, but not the text inside."""

    lines: list[list[Run]] = field(default_factory=lambda: [[]])
    styles: list[tuple[str, Run]] = field(default_factory=lambda: [("", Run(""))])

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self.lines.append([])
            return
        style = self.styles[-1][1]
        if tag in ("b", "strong"):
            style = replace(style, bold=True)
        elif tag in ("i", "em"):
            style = replace(style, italic=True)
        elif tag in ("sup", "sub"):
            style = replace(style, raised=1 if tag == "sup" else -1)
        elif found := COLOUR.search(dict(attrs).get("style") or ""):
            style = replace(style, colour=found[1])
        self.styles.append((tag, style))

    def handle_endtag(self, tag: str) -> None:
        opened = [i for i, (name, _) in enumerate(self.styles) if name == tag]
        if opened and tag:
            del self.styles[opened[-1] :]

    def handle_data(self, data: str) -> None:
        self.lines[-1].append(replace(self.styles[-1][1], text=data))


def read_lines(text: str) -> list[list[Run]]:
    """Return the lines of a text with HTML tags; each line is a list of pieces."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.lines


def width_of(text: str, size: float) -> float:
    """Return the approximate width in pixels of the longest line of a text with HTML tags."""
    return max(sum(len(run.text) * (SMALL if run.raised else 1) for run in line) for line in read_lines(text)) * (
        WIDTH * size
    )


def draw_text(
    shown: str,
    x: float,
    y: float,
    size: float,
    colour: str,
    across: str = "left",
    along: str = "bottom",
    turn: float = 0.0,
) -> str:
    """Return a text with HTML tags as SVG.

    The point (``x``, ``y``) in pixels is at the left, center or right (``across``) and at the top, middle or bottom
    (``along``) of the text. ``size`` is the font size in pixels. ``turn`` is a rotation in degrees.
    """
    lines = read_lines(shown)
    height = LEADING * size * (len(lines) - 1)
    first = {
        "top": CAPITAL * size + 0.2 * size,
        "middle": (CAPITAL * size - height) / 2,
        "bottom": -height - 0.22 * size,
    }
    around = f' transform="rotate({turn:g} {x:.2f} {y:.2f})"' if turn else ""
    out = []
    for i, line in enumerate(lines):
        moved, pieces = 0, []
        for run in line:
            pieces.append(run.as_svg(size, moved))
            moved = run.raised
        at = y + first[along] + i * LEADING * size
        out.append(
            f'<text x="{x:.2f}" y="{at:.2f}" font-size="{size:.2f}" fill="{colour}" text-anchor="{ANCHORS[across]}"'
            f'{around} xml:space="preserve">{"".join(pieces)}</text>'
        )
    return "".join(out)
