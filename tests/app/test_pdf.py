"""SVG to PDF: figures pass, anything that points outside itself does not."""

from __future__ import annotations

import base64
import re

import pytest

from app.pdf import DEEPEST, MAX_SVG_BYTES, pdf_of
from engine.errors import PlannerError

PIXEL = base64.b64encode(
    base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
).decode()
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="240.75" height="139.5">'
)


def svg(body: str) -> bytes:
    return f"{HEAD}{body}</svg>".encode()


def test_a_figure_becomes_a_page_of_its_size() -> None:
    body = (
        '<defs><clipPath id="a"><rect width="9" height="9"/></clipPath></defs>'
        f'<image xlink:href="data:image/png;base64,{PIXEL}" width="9" height="9"/>'
        '<rect clip-path="url(\'#a\')" width="9" height="9"/><text>N<tspan dy="3">opt</tspan> ≥ 10</text>'
    )
    pdf = pdf_of(svg(body))
    assert pdf.startswith(b"%PDF-")
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert box is not None
    assert (float(box[1]), float(box[2])) == (240.75, 139.5)


@pytest.mark.parametrize(
    "body",
    [
        '<image href="file:///etc/passwd"/>',
        '<image xlink:href="http://10.0.0.1/x.png"/>',
        '<image href="/etc/hostname"/>',
        '<image href="data:image/svg+xml;base64,PHN2Zy8+"/>',
        '<a href="javascript:alert(1)"/>',
        "<rect style=\"fill:url('http://x/y.svg#a')\"/>",
        '<rect fill="URL(https://x/y#a)"/>',
        '<feImage href="data:image/png;base64,AA==&#10;http://x"/>',
    ],
)
def test_what_points_outside_is_refused(body: str) -> None:
    with pytest.raises(PlannerError, match="only what is inside it is drawn"):
        pdf_of(svg(body))


@pytest.mark.parametrize("tag", ["script", "style", "foreignObject", "use"])
def test_what_figures_never_hold_is_refused(tag: str) -> None:
    with pytest.raises(PlannerError, match=f"holds a <{tag.lower()}>"):
        pdf_of(svg(f"<{tag}/>"))


@pytest.mark.parametrize("body", [b"", b"not xml", b"<html/>", b"\xff\xfe<svg/>", svg("<g>")])
def test_what_is_no_svg_is_refused(body: bytes) -> None:
    with pytest.raises(PlannerError, match="not readable as SVG"):
        pdf_of(body)


def test_entities_are_refused() -> None:
    with pytest.raises(PlannerError, match="document type"):
        pdf_of(b'<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg">&a;</svg>')


@pytest.mark.parametrize("depth", [DEEPEST, 2_000, 100_000])
def test_a_drawing_nested_too_deep_is_refused_before_it_is_converted(depth: int) -> None:
    with pytest.raises(PlannerError, match=f"more than {DEEPEST} deep"):
        pdf_of(svg("<g>" * depth + "</g>" * depth))


def test_a_drawing_nested_as_no_figure_is_yet_is_converted() -> None:
    assert pdf_of(svg("<g>" * 20 + "</g>" * 20)).startswith(b"%PDF-")


def test_what_the_converter_refuses_is_a_sentence() -> None:
    with pytest.raises(PlannerError, match="could not be turned into a PDF"):
        pdf_of(svg("<g>" * (DEEPEST - 1) + "</g>" * (DEEPEST - 1)))


def test_a_huge_drawing_is_refused() -> None:
    with pytest.raises(PlannerError, match="more than 20 MB"):
        pdf_of(b" " * (MAX_SVG_BYTES + 1))
