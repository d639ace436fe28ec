"""Reliability of a plan in words: the page, the report, the terminal and the story use the same words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isoplan.data.stories import DOMAINS, Domain, read_fits
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.budget import plan_budget
from isoplan.engine.planning.plan.document import as_text
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.reliability import UNSURE, reliability, sureness, sureness_of
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.planning.story.screens import tell


@pytest.mark.parametrize(
    ("q", "words"),
    [
        (Quantity(10.0, (9.9, 10.1)), "a precise estimate"),
        (Quantity(10.0, (9.2, 10.8)), "a good estimate"),
        (Quantity(10.0, (8.0, 12.0)), "a rough estimate"),
        (Quantity(10.0, (2.0, 22.0)), UNSURE),
        (Quantity(10.0, (2.0, float("inf"))), UNSURE),
        (Quantity(10.0), UNSURE),
    ],
)
def test_an_interval_in_words(q: Quantity, words: str) -> None:
    assert sureness(q) == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (Quantity(10.0, (9.9, 10.1)), "a precise estimate"),
        (Quantity(10.0, (8.0, 12.0)), "a rough estimate"),
        (Quantity(10.0, (2.0, 22.0), note="given"), "a precise estimate"),
        (Quantity(10.0), "a precise estimate"),
    ],
)
def test_the_wider_interval_decides_the_word(cost: Quantity, words: str) -> None:
    assert sureness(Quantity(10.0, (9.9, 10.1)), cost) == words


def test_the_word_of_a_plan_describes_what_it_answers(epoch: Fit) -> None:
    budget, target = plan_budget(epoch, 1e20), plan_target(epoch, 2.5)
    assert sureness_of(budget) == f"{sureness(budget.allocation['loss'])} of loss"
    assert sureness_of(target) == f"{sureness(target.allocation['C'])} of the cost"
    assert reliability(budget) == f"inside the runs, {sureness_of(budget)}"
    assert f"Reliability: {reliability(budget)}." in as_text(budget).splitlines()


def test_a_plan_without_a_word(epoch: Fit) -> None:
    """An extrapolated plan is not called precise, and a plan without an interval or an answer has no word."""
    far = plan_budget(epoch, 6e23)
    assert sureness(far.allocation["loss"]) in ("a precise estimate", "a good estimate")
    assert reliability(far) == "extrapolated 1 decade (10 times)"
    unsupported = plan_budget(epoch, 1e30)
    assert reliability(unsupported) == "not supported"
    assert "Reliability" not in as_text(unsupported)
    bare = replace(epoch, resamples=epoch.resamples[:0])
    assert reliability(plan_budget(bare, 1e20)) == "inside the runs"


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda one: one.key)
def test_a_story_has_the_word_of_its_plan(domain: Domain) -> None:
    law, of_metric = read_fits(domain)
    map = None if of_metric is None else through(law, of_metric)
    plan = plan_target(law, domain.target, prices=read_prices(domain.prices, "python"), map=map)
    story = tell(law, plan, map=map, words=domain.words, stated=domain.stated)
    word = sureness_of(plan).removesuffix(" of the cost")
    for screen in story.screens[2:4]:
        assert ("estimate" in screen.sentence) is bool(word)
        assert word in screen.sentence
