"""Document of an amplitude plan."""

from __future__ import annotations

import math
from dataclasses import fields

from isoplan.engine.planning.amplitude.anchors import Anchor
from isoplan.engine.planning.amplitude.needs import Exponent, Need
from isoplan.engine.planning.amplitude.plan import AmplitudePlan
from isoplan.engine.planning.amplitude.precision import Precision
from isoplan.engine.planning.amplitude.sizes import Size
from isoplan.engine.planning.amplitude.text import LABELS, phase_space, sentence, to_json
from isoplan.engine.planning.answer.document import Document, Line, warned
from isoplan.engine.planning.answer.quantity import OUT_OF_REACH, Quantity
from isoplan.engine.planning.answer.script import call, script

AMPLITUDE = "isoplan.engine.planning.amplitude"
HOMES = {name: AMPLITUDE for name in ("Anchor", "Precision", "as_text", "plan_amplitude", "plan_fitted")}
HOMES |= {name: "isoplan.data.amplitudes" for name in ("best_laws", "published_law")}


def document(plan: AmplitudePlan) -> Document:
    """Return ``plan``, made with the bundled laws, as a document; each range has one line per end."""
    notes = warned(plan.warnings)
    return Document(sentence(plan), _lines(plan), notes, to_json(plan), _script(plan))


def _lines(plan: AmplitudePlan) -> tuple[Line, ...]:
    target = plan.target
    return (
        (f"Target {target.measure}", Quantity(target.mse, note="given")),
        *([] if target.relative is None else [(f"Target {target.name}", Quantity(target.relative))]),
        *([("Measured errors", plan.measured)] if plan.measured else []),
        ("Dimension d of the phase space", f"{plan.dimension} ({phase_space(plan)})"),
        ("Conservative exponent", Quantity(plan.exponent.value, note=plan.exponent.source)),
        *(line for need in plan.needs for line in _exponents(need, plan.exponent)),
        *(line for name, label in LABELS.items() for line in _ends(label, getattr(plan, name))),
        *([("What the fitted law changed", plan.change)] if plan.change else []),
    )


def _exponents(need: Need, first: Exponent) -> list[Line]:
    """Return the exponents of an axis; the conservative one only if it is not ``first``, that of the plan."""
    named = {"Conservative": need.slow if need.slow != first else None, "Optimistic": need.fast}
    return [(f"{name} exponent of {need.axis}", Quantity(e.value, note=e.source)) for name, e in named.items() if e]


def _ends(label: str, size: Size) -> list[Line]:
    """Return one line for a size that is a single number, two for a range."""
    if size.least is None or size.least == size.most:
        at_most = f"{label}, at most" if size.least is None and size.most is not None else label
        return [(at_most, _end(size.most, size))]
    return [(f"{label}, optimistic", _end(size.least, size)), (f"{label}, conservative", _end(size.most, size))]


def _end(x: float | None, size: Size) -> Quantity:
    if x is not None and math.isinf(x):
        return Quantity(None, OUT_OF_REACH, OUT_OF_REACH, size.unit, note=size.note)
    return Quantity(x, unit=size.unit, note=size.note)


def _script(plan: AmplitudePlan) -> str:
    if not plan.anchors and plan.law is None:
        return script(sentence(plan), [f"print({sentence(plan)!r})"], HOMES)
    law = plan.law
    named = [law.process, law.axis, law.held, law.network] if law is not None else []
    fitted = law is None
    name = "plan_fitted" if fitted else "plan_amplitude"
    published = f"published_law({', '.join(map(repr, named))})" if named else "None"
    given = [
        *([repr(plan.process)] if fitted else []),
        repr(plan.n_f),
        _precision(plan.target),
        f"[{', '.join(map(_anchor, plan.anchors))}]",
        *([] if fitted else [published]),
        "best_laws()",
        f"floor={plan.floor!r}",
        f"fixed_energy={plan.fixed_energy!r}",
    ]
    return script(sentence(plan), [*call("plan", name, given), "print(as_text(plan))"], HOMES)


def _precision(target: Precision) -> str:
    kind = "" if target.kind == "rms" else f", kind={target.kind!r}"
    return f"Precision({target.mse!r}, {target.sigma!r}{kind})"


def _anchor(anchor: Anchor) -> str:
    given = {one.name: getattr(anchor, one.name) for one in fields(anchor)}
    return f"Anchor({', '.join(f'{name}={x!r}' for name, x in given.items() if x is not None)})"
