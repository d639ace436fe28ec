"""Two routes that figure downloads need: conversion of SVG to PDF, and the file of plotly.js."""

from __future__ import annotations

import asyncio
from pathlib import Path

import plotly
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from isoplan.engine import limited
from isoplan.engine.errors import PlannerError

MAX_SVG_BYTES = 20_000_000
SECONDS, MEGABYTES = 10, 512
"""Limits of one conversion: time in seconds and memory in MB."""
CHILD = Path(__file__).with_name("svg.py")
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

_conversions = asyncio.Semaphore(2)


def pdf_of(svg: bytes) -> bytes:
    """Convert a drawing to a PDF page and return the PDF file. One pixel of the drawing becomes one point (1/72 inch).

    Raises PlannerError if ``isoplan.app.serving.svg`` refuses the drawing, or if check and conversion together need
    more than ``SECONDS`` or ``MEGABYTES``.
    """
    if len(svg) > MAX_SVG_BYTES:
        raise PlannerError(f"The drawing has more than {MAX_SVG_BYTES // 10**6} MB: download it as SVG instead.")
    try:
        return limited.run(CHILD, given=svg, seconds=SECONDS, megabytes=MEGABYTES)
    except limited.Exceeded:
        raise PlannerError(
            f"The drawing takes longer than {SECONDS} s to turn into a PDF: download it as SVG instead."
        ) from None
    except limited.Failed as error:
        memory = f"The drawing could not be turned into a PDF in {MEGABYTES} MB of memory: download it as SVG instead."
        raise PlannerError(str(error) or memory) from None


async def _pdf(request: Request) -> Response:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_SVG_BYTES:
            break
    try:
        async with _conversions:
            made = await run_in_threadpool(pdf_of, bytes(body))
    except PlannerError as error:
        return PlainTextResponse(str(error), 400)
    return Response(made, media_type="application/pdf")


async def _plotly(_request: Request) -> Response:
    return FileResponse(PLOTLY_JS, media_type="text/javascript", headers={"Cache-Control": "max-age=86400"})


def routes() -> list[Route]:
    """Return two routes: the conversion to PDF, and plotly.js, which draws the figure that is downloaded."""
    return [Route("/api/pdf", _pdf, methods=["POST"]), Route("/vendor/plotly.min.js", _plotly)]
