"""Bundled stories: each bundled fit equals a new fit of its table, and every sentence has at most 40 words."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from benchmarks.bundled.stories import make_fits
from isoplan.app.bundled import load_bundled
from isoplan.data.stories import DOMAINS, Domain, find_domain, read_fits
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import read_fit
from isoplan.engine.planning.drawing.cost_curve import CostCurve
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.planning.story.screens import tell
from isoplan.engine.store.database.database import Database, memory
from tests.engine.planning.story.test_screens import assert_in_axis, check

SAVINGS = {
    "jets": "The plan costs 4,560 EUR, 87 % less than the same QCD rejection with ten times more jets (35,700 EUR). "
    "The next 1,000 EUR raise the QCD rejection from 5,000 to 5,350.",
    "recommender": "The plan costs 22.9 EUR, 32 % less than the same recall@10 with a model four times as large "
    "(33.8 EUR). The next 1,000 EUR raise the recall@10 from 0.660 to 0.706 (extrapolated).",
    "amplitudes": "The plan costs 2,530 EUR, 90 % less than with ten times more points to be safe (25,300 EUR). "
    "The next 1,000 EUR lower the squared error from 0.000100 to 0.000073 (extrapolated).",
}


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with memory() as database:
        load_bundled(database)
        yield database


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda one: one.key)
def test_the_bundled_fits_are_those_of_the_bundled_tables(domain: Domain, db: Database) -> None:
    for made, kept in zip(make_fits(db, domain), read_fits(domain), strict=False):
        again = read_fit(json.loads(json.dumps(made)))
        assert kept is not None
        assert kept.hash == again.hash
        assert kept.theta == pytest.approx(again.theta, rel=1e-6)
        for one, other in zip(kept.parameters, again.parameters, strict=True):
            assert one.ci68 == pytest.approx(other.ci68, rel=1e-3)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda one: one.key)
def test_every_sentence_is_short_and_names_the_target(domain: Domain) -> None:
    law, map = read_fits(domain)
    pair = None if map is None else through(law, map)
    plan = plan_target(law, domain.target, prices=read_prices(domain.prices, "python"), map=pair)
    story = tell(law, plan, map=pair, title=domain.story, words=domain.words, stated=domain.stated)
    check(story)
    assert f"of {domain.target:,g} costs " in story.screens[3].sentence
    assert " EUR" in story.screens[3].sentence
    assert story.screens[4].sentence.startswith(SAVINGS[domain.key])
    assert_in_axis(story)
    law_picture = story.screens[2].picture
    assert isinstance(law_picture, CostCurve)
    assert law_picture.plan is not None
    assert law_picture.plan.y == pytest.approx(domain.target, rel=1e-3)
    assert len(story.screens[3].steps) > 20
    assert len(domain.text.split()) <= 15


def test_a_story_that_is_not_bundled_is_named() -> None:
    with pytest.raises(PlannerError, match=r"'tops' is not a bundled story\. Choose one of jets, recommender, ampl"):
        find_domain("tops")
