"""Recipe as a document, and conversion of its evidence to and from JSON.

The JSON of the evidence contains the optima of all sweeps, and the fits with the resamples behind every interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, get_args

from isoplan.engine.costs import ComputeRule
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.cards import to_json as fit_json
from isoplan.engine.fitting.types.optimum_location import Place
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.document import Document, Line
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import call, literal, script
from isoplan.engine.planning.questions.answer import Answer
from isoplan.engine.planning.recommender.cards import Cards, make_cards
from isoplan.engine.planning.recommender.choice import LABELS, SETTINGS
from isoplan.engine.planning.recommender.columns import metric_names
from isoplan.engine.planning.recommender.evidence import Evidence, with_fallback
from isoplan.engine.planning.recommender.joint import differences, join_metrics, joint_table
from isoplan.engine.planning.recommender.ranking import rank_costs
from isoplan.engine.planning.recommender.recipe import Recommendation, Settings, recommend
from isoplan.engine.planning.recommender.settings import Stage2
from isoplan.engine.planning.recommender.sweep import Optimum
from isoplan.engine.planning.recommender.text import as_text, remarks, sentence, setting_lines, shown, to_json
from isoplan.engine.quantities import power10

HOMES = {
    name: "isoplan.engine.planning.recommender"
    for name in ("LearningRate", "Settings", "Stage2", "as_text", "read_evidence", "recommend", "with_fallback")
} | {
    "find_device": "isoplan.engine.hardware",
    "published_evidence": "isoplan.data.recommender",
}


NUMBERS = ("budget", "low", "high")
"""Fields of an optimum that can be NaN. JSON contains null in place of NaN."""


def reply(
    budget: float,
    metric: str,
    own: Evidence,
    printed: Evidence | None,
    settings: Settings,
    rule: ComputeRule | None,
    spent: str = "",
) -> Answer:
    """Return the answer with the recipe for ``metric``, from the user's ``own`` evidence.

    ``metric`` may contain several metrics, separated by commas. The first is the serving metric. The sentence states in
    which settings the other metrics differ. ``printed`` is the evidence of the papers, which completes ``own``; None
    omits it. ``spent`` states how the budget was read; the document contains it. Raises PlannerError under the
    conditions of ``recommend``.
    """
    evidence = own if printed is None else with_fallback(own, printed)
    served, *others = metric_names(metric)
    answer = recommend(evidence, budget, served, settings, rule)
    names = tuple(dict.fromkeys((answer.served, *(evidence.known(one) for one in others))))
    name = f"{', '.join(names)} at {power10(answer.budget)} FLOPs"
    cards = make_cards(answer, evidence, own, names)
    written = as_document(answer, own, printed is not None, cards=cards, spent=spent)
    text = as_text(answer, written.sentence, names, joint_table(join_metrics(cards)))
    return Answer(answer, text, written, answer.recipe.warnings, name)


def as_document(
    answer: Recommendation,
    own: Evidence,
    published: bool,
    file: str = "recipe.json",
    cards: Cards | None = None,
    spent: str = "",
) -> Document:
    """Return ``answer`` as a document: first settings and costs for the serving metric, then the other metrics.

    ``own`` is the evidence of the user's runs. The JSON of the document contains ``own``, and the script reads it from
    ``file``. ``published`` is True if results printed in the papers complete ``own``. ``cards`` are the cards of the
    requested metrics. ``spent`` states how the budget was read.
    """
    recipe = answer.recipe
    said = " ".join(filter(None, (sentence(answer), differences(cards) if cards else "")))
    body = to_json(answer) | ({"evidence": evidence_json(own)} if own.metrics else {})
    joint = join_metrics(cards) if cards else ()
    body |= {"sentence": said, "cards": [card.to_json() for one in cards.values() for card in one]} if cards else {}
    body |= {"joint": [one.to_json() for one in joint]} if joint else {}
    body |= {"spent": spent} if spent else {}
    notes = (*filter(None, (spent,)), *remarks(recipe), *(w.text for w in recipe.warnings))
    lines = (*_lines(answer), *((one.label, one.safe) for one in joint))
    return Document(said, lines, notes, body, _script(answer, bool(own.metrics), published, file))


def _lines(answer: Recommendation) -> tuple[Line, ...]:
    recipe = answer.recipe
    cap = Quantity(
        None if recipe.cap is None else float(recipe.cap),
        unit="negatives",
        note="largest number that fits into the memory of the devices",
    )
    others = [
        (f"{LABELS[setting]} for {metric}", shown(each.choices[setting]))
        for metric, each in answer.recipes.items()
        for setting in SETTINGS
        if metric != answer.served and each.choices[setting].value.value is not None
    ]
    return (
        *setting_lines(recipe),
        *((cost.label, cost.amount) for cost in rank_costs(recipe)),
        ("Maximum number of extra negatives", cap),
        ("K is limited by", recipe.binds),
        *others,
    )


def _script(answer: Recommendation, own: bool, published: bool, file: str) -> str:
    read = f'read_evidence(json.loads(Path({file!r}).read_text(encoding="utf-8"))["evidence"])'
    evidence = read if own else "published_evidence()"
    if own and published:
        evidence = f"with_fallback({read}, published_evidence())"
    settings = answer.settings
    given = [
        f"LearningRate({settings.scaling.rate!r}, {settings.scaling.batch!r})",
        _stage2(settings.stage2),
        repr(settings.batch),
        repr({setting: tuple(values) for setting, values in settings.otherwise.items()}),
        repr(settings.t),
    ]
    asked = ["evidence", repr(answer.budget), repr(answer.served), "settings"]
    asked += [f"read_rule({literal(answer.rule.to_json())})"] if answer.rule is not None else []
    body = [
        f"evidence = {evidence}",
        *call("settings", "Settings", given),
        *call("answer", "recommend", asked),
        "print(as_text(answer))",
    ]
    return script(sentence(answer), body, HOMES)


def _stage2(stage2: Stage2 | None) -> str:
    if stage2 is None:
        return "None"
    numbers = (stage2.width, stage2.devices, stage2.length, stage2.precision, stage2.chunk)
    return f"Stage2(find_device({stage2.device.name!r}), {', '.join(map(repr, numbers))})"


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    """Return the evidence as a JSON object; ``read_evidence`` reads it."""
    return {
        "share": [_optimum(one) for one in evidence.share],
        "batch": {metric: fit_json(fit) for metric, fit in evidence.batch.items()},
        "allocation": {metric: fit_json(fit) for metric, fit in evidence.allocation.items()},
        "negatives": [_optimum(one) for one in evidence.negatives],
        "missing": dict(evidence.missing),
        "quoted": dict(evidence.quoted),
        "remarks": {setting: list(said) for setting, said in evidence.remarks.items()},
        "sizes": [_optimum(one) for one in evidence.sizes],
        "used": dict(evidence.used),
    }


def read_evidence(raw: Mapping[str, Any]) -> Evidence:
    """Read the evidence from a JSON object. Raises PlannerError if the object is not evidence."""
    try:
        return Evidence(
            tuple(_read_optimum(one) for one in raw["share"]),
            _read_fits(raw["batch"]),
            _read_fits(raw["allocation"]),
            tuple(_read_optimum(one) for one in raw["negatives"]),
            dict(raw["missing"]),
            dict(raw["quoted"]),
            {setting: tuple(said) for setting, said in raw.get("remarks", {}).items()},
            tuple(_read_optimum(one) for one in raw.get("sizes", ())),
            {setting: float(x) for setting, x in raw.get("used", {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PlannerError(f"This is not an evidence file that Isoplan wrote: {error!r} while reading it.") from error


def _optimum(one: Optimum) -> dict[str, Any]:
    return {
        **vars(one),
        **{name: x if math.isfinite(x := getattr(one, name)) else None for name in NUMBERS},
        "x": quantity.to_json(one.x),
        "fit": fit_json(one.fit) if one.fit is not None else None,
    }


def _read_optimum(raw: Mapping[str, Any]) -> Optimum:
    place: Place = next(known for known in get_args(Place) if known == raw["place"])
    fit = read_fit(raw["fit"]) if raw["fit"] is not None else None
    budget, low, high = (math.nan if raw[name] is None else float(raw[name]) for name in NUMBERS)
    said = str(raw["why"]), str(raw.get("remark", ""))
    return Optimum(budget, str(raw["metric"]), quantity.from_json(raw["x"]), place, low, high, fit, *said)


def _read_fits(raw: Mapping[str, Any]) -> dict[str, Fit]:
    return {metric: read_fit(one) for metric, one in raw.items()}
