"""What an SVG drawing may hold before it becomes a PDF: no more than a figure, and nothing that points outside."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ElementTree

from engine.errors import PlannerError

DEEPEST = 200  # figures nest about ten deep; the converter crashes after some thousands
MOST_ELEMENTS = 100_000
LARGEST = 20_000.0
"""Width and height of a drawing, in pixels."""
REFUSED_TAGS = frozenset(
    {"script", "foreignobject", "use", "iframe", "audio", "video", "style", "link", "filter", "mask", "pattern"}
)
# A drawing may point into itself and hold pixels; every other address is refused, so that nothing is fetched or read.
INSIDE = re.compile(r"#|data:image/(png|jpeg);base64,[A-Za-z0-9+/=\s]*\Z")
ADDRESS = re.compile(r"""(?:url|src)\(\s*["']?\s*([^)"']*)""", re.IGNORECASE)
INSTRUCTION = re.compile(rb"<\?(?!xml[\s?])")
"""Of a stylesheet, say; the declaration of XML itself is none."""
TEXT = ("data-", "aria-")
"""How the names of attributes begin that nothing reads when a drawing is converted."""
HIDDEN = re.compile(r"\\|/\*|@import|filter\s*:", re.IGNORECASE)
"""Escapes and comments by which CSS could hide an address, other sheets, and filters."""


def check(svg: bytes) -> None:
    """Raise PlannerError for what is no SVG, is too large or too deep, or points to anything outside itself."""
    if b"<!DOCTYPE" in svg or b"<!ENTITY" in svg:
        raise PlannerError("The drawing declares a document type, which figures never do.")
    if INSTRUCTION.search(svg):
        raise PlannerError("The drawing has a processing instruction, which figures never do.")
    try:
        svg.decode()
        root = _tree(svg)
    except (ElementTree.ParseError, ValueError):
        raise PlannerError("The drawing is not readable as SVG.") from None
    if _local(root.tag) != "svg":
        raise PlannerError("The drawing is not readable as SVG.")
    for side in ("width", "height"):
        _check_side(side, root.get(side, ""))
    for element in root.iter():
        tag = _local(element.tag)
        if tag in REFUSED_TAGS or tag.startswith("fe"):
            raise PlannerError(f"The drawing holds a <{tag}>, which figures never do.")
        for name, value in element.attrib.items():
            _check_attribute(_local(name), value)


def _check_side(side: str, said: str) -> None:
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)(?:px|pt)?\s*", said, re.ASCII)
    if said and not (found and float(found[1]) <= LARGEST):
        raise PlannerError(f"The {side} of the drawing is {said[:20]!r}: give at most {LARGEST:,.0f} pixels.")


def _check_attribute(name: str, value: str) -> None:
    _check_addresses([value] if name in {"href", "src"} else ADDRESS.findall(value))
    if name == "filter" or (not name.startswith(TEXT) and HIDDEN.search(value)):
        raise PlannerError(f"The drawing has {name}={value[:40]!r}, which figures never do.")


def _tree(svg: bytes) -> ElementTree.Element:
    """The root element, read piece by piece so that a drawing nested too deep is refused before it is all built."""
    depth, count, root = 0, 0, None
    for event, element in ElementTree.iterparse(io.BytesIO(svg), events=("start", "end")):
        root = element if root is None else root
        depth += 1 if event == "start" else -1
        count += event == "start"
        if count > MOST_ELEMENTS:
            raise PlannerError(f"The drawing has more than {MOST_ELEMENTS:,} elements: download it as SVG instead.")
        if depth > DEEPEST:
            raise PlannerError(f"The drawing nests elements more than {DEEPEST} deep, which figures never do.")
    if root is None:
        raise ValueError("no element")
    return root


def _check_addresses(addresses: list[str]) -> None:
    outside = next((a for a in addresses if not INSIDE.match(a.strip())), None)
    if outside is not None:
        raise PlannerError(f"The drawing points to {outside[:60]!r}: only what is inside it is drawn.")


def _local(name: str) -> str:
    return str(name).rpartition("}")[2].lower()
