"""Links and pictures of the documentation exist, and the index lists every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub creates for the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target + anchor


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    listed = {target for target, _ in LINK.findall(index.read_text(encoding="utf-8"))}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - listed - {"index.md"} == set()
