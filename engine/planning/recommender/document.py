"""The recommender recipe as a document."""

from __future__ import annotations

from isoplan.engine.planning.answer.document import Document, Line
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.answer.script import call, literal, script
from isoplan.engine.planning.recommender.as_json import evidence_json
from isoplan.engine.planning.recommender.choice import KNOBS
from isoplan.engine.planning.recommender.evidence import Evidence
from isoplan.engine.planning.recommender.negatives import Stage2
from isoplan.engine.planning.recommender.recipe import Recommendation
from isoplan.engine.planning.recommender.text import LABELS, binding, lines, sentence, shown, to_json

HOMES = {
    name: "isoplan.engine.planning.recommender"
    for name in ("LearningRate", "Settings", "Stage2", "as_text", "recommend", "with_fallback")
} | {
    "find_device": "isoplan.engine.hardware",
    "published_evidence": "isoplan.data.recommender",
    "read_evidence": "isoplan.engine.planning.recommender.as_json",
}


def document(answer: Recommendation, own: Evidence, published: bool, file: str = "recipe.json") -> Document:
    """``answer`` as a document: the served metric with what other choices cost, then what the other metrics ask for.

    ``own`` is the evidence of the user's runs; with ``published`` what the papers print stood in for the rest. The
    JSON holds the former, and the script reads it from that ``file``.
    """
    recipe, said = answer.recipe, sentence(answer)
    step = [recipe.step.sentence] if recipe.step else []
    quoted = [f"The paper: {choice.quoted}" for choice in recipe.choices.values() if choice.quoted]
    bound = [binding(recipe)] if binding(recipe) else []
    body = to_json(answer) | ({"evidence": evidence_json(own)} if own.metrics else {})
    notes = (*bound, *quoted, *step, *(w.text for w in recipe.warnings))
    return Document(said, _lines(answer), notes, body, _script(answer, bool(own.metrics), published, file))


def _lines(answer: Recommendation) -> tuple[Line, ...]:
    recipe = answer.recipe
    cap = Quantity(None if recipe.cap is None else float(recipe.cap), unit="negatives", note="what the devices hold")
    others = [
        (f"{LABELS[knob]} for {metric}", shown(each.choices[knob]))
        for metric, each in answer.recipes.items()
        for knob in KNOBS
        if metric != answer.served and each.choices[knob].value.value is not None
    ]
    return (
        *lines(recipe),
        ("Most extra negatives", cap),
        ("K is bound by", recipe.binds),
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
        repr({knob: tuple(values) for knob, values in settings.otherwise.items()}),
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
