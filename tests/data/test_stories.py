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
from isoplan.engine.planning.plan.metric import through
from isoplan.engine.planning.plan.target import plan_target
from isoplan.engine.planning.scenario.typed_prices import read_prices
from isoplan.engine.planning.story.screens import tell
from isoplan.engine.store.database.database import Database, memory
from tests.engine.planning.story.test_screens import check

SAVINGS = {
    "jets": "With ten times more jets, the same QCD rejection costs 35,700 EUR; the plan saves 31,200 EUR (87 %). "
    "The next 1,000 EUR raise it from 5,000 to 5,346.",
    "recommender": "With a model four times as large, the same recall@10 costs 33.8 EUR; the plan saves 10.9 EUR "
    "(32 %). The next 1,000 EUR raise it from 0.66 to 0.706.",
    "amplitudes": "Ten times more points, to be safe, would cost 25,300 EUR; the plan saves 22,800 EUR (90 %). "
    "The next 1,000 EUR lower it from 0.0001 to 7.26 × 10⁻⁵.",
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
    assert len(story.screens[3].steps) > 20
    assert len(domain.text.split()) <= 15


def test_a_story_that_is_not_bundled_is_named() -> None:
    with pytest.raises(PlannerError, match=r"'tops' is not a bundled story\. Choose one of jets, recommender, ampl"):
        find_domain("tops")
