"""Stories of the bundled domains. A story has a title, a question, a run table, a fit, a target and prices.

All pages read the titles of the domains from this module. The prices of a story are examples with stated assumptions.
Every other number of a story comes from the fit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from isoplan.data.catalogue import AMPLITUDES, DEMOS, Demo, path
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.planning.story.sentences import Stated, Words

__all__ = ["DEMO", "DOMAINS", "Domain", "find_domain", "read_fits"]


@dataclass(frozen=True)
class Domain:
    """A domain and its story.

    ``key`` is the task of the domain's tables, and the name of the domain in links. ``title`` is the name of the domain
    on pages. ``icon`` is a Material symbol, and ``text`` is the text of the domain's card. The story fits ``spec`` to
    the rows ``where`` of the bundled table ``demo``. If ``map_spec`` is given, it specifies a map from the loss to a
    metric, and ``target`` is a value of this metric. ``prices`` contains the typed value of each input field, by name.
    ``assumed`` states the source of the prices. ``source`` states the source of the runs.
    """

    key: str
    title: str
    icon: str
    text: str
    story: str
    demo: Demo
    spec: FitSpec
    target: float
    words: Words
    stated: Stated
    prices: Mapping[str, str]
    assumed: str
    source: str
    where: str = ""
    map_spec: FitSpec | None = None

    @property
    def note(self) -> str:
        """The sentences on the assumed prices and on the source of the runs, as one text."""
        return f"{self.assumed} {self.source}"


REFITS = 400
"""Number of resamples of each fit of a story. With this number, a fit has a JSON file of less than 60 kB."""
JETS, SWEEP = DEMOS[0], DEMOS[1]
DOMAINS = (
    Domain(
        "jets",
        "Jets",
        "scatter_plot",
        "How many jets to simulate for a top tagger.",
        "A top tagger that rejects 5,000 QCD jets for each one that it keeps",
        JETS,
        JETS.spec.model_copy(update={"bootstrap": REFITS}),
        5000,
        Words(
            "QCD rejection",
            "jets",
            "A top tagger should reject 5,000 QCD jets for each one that it keeps. What is the cheapest way?",
        ),
        Stated(10.0, "D"),
        {
            "device": "A100 80GB",
            "hour_price": "1.5",
            "utilisation": "3%",
            "sample_price": "1e-4",
            "queries": "1.8e11",
            "query_tokens": "40",
        },
        "Assumed prices: 1.50 EUR per hour of A100 at 3 % of its peak, 0.0001 EUR to simulate a jet (12 s of one core "
        "at 0.03 EUR per hour), and 1.8 × 10¹¹ jets of 40 particles that the tagger classifies over its life.",
        "The runs are simulated: losses of the published law of jet tagging with 1 % noise.",
        map_spec=FitSpec(law="metric-map", y="R_top", axis="loss", objective="ols-log", bootstrap=REFITS),
    ),
    Domain(
        "recommender",
        "Recommender",
        "recommend",
        "What a higher recall costs, and how large the model is.",
        "A recommender with a recall@10 of 0.66",
        SWEEP,
        FitSpec(law="chinchilla", bootstrap=REFITS),
        0.66,
        Words(
            "recall@10",
            "events",
            "A recommender should have a recall@10 of 0.66. What does training cost, and how large is the model?",
        ),
        Stated(4.0, "N"),
        {"device": "H100", "hour_price": "2.5", "utilisation": "20%"},
        "Assumed prices: 2.50 EUR per hour of H100 at 20 % of its peak.",
        "The runs are simulated: losses around the published optima with 0.2 % noise.",
        map_spec=FitSpec(law="metric-map", y="recall@10", axis="loss", objective="ols", bootstrap=REFITS),
    ),
    Domain(
        "amplitudes",
        "Amplitudes",
        "functions",
        "How many expensive points a surrogate needs.",
        "A surrogate of Zggg with an error of 1 % (squared error 0.0001)",
        AMPLITUDES[0],
        AMPLITUDES[0].spec.model_copy(update={"share": (), "bootstrap": REFITS}),
        1e-4,
        Words(
            "squared error",
            "points",
            "A surrogate of the amplitude Zggg should have an error of 1 %, that is a squared error of 0.01² = 0.0001. "
            "How many points does it need?",
        ),
        Stated(10.0, "D"),
        {"device": "CPU node", "hour_price": "1", "sample_price": "0.03"},
        "Assumed price: 0.03 EUR per training point, one hour of one core, as for an amplitude with two loops.",
        "Isoplan trained the runs on events that it simulated.",
        where="process = 'Zggg'",
    ),
)
"""All domains in the order of the lists on pages."""
DEMO = DOMAINS[0]
"""Domain of the demo. Home shows the figure of this domain; the button "Open the demo" opens its plan."""


def read_fits(domain: Domain) -> tuple[Fit, Fit | None]:
    """Return the bundled fit and the bundled map of a story. The map is None if the story has none.

    ``python -m benchmarks.bundled.stories`` writes fits and maps. A test repeats the fits.
    """
    law, *maps = (read_fit(raw) for raw in json.loads(path(f"fits/{domain.key}.json").read_text(encoding="utf-8")))
    return law, maps[0] if maps else None


def find_domain(key: str) -> Domain:
    """Return the domain with this key. If there is none, raises PlannerError that lists all keys."""
    found = next((one for one in DOMAINS if one.key == key), None)
    if found is None:
        known = ", ".join(one.key for one in DOMAINS)
        raise PlannerError(f"Story: {key!r} is not a bundled story. Choose one of {known}.")
    return found
