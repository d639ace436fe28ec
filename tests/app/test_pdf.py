"""Tests of the conversion from SVG to PDF: figures are converted, drawings with external references are refused."""

from __future__ import annotations

import asyncio
import base64
import re
import threading
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.types import Message

from isoplan.app.serving import pdf
from isoplan.app.serving.pdf import MAX_SVG_BYTES, pdf_of
from isoplan.app.serving.svg import DEEPEST, MOST_ELEMENTS
from isoplan.engine.errors import PlannerError

PIXEL = base64.b64encode(
    base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
).decode()
UNCHECKED = Path(__file__).with_name("unchecked_pdf.py")
"""Script that converts a drawing without checks, to test the limits of time and memory."""
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
        '<image href="data:image/png;base64,AA==&#10;http://x"/>',
    ],
)
def test_what_points_outside_is_refused(body: str) -> None:
    with pytest.raises(PlannerError, match="only addresses inside the drawing are allowed"):
        pdf_of(svg(body))


@pytest.mark.parametrize("tag", ["script", "style", "foreignObject", "use", "filter", "feOffset", "mask", "pattern"])
def test_what_figures_never_hold_is_refused(tag: str) -> None:
    with pytest.raises(PlannerError, match=f"has an element <{tag.lower()}>"):
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


FILTERED = '<filter id="a"><feOffset/></filter><rect width="1e6" height="1e6" filter="url(#a)"/>'


@pytest.mark.parametrize(
    "body",
    [
        r'<rect style="fill:u\72l(http://x/y)"/>',
        r'<rect style="fill:\000075rl(http://x/y)"/>',
        '<rect style="fill:u/**/rl(http://x/y)"/>',
        "<rect style=\"@import 'http://x/y.css'\"/>",
        '<rect style="filter: blur(9px)"/>',
        '<rect filter="url(#a)"/>',
    ],
)
def test_what_hides_an_address_or_a_filter_is_refused(body: str) -> None:
    with pytest.raises(PlannerError, match="figures have no"):
        pdf_of(svg(body))


def test_text_that_a_figure_keeps_of_its_labels_may_hold_anything() -> None:
    body = r'<text data-unformatted="\alpha /* @import filter: */" aria-label="a\b">a</text>'
    assert pdf_of(svg(body)).startswith(b"%PDF-")


@pytest.mark.parametrize("head", ['<?xml-stylesheet href="http://x/y.css"?>', "<?php 1 ?>"])
def test_processing_instructions_are_refused(head: str) -> None:
    with pytest.raises(PlannerError, match="processing instruction"):
        pdf_of(head.encode() + svg("<rect/>"))


def test_the_declaration_of_xml_is_no_instruction() -> None:
    assert pdf_of(b'<?xml version="1.0" encoding="UTF-8"?>' + svg("<rect/>")).startswith(b"%PDF-")


def test_a_drawing_larger_than_a_page_ever_is_is_refused() -> None:
    with pytest.raises(PlannerError, match="The width of the drawing is '1e6': give at most 20,000 pixels"):
        pdf_of(b'<svg xmlns="http://www.w3.org/2000/svg" width="1e6" height="10"/>')


@pytest.mark.parametrize("width", [".", "1.2.3", "", "1e400", "nan", "-1", "٣"])
def test_a_side_that_is_no_number_is_a_sentence(width: str) -> None:
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="1"><rect width="1" height="1"/></svg>'
    if width:
        with pytest.raises(PlannerError, match="The width of the drawing is"):
            pdf_of(drawing.encode())
    else:
        assert pdf_of(drawing.encode()).startswith(b"%PDF-")


def test_a_million_attributes_are_refused_by_the_child() -> None:
    names = " ".join(f'a{i}="{i}"' for i in range(1_000_000))
    with pytest.raises(PlannerError, match=r"download it as SVG instead|figures have no"):
        pdf_of(svg(f"<rect {names}/>"))


def test_too_many_elements_are_refused_while_they_are_read() -> None:
    with pytest.raises(PlannerError, match="more than 100,000 elements"):
        pdf_of(svg("<rect/>" * (MOST_ELEMENTS + 1)))


def test_a_conversion_that_wants_terabytes_ends_its_child_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing of under 200 bytes makes the converter request 13 TB of memory. Only the child process ends."""
    monkeypatch.setattr(pdf, "CHILD", UNCHECKED)
    with pytest.raises(PlannerError, match="could not be turned into a PDF in 512 MB of memory"):
        pdf_of(svg(FILTERED))


def test_a_conversion_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "CHILD", UNCHECKED)
    monkeypatch.setattr(pdf, "SECONDS", 0)
    with pytest.raises(PlannerError, match="takes longer than 0 s"):
        pdf_of(svg("<rect/>"))


def test_what_the_converter_cannot_read_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "CHILD", UNCHECKED)
    with pytest.raises(
        PlannerError, match=r"The drawing could not be turned into a PDF .*: download it as SVG instead"
    ):
        pdf_of(b"<svg")


async def asked(app: Starlette, method: str, path: str, body: bytes = b"") -> int:
    """Send one request to the app and return the status code."""
    said: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        said.append(message.get("status", 0))

    scope = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b"", "root_path": ""}
    await app(scope, receive, send)
    return said[0]


def test_the_server_answers_while_a_drawing_is_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over = threading.Event(), threading.Event()

    def slow(_svg: bytes) -> bytes:
        begun.set()
        over.wait()
        return b"%PDF-"

    monkeypatch.setattr(pdf, "pdf_of", slow)

    async def meanwhile() -> tuple[int, int]:
        app = Starlette(routes=pdf.routes())
        conversion = asyncio.create_task(asked(app, "POST", "/api/pdf", svg("<rect/>")))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        other = await asked(app, "HEAD", "/vendor/plotly.min.js")
        assert not conversion.done()
        over.set()
        return other, await conversion

    assert asyncio.run(meanwhile()) == (200, 200)
