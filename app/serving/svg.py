"""Program that reads SVG from standard input and writes PDF to standard output.

The program runs in a separate process with limited time and memory (``isoplan.engine.limited``). Before the conversion,
the size, the elements and the addresses of the drawing are checked.
"""

from __future__ import annotations

import io
import re
import sys
import xml.etree.ElementTree as ElementTree

from isoplan.engine.errors import PlannerError
from isoplan.engine.limited import limit

DEEPEST = 200  # maximum depth of elements: figures need about 10, the converter crashes at thousands
MOST_ELEMENTS = 100_000
LARGEST = 20_000.0
"""Maximum width and height of a drawing, in pixels."""
REFUSED_TAGS = frozenset(
    {"script", "foreignobject", "use", "iframe", "audio", "video", "style", "link", "filter", "mask", "pattern"}
)
# The allowed addresses: elements of the drawing itself and embedded pixel images. Others are refused, so that the
# converter never loads a file or a page.
INSIDE = re.compile(r"#|data:image/(png|jpeg);base64,[A-Za-z0-9+/=\s]*\Z")
ADDRESS = re.compile(r"""(?:url|src)\(\s*["']?\s*([^)"']*)""", re.IGNORECASE)
INSTRUCTION = re.compile(rb"<\?(?!xml[\s?])")
"""Pattern of a processing instruction, for example ``<?xml-stylesheet ...?>``. The XML declaration does not match."""
TEXT = ("data-", "aria-")
"""Prefixes of attributes that contain only text: the converter ignores these attributes."""
HIDDEN = re.compile(r"\\|/\*|@import|filter\s*:", re.IGNORECASE)
"""Pattern of CSS that is refused: ``@import``, filters, and escapes and comments, which can hide an address."""


def check(svg: bytes) -> None:
    """Raise PlannerError if a file is not SVG or its conversion can be unsafe.

    The file must be within the limits of size and depth, and must not refer to addresses outside the drawing.
    """
    if b"<!DOCTYPE" in svg or b"<!ENTITY" in svg:
        raise PlannerError("The drawing declares a document type: figures have none.")
    if INSTRUCTION.search(svg):
        raise PlannerError("The drawing has a processing instruction: figures have none.")
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
            raise PlannerError(f"The drawing has an element <{tag}>: figures have no such element.")
        for name, value in element.attrib.items():
            _check_attribute(_local(name), value)


def _check_side(side: str, said: str) -> None:
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)(?:px|pt)?\s*", said, re.ASCII)
    if said and not (found and float(found[1]) <= LARGEST):
        raise PlannerError(f"The {side} of the drawing is {said[:20]!r}: give at most {LARGEST:,.0f} pixels.")


def _check_attribute(name: str, value: str) -> None:
    _check_addresses([value] if name in {"href", "src"} else ADDRESS.findall(value))
    if name == "filter" or (not name.startswith(TEXT) and HIDDEN.search(value)):
        raise PlannerError(f"The drawing has {name}={value[:40]!r}: figures have no such attribute.")


def _tree(svg: bytes) -> ElementTree.Element:
    """Parse the drawing and return its root element.

    The parser stops with PlannerError as soon as a limit of depth or number of elements is exceeded, so that it never
    builds a huge tree.
    """
    depth, count, root = 0, 0, None
    for event, element in ElementTree.iterparse(io.BytesIO(svg), events=("start", "end")):
        root = element if root is None else root
        depth += 1 if event == "start" else -1
        count += event == "start"
        if count > MOST_ELEMENTS:
            raise PlannerError(f"The drawing has more than {MOST_ELEMENTS:,} elements: download it as SVG instead.")
        if depth > DEEPEST:
            raise PlannerError(f"The drawing nests elements more than {DEEPEST} deep: figures need far fewer levels.")
    if root is None:
        raise ValueError("no element")
    return root


def _check_addresses(addresses: list[str]) -> None:
    outside = next((a for a in addresses if not INSIDE.match(a.strip())), None)
    if outside is not None:
        raise PlannerError(f"The drawing refers to {outside[:60]!r}: only addresses inside the drawing are allowed.")


def _local(name: str) -> str:
    return str(name).rpartition("}")[2].lower()


def main(seconds: int, megabytes: int) -> None:
    """Check and convert one drawing within ``seconds`` and ``megabytes``.

    If the drawing is refused or cannot be converted, the program writes one sentence to standard error and exits with
    status 1.
    """
    limit(seconds, megabytes)
    svg = sys.stdin.buffer.read()
    try:
        check(svg)
        sys.stdout.buffer.write(converted(svg))
    except PlannerError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        raise SystemExit(1) from None


def converted(svg: bytes) -> bytes:
    """Return a checked drawing as a PDF file. Raises PlannerError if the converter fails."""
    import vl_convert

    try:
        return bytes(vl_convert.svg_to_pdf(svg.decode()))
    except (ValueError, RuntimeError) as error:
        why = str(error).splitlines()[0]
        raise PlannerError(f"The drawing could not be turned into a PDF ({why}): download it as SVG instead.") from None


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
