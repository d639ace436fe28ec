"""What a user does with hostile names: upload, save, rename, delete, restore, note, point at help, export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import FilePayload, Locator, Page

from benchmarks.browser import ready
from benchmarks.reliability.names.hostile import NAMES
from benchmarks.reliability.names.space import COLUMNS, Space
from benchmarks.reliability.names.visit import to_page
from benchmarks.reliability.names.watch import Watch, made_of_a_name, names_in

MILLISECONDS = 400
"""Time after which a page that was acted on has at least begun to answer."""
BARE = ("script", "a", "foreignObject", "iframe")
"""Elements that an SVG of a figure has no use for."""
LIVE = re.compile(r"<\w+|!\[|\]\(|\$\w|`|\*\*|~~")
"""Markdown in a text of which the escaped signs are left out."""


def perform(page: Page, address: str, space: Space, watch: Watch, folder: Path) -> None:
    """Do everything, one page after the other, and look at each page before and after."""
    for does in (_upload, _note, _plan, _answer, _ranking, _helps, _sweep):
        does(page, address, space)
        _settle(page)
        watch.look(page, does.__doc__ or "")
    for name in _exports(page, address, space, folder):
        watch.pages += 1
        watch.wrong += [f"{name.name}: {what}" for what in faults(name)]


def faults(file: Path) -> Iterator[str]:
    """What an exported file made of the names in it."""
    text = file.read_text("utf-8")
    if file.suffix == ".svg":
        yield from _drawn(text)
    if file.suffix == ".md":
        live = re.sub(r"\\.", "", text)
        yield from (f"a live {sign} in {line[:80]!r}" for line in live.splitlines() for sign in LIVE.findall(line))
    if file.suffix == ".tex":
        live = re.sub(r"\\[%_&#${}]|\\text\w+\{\}", "", text)
        yield from (f"\\{command}" for command in ("frac", "href", "color", "alpha") if f"\\{command}" in live)


def _drawn(svg: str) -> Iterator[str]:
    for element in ElementTree.fromstring(svg).iter():
        tag = element.tag.rpartition("}")[2]
        if tag in BARE or any(made_of_a_name(value) for value in element.attrib.values()):
            yield f"<{tag}> {element.attrib}"
        if tag == "text":
            shown = "".join(element.itertext())
            yield from (f"{name!r} is {shown!r}" for name, right in names_in(shown) if not right)


def _upload(page: Page, address: str, space: Space) -> None:
    """Data: a file is uploaded"""
    page.goto(f"{address}/data")
    ready(page)
    body = "\n".join([f'"{COLUMNS["N"].replace(chr(34), chr(34) * 2)}",D,loss', *_rows()]).encode()
    file = FilePayload(name=f"{NAMES[19]}.csv", mimeType="text/csv", buffer=body)
    if not page.locator("input[type=file]").count():
        page.get_by_text("Add a table").click()
    page.locator("input[type=file]").first.set_input_files(file)


def _rows() -> Iterator[str]:
    for N in (1e6, 1e7, 1e8):
        for D in (1e8, 1e9, 1e10):
            yield f"{N:g},{D:g},{1.5 + 400 * N**-0.34 + 900 * D**-0.3:.6f}"


def _note(page: Page, address: str, space: Space) -> None:
    """Fit: a note is written, the fit is renamed, deleted and restored"""
    page.goto(f"{address}/{to_page('fit', table=space.table, fit=space.fits['power'])}")
    ready(page)
    page.get_by_label("Notes", exact=True).fill("\n".join(NAMES))
    page.get_by_label("Notes", exact=True).blur()
    _settle(page)
    _renamed(page, NAMES[14])
    page.get_by_text("All of them (").click()


def _plan(page: Page, address: str, space: Space) -> None:
    """Plan: a plan is saved, renamed, deleted and restored, and its result is written down"""
    page.goto(f"{address}/{to_page('plan', fit=space.fits['metric'], budget='1e20')}")
    ready(page)
    page.get_by_label("Name of the plan").fill(NAMES[34])
    page.get_by_role("button", name="Save the plan").click()
    _settle(page)
    page.get_by_role("button", name="The run is done").first.click()
    page.get_by_label("Result", exact=True).fill("1.9")
    page.get_by_label("Note", exact=True).fill(NAMES[35])
    page.get_by_role("button", name="Put it beside the plan").click()
    _settle(page)
    _renamed(page, NAMES[5])


def _renamed(page: Page, name: str) -> None:
    """Rename what the first menu manages, then delete and restore it."""
    page.get_by_role("button", name="Manage").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Rename").click()
    _settle(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Manage").first.click()
    page.get_by_role("button", name="Delete", exact=True).click()
    _settle(page)
    page.get_by_text(re.compile(r"^Deleted \w+ \(")).first.click()
    page.get_by_role("button", name="Restore").first.click()
    _settle(page)


def _answer(page: Page, address: str, space: Space) -> None:
    """Precision: an answer is saved"""
    page.goto(f"{address}/precision")
    ready(page)
    page.get_by_label("Name of the answer").fill(NAMES[8])
    page.get_by_role("button", name="Save the answer").click()


def _ranking(page: Page, address: str, space: Space) -> None:
    """Fit: all laws are compared"""
    page.goto(f"{address}/{to_page('fit', table=space.table, fit=space.fits['metric'], part='Compare laws')}")
    ready(page)
    page.get_by_test_id("stMain").get_by_role("button", name="Compare laws", exact=True).click()


def _helps(page: Page, address: str, space: Space) -> None:
    """Fit: parameters of a typed formula, their help, and a menu"""
    formula = f'E + A/N^alpha + __a__*"{COLUMNS["hyper"]}"'
    page.goto(f"{address}/{to_page('fit', table=space.table, law='formula', formula=formula)}")
    ready(page)
    page.get_by_text("Refits, seed, fixed parameters").click()
    _settle(page)
    for icon in page.get_by_test_id("stTooltipHoverTarget").all()[:12]:
        icon.hover()
    page.get_by_role("combobox", name="Run table").click()


def _sweep(page: Page, address: str, space: Space) -> None:
    """Train: a family and a sweep are chosen, a grid is typed"""
    page.goto(f"{address}/{to_page('train', family='named')}")
    ready(page)
    if not page.get_by_label("Name", exact=True).is_visible():
        page.get_by_text("New grid").click()
        _settle(page)
    page.get_by_label("Name", exact=True).fill(NAMES[29])
    page.get_by_label("Name", exact=True).blur()


def _exports(page: Page, address: str, space: Space, folder: Path) -> Iterator[Path]:
    page.goto(f"{address}/{to_page('explore', fit=space.fits['metric'])}")
    ready(page)
    page.get_by_role("button", name="Download", exact=True).first.click()
    yield _saved(page, page.get_by_role("button", name="SVG", exact=True), folder / "surface.svg")
    page.goto(f"{address}/{to_page('data', table=space.table, show='Agreement')}")
    ready(page)
    page.get_by_role("button", name="Download", exact=True).first.click()
    yield _saved(page, page.get_by_role("button", name="SVG", exact=True), folder / "agreement.svg")
    page.goto(f"{address}/{to_page('plan', fit=space.fits['surface'], maps=space.fits['map'], budget='1e20')}")
    ready(page)
    for kind, ending in (("Markdown", "md"), ("LaTeX", "tex"), ("Python", "py"), ("JSON", "json")):
        button = page.get_by_test_id("stMain").get_by_role("button", name=kind, exact=True)
        yield _saved(page, button.last, folder / f"plan.{ending}")


def _saved(page: Page, button: Locator, file: Path) -> Path:
    with page.expect_download() as waiting:
        button.click()
    waiting.value.save_as(file)
    return file


def _settle(page: Page) -> None:
    page.wait_for_timeout(MILLISECONDS)
    ready(page)
