"""Actions of a user with hostile names: upload, save, rename, delete, restore, write notes, open help, export."""

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
"""Time in milliseconds to wait after an action, so that the page has begun to update."""
BARE = ("script", "a", "foreignObject", "iframe")
"""Elements that the SVG file of a figure must not contain."""
LIVE = re.compile(r"<\w+|!\[|\]\(|\$\w|`|\*\*|~~")
"""Pattern of Markdown syntax. It is searched in a text from which escaped characters were removed."""


def perform(page: Page, address: str, space: Space, watch: Watch, folder: Path) -> None:
    """Do all actions, check the page after each one, and then check the exported files."""
    for act in (_upload, _note, _plan, _answer, _ranking, _helps, _sweep):
        act(page, address, space)
        _settle(page)
        watch.look(page, (act.__doc__ or "").rstrip("."))
    for file in _exports(page, address, space, folder):
        watch.pages += 1
        watch.wrong += [f"{file.name}: {fault}" for fault in faults(file)]


def faults(file: Path) -> Iterator[str]:
    """Yield a message for each place in an exported file where a name acts as markup or is changed."""
    text = file.read_text("utf-8")
    if file.suffix == ".svg":
        yield from _svg_faults(text)
    if file.suffix == ".md":
        live = re.sub(r"\\.", "", text)
        yield from (f"a live {sign} in {line[:80]!r}" for line in live.splitlines() for sign in LIVE.findall(line))
    if file.suffix == ".tex":
        live = re.sub(r"\\[%_&#${}]|\\text\w+\{\}", "", text)
        yield from (f"\\{command}" for command in ("frac", "href", "color", "alpha") if f"\\{command}" in live)


def _svg_faults(svg: str) -> Iterator[str]:
    for element in ElementTree.fromstring(svg).iter():
        tag = element.tag.rpartition("}")[2]
        if tag in BARE or any(made_of_a_name(value) for value in element.attrib.values()):
            yield f"<{tag}> {element.attrib}"
        if tag == "text":
            shown = "".join(element.itertext())
            yield from (f"{name!r} is shown as {shown!r}" for name, right in names_in(shown) if not right)


def _upload(page: Page, address: str, space: Space) -> None:
    """Upload a file on the page Data."""
    page.goto(f"{address}/data")
    ready(page)
    body = "\n".join([f'"{COLUMNS["N"].replace(chr(34), chr(34) * 2)}",D,loss', *_rows()]).encode()
    file = FilePayload(name=f"{NAMES[19]}.csv", mimeType="text/csv", buffer=body)
    if not page.locator("input[type=file]").count():
        page.get_by_text("Upload runs").click()
    page.locator("input[type=file]").first.set_input_files(file)


def _rows() -> Iterator[str]:
    for N in (1e6, 1e7, 1e8):
        for D in (1e8, 1e9, 1e10):
            yield f"{N:g},{D:g},{1.5 + 400 * N**-0.34 + 900 * D**-0.3:.6f}"


def _note(page: Page, address: str, space: Space) -> None:
    """On the page Fit: write a note, and rename, delete and restore the fit."""
    page.goto(f"{address}/{to_page('fit', table=space.table, fit=space.fits['power'])}")
    ready(page)
    page.get_by_label("Notes", exact=True).fill("\n".join(NAMES))
    page.get_by_label("Notes", exact=True).blur()
    _settle(page)
    _rename_and_restore(page, NAMES[14])
    page.get_by_text("All of them (").click()


def _plan(page: Page, address: str, space: Space) -> None:
    """On the page Plan: save a plan and record its result; rename, delete and restore the plan."""
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
    _rename_and_restore(page, NAMES[5])


def _rename_and_restore(page: Page, name: str) -> None:
    """Rename the item of the first menu "Manage" to ``name``. Then delete and restore it."""
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
    """Save an answer on the page Precision."""
    page.goto(f"{address}/precision")
    ready(page)
    page.get_by_label("Name of the answer").fill(NAMES[8])
    page.get_by_role("button", name="Save the answer").click()


def _ranking(page: Page, address: str, space: Space) -> None:
    """Compare all laws on the page Fit."""
    page.goto(f"{address}/{to_page('fit', table=space.table, fit=space.fits['metric'], part='Compare laws')}")
    ready(page)
    page.get_by_test_id("stMain").get_by_role("button", name="Compare laws", exact=True).click()


def _helps(page: Page, address: str, space: Space) -> None:
    """On the page Fit: type a formula, open the help of its parameters, and open a menu."""
    formula = f'E + A/N^alpha + __a__*"{COLUMNS["hyper"]}"'
    page.goto(f"{address}/{to_page('fit', table=space.table, law='formula', formula=formula)}")
    ready(page)
    page.get_by_text("More settings").click()
    _settle(page)
    for icon in page.get_by_test_id("stTooltipHoverTarget").all()[:12]:
        icon.hover()
    page.get_by_role("combobox", name="Run table").click()


def _sweep(page: Page, address: str, space: Space) -> None:
    """On the page Train: choose a family and type the name of a grid."""
    page.goto(f"{address}/{to_page('train', family='named')}")
    ready(page)
    page.get_by_text("More settings").click()
    _settle(page)
    page.get_by_label("Name of the sweep", exact=True).fill(NAMES[29])
    page.get_by_label("Name of the sweep", exact=True).blur()


def _exports(page: Page, address: str, space: Space, folder: Path) -> Iterator[Path]:
    page.goto(f"{address}/{to_page('explore', fit=space.fits['metric'])}")
    ready(page)
    page.get_by_role("button", name="Download", exact=True).first.click()
    yield _download(page, page.get_by_role("button", name="SVG", exact=True), folder / "surface.svg")
    page.goto(f"{address}/{to_page('data', table=space.table, show='Agreement')}")
    ready(page)
    page.get_by_role("button", name="Download", exact=True).first.click()
    yield _download(page, page.get_by_role("button", name="SVG", exact=True), folder / "agreement.svg")
    page.goto(f"{address}/{to_page('plan', fit=space.fits['surface'], maps=space.fits['map'], budget='1e20')}")
    ready(page)
    for kind, ending in (("Markdown", "md"), ("LaTeX", "tex"), ("Python", "py"), ("JSON", "json")):
        button = page.get_by_test_id("stMain").get_by_role("button", name=kind, exact=True)
        yield _download(page, button.last, folder / f"plan.{ending}")


def _download(page: Page, button: Locator, file: Path) -> Path:
    with page.expect_download() as waiting:
        button.click()
    waiting.value.save_as(file)
    return file


def _settle(page: Page) -> None:
    page.wait_for_timeout(MILLISECONDS)
    ready(page)
