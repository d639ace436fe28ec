"""Functions that read the visible text of written reports: PDF and HTML files."""

from __future__ import annotations

import re
import zlib
from html.parser import HTMLParser

HEAD = re.compile(rb"(\d+) 0 obj\s(.*?)(?:stream\r?\n|endobj)", re.DOTALL)
LENGTH = re.compile(rb"/Length (\d+)")
INNER = rb"(?:\\.|[^\\()]|\((?:\\.|[^\\()]|\((?:\\.|[^\\()])*\))*\))*"
"""Pattern of the content of a PDF string: parentheses inside are escaped or balanced."""
STRING = rb"\(" + INNER + rb"\)|<[0-9A-Fa-f]*>"
SHOWN = re.compile(
    rb"/(f\d+) [\d.]+ Tf|"
    rb"(\[(?:\s|-?[\d.]+|" + STRING + rb")*\]\s*TJ|(?:" + STRING + rb")\s*Tj)|"
    rb"(?<![\w/.])([qQ])(?!\w)",
    re.DOTALL,
)
"""Pattern of PDF operators that select a font, show text, save the state (q) or restore it (Q).

The state includes the font.
"""
LITERAL = re.compile(rb"\((" + INNER + rb")\)|<([0-9A-Fa-f]+)>", re.DOTALL)
ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def pages(pdf: bytes) -> int:
    """Return the number of pages of a PDF file."""
    found = re.search(rb"/Type ?/Pages ?/Count (\d+)", pdf)
    assert found is not None
    return int(found[1])


def text_of_pdf(pdf: bytes) -> str:
    """Return the text of a PDF without white space. Each font has a table that translates glyphs to characters."""
    objects, streams = _objects(pdf)
    tables = {n: _table(streams[n]) for n, body in objects.items() if b"/Type/CMap" in body}
    out = []
    for body in objects.values():
        if b"/Type/Page/" not in body:
            continue
        contents, resources = _named(body, b"Contents"), objects[_named(body, b"Resources")]
        fonts = {
            name: tables[_named(objects[int(n)], b"ToUnicode")]
            for name, n in re.findall(rb"/(f\d+) (\d+) 0 R", resources)
        }
        out.append(_shown(streams[contents], fonts))
    return re.sub(r"\s", "", "".join(out))


def _named(body: bytes, name: bytes) -> int:
    found = re.search(rb"/" + name + rb" (\d+) 0 R", body)
    assert found is not None
    return int(found[1])


def _objects(pdf: bytes) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """Return two mappings: from the number of each PDF object to its dictionary, and to its decompressed stream.

    The second mapping contains only the objects that have a stream.
    """
    objects, streams, at = dict[int, bytes](), dict[int, bytes](), 0
    while found := HEAD.search(pdf, at):
        number, at = int(found[1]), found.end()
        objects[number] = found[2]
        if not found[0].endswith(b"endobj"):
            length = LENGTH.search(found[2])
            assert length is not None
            data, at = pdf[at : at + int(length[1])], at + int(length[1])
            streams[number] = zlib.decompress(data) if b"/FlateDecode" in found[2] else data
    return objects, streams


def _table(cmap: bytes) -> dict[int, str]:
    found: dict[int, str] = {}
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", cmap, re.DOTALL):
        for glyph, text in re.findall(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>", block):
            found[int(glyph, 16)] = bytes.fromhex(text.decode()).decode("utf-16-be")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", cmap, re.DOTALL):
        for low, high, text in re.findall(rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>", block):
            for i in range(int(low, 16), int(high, 16) + 1):
                found[i] = chr(int(text, 16) + i - int(low, 16))
    return found


def _shown(stream: bytes, fonts: dict[bytes, dict[int, str]]) -> str:
    out, font, kept = [], dict[int, str](), list[dict[int, str]]()
    for name, shown, state in SHOWN.findall(stream):
        if state == b"q":
            kept.append(font)
        elif state == b"Q":
            font = kept.pop()
        if name:
            font = fonts[name]
        for literal, digits in LITERAL.findall(shown):
            glyphs = bytes.fromhex(digits.decode()) if digits else _plain(literal)
            out += [font.get(int.from_bytes(glyphs[i : i + 2], "big"), "?") for i in range(0, len(glyphs), 2)]
    return "".join(out)


def _plain(literal: bytes) -> bytes:
    def one(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255]) if code[:1].isdigit() else ESCAPES.get(code, code)

    return re.sub(rb"\\([0-7]{1,3}|.)", one, literal, flags=re.DOTALL)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")
        assert not any(name in ("src", "href") for name, _ in attrs), attrs

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"}.intersection(self.open):
            self.texts.append(data)
            if "td" in self.open:
                self.cells[-1] += data


def read_html(html: bytes) -> tuple[str, list[str], list[str]]:
    """Return the visible text of an HTML file, the texts of its table cells, and its tags.

    Raises AssertionError if an element refers to another file (attribute ``src`` or ``href``).
    """
    page = _Page()
    page.feed(html.decode())
    return "".join(page.texts), page.cells, page.tags
