"""The page Story: bundled stories, stories of saved plans and fits, and links with unknown values."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from isoplan.data.stories import DOMAINS, Domain
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.story.sentences import MOST_WORDS
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from tests.app.views.conftest import Open, said, told

START = '<p class="isoplan-sentence">'


def sentence(at: AppTest) -> str:
    """Return the main sentence of the current screen of the story."""
    (found,) = (text for one in at.get("html") if (text := str(getattr(one, "value", ""))).startswith(START))
    return found.removeprefix(START).removesuffix("</p>").replace("\u00a0", " ")


def button(at: AppTest, label: str) -> Button:
    return next(b for b in at.button if b.label == label)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda one: one.key)
def test_a_story_is_stepped_through_from_start_to_end(demo: Database, open_page: Open, domain: Domain) -> None:
    at = open_page("story", story=domain.key)
    assert at.title[0].value == domain.story.replace("@", r"\@") or domain.story in at.title[0].value
    seen = [sentence(at)]
    assert button(at, "Previous").disabled
    for number in range(2, 6):
        at = button(at, "Next").click().run()
        assert told(at) == ""
        assert at.query_params["screen"] == str(number)
        seen.append(sentence(at))
    assert len(set(seen)) == 5
    assert all(len(text.split()) <= MOST_WORDS for text in seen)
    assert button(at, "Next").disabled
    at = button(at, "Previous").click().run()
    assert sentence(at) == seen[3]


def test_another_story_starts_with_its_first_screen(demo: Database, open_page: Open) -> None:
    at = open_page("story", story="jets", screen="4", money="3800")
    at = button(at, "Story: Recommender").click().run()
    assert dict(at.query_params) == {"story": "recommender"}
    assert sentence(at).startswith("A recommender should have a recall@10 of 0.66.")
    at = button(at, "Next").click().run()
    assert at.query_params["screen"] == "2"
    assert "events" in sentence(at)


def test_the_slider_of_money_moves_the_sentence(demo: Database, open_page: Open) -> None:
    at = open_page("story", story="jets", screen="4")
    before = sentence(at)
    assert before.startswith("A QCD rejection of 5,000 costs")
    slider = at.select_slider(key="spend_jets")
    at = slider.set_value(int(str(slider.value)) + 3).run()
    assert " EUR buy a QCD rejection of 5," in sentence(at)


def test_the_money_of_the_slider_is_in_the_link(demo: Database, open_page: Open) -> None:
    at = open_page("story", story="jets", screen="4", money="3800")
    assert sentence(at).startswith("3,800 EUR buy a QCD rejection of ")
    assert told(at) == ""
    details = [str(getattr(one, "value", "")).replace("\u00a0", " ") for one in at.get("html")]
    assert any(">Simulation 2,960 EUR, inference 841 EUR, training 0.4" in text for text in details)
    assert any("The runs are simulated" in str(one.value) for one in at.caption)
    slider = at.select_slider(key="spend_jets")
    assert at.query_params["money"] in ("3800", ["3800"])
    at = slider.set_value(int(str(slider.value)) - 3).run()
    assert at.query_params["money"] not in ("3800", ["3800"])
    at = button(at, "Next").click().run()
    assert dict(at.query_params) == {"story": "jets", "screen": "5"}
    assert sentence(at).startswith("The plan costs 4,560 EUR, ")


@pytest.mark.parametrize("money", ["much", "-1", "1e9", "nan"])
def test_money_that_is_not_possible_is_named(demo: Database, open_page: Open, money: str) -> None:
    at = open_page("story", story="jets", screen="4", money=money)
    assert f"Money: {money} is not a number from " in said(at)
    assert sentence(at).startswith("A QCD rejection of 5,000 costs 4,560 EUR")


def test_a_saved_plan_becomes_a_story(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    fit = results.fit(demo, jets)
    plan = plan_target(fit, 3000.0, map=through(fit, results.fit(demo, r_top)))
    key = results.save_plan(demo, plan, "Rejection 3,000")
    at = open_page("story", plan=key, screen="4")
    assert told(at) == ""
    assert at.title[0].value == "Rejection 3,000"
    assert sentence(at).startswith("A R_top of 3,000 costs")
    assert "FLOPs" in sentence(at)


def test_a_saved_fit_becomes_a_story(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("story", fit=jets)
    assert told(at) == ""
    assert sentence(at).startswith("How good can the loss become for ")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ({"story": "tops"}, "'tops' is not a bundled story. Choose one of jets, recommender, amplitudes."),
        ({"plan": "0123456789ab"}, "0123456789ab"),
        ({"fit": "0123456789ab"}, "0123456789ab"),
    ],
)
def test_a_story_that_does_not_exist_is_named(
    demo: Database, open_page: Open, query: dict[str, str], error: str
) -> None:
    at = open_page("story", **query)
    assert error in told(at)
    assert sentence(at).startswith("A top tagger should reject 5,000")


@pytest.mark.parametrize("screen", ["0", "6", "two"])
def test_a_screen_that_does_not_exist_is_named(demo: Database, open_page: Open, screen: str) -> None:
    at = open_page("story", story="jets", screen=screen)
    assert f"Screen: {screen} is not a number from 1 to 5. Screen 1 is shown." in said(at)
    assert sentence(at).startswith("A top tagger should reject 5,000")


def test_a_map_and_a_far_plan_have_no_story(jets: str, r_top: str, demo: Database, open_page: Open) -> None:
    assert "does not determine the cost" in told(open_page("story", fit=r_top))
    far = results.save_plan(demo, plan_budget(results.fit(demo, jets), 1e30), "Far")
    assert "the runs do not support this plan" in told(open_page("story", plan=far))


def test_without_bundled_tables_the_law_is_shown_alone(db: Database, open_page: Open) -> None:
    at = open_page("story", story="recommender", screen="2")
    assert told(at) == ""
    assert "not in this workspace" in sentence(at)


def test_a_plan_becomes_a_story_from_its_answer_and_from_the_list(jets: str, demo: Database, open_page: Open) -> None:
    at = open_page("plan", fit=jets, budget="1e15")
    at = button(at, "Make a story of this plan").click().run()
    assert told(at) == ""
    (saved,) = results.plans(demo)
    assert at.query_params["plan"] == saved.hash
    assert sentence(at).startswith("How good can the loss become for 10¹⁵ FLOPs?")
    listed = open_page("plan", fit=jets)
    assert any(f"story?plan={saved.hash}" in str(getattr(one, "value", "")) for one in listed.get("html"))
