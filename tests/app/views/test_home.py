"""The page Home: it shows the demo or the newest plan, offers stories, and lists the contents of the workspace."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from isoplan.data.catalogue import PUBLISHED
from isoplan.data.stories import DOMAINS
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import tables
from tests.app.views.conftest import Open, grid, told


def hero(at: AppTest) -> str:
    """Return the first sentence on Home."""
    (found,) = (text for one in at.get("html") if (text := str(getattr(one, "value", ""))).startswith("<p"))
    return found.removeprefix('<p class="isoplan-hero">').removesuffix("</p>").replace("\u00a0", " ")


def labels(at: AppTest) -> list[str]:
    """Return the labels of all buttons on the page."""
    return [b.label for b in at.button]


def test_a_blank_workspace_opens_on_the_demo_and_three_buttons(demo: Database, open_page: Open) -> None:
    at = open_page("home")
    assert told(at) == ""
    assert hero(at).startswith("A QCD rejection of 5,000 costs ")
    assert labels(at) == ["Upload runs", "Watch the story", "Open the demo"]
    assert [h.value for h in at.subheader] == [*(domain.title for domain in DOMAINS), "Other"]
    assert [e.label for e in at.expander] == [f"{len(PUBLISHED)} published run tables"]
    assert not results.fits(demo)


def test_the_newest_plan_is_shown_and_its_story_is_one_click(jets: str, demo: Database, open_page: Open) -> None:
    plan = plan_budget(results.fit(demo, jets), 1e15)
    key = results.save_plan(demo, plan, "My plan")
    at = open_page("home")
    assert told(at) == ""
    assert hero(at).startswith("10¹⁵ FLOPs buy a loss of ")
    assert any("A saved plan of this workspace: My plan." in str(c.value) for c in at.caption)
    at = next(b for b in at.button if b.label == "Watch the story").click().run()
    assert at.query_params["plan"] == key
    assert at.title[0].value == "My plan"


def test_a_plan_without_a_story_leaves_the_demo(jets: str, demo: Database, open_page: Open) -> None:
    results.save_plan(demo, plan_budget(results.fit(demo, jets), 1e30), "Far")
    at = open_page("home")
    assert told(at) == ""
    assert hero(at).startswith("A QCD rejection of 5,000 costs ")


def test_own_tables_come_first_and_all_of_them(demo: Database, open_page: Open) -> None:
    for i in range(7):
        tables.add(demo, grid() + f"\n{i + 2}e6,1e9,{3 + i}".encode(), f"mine {i}.csv")
    at = open_page("home")
    headers = [h.value for h in at.header]
    assert headers.index("Your run tables (7)") < headers.index(f"Run tables that come with Isoplan ({20})")
    assert labels(at)[:2] == ["Fit a law", "Upload runs"]
