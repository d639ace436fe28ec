"""The Python that makes a plan again: run beside the fit's JSON it gives the same numbers."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from engine.planning.plan import Plan
from engine.planning.pricing.as_json import prices_json

WIDTH = 110


def to_python(plan: Plan, fit: str = "fit.json", *, group: str = "", maps: tuple[str, ...] = ()) -> str:
    """A script that reads ``fit`` (what ``isoplan fit --json`` printed), and one of its groups, and makes ``plan``.

    ``maps`` are the files of the fits that map to its metrics, in the order in which they were given.
    """
    asked = plan.question
    function = "plan_budget" if asked.kind == "budget" else "plan_target"
    given = ["fit", repr(asked.value), f"read_rule({_literal(plan.compute.to_json())})"]
    uses = {
        "engine.costs": ["read_rule"],
        "engine.fitting.cards": ["read_fit"],
        "engine.planning": ["as_text", function],
    }
    if asked.limits.given:
        given.append(f"limits=Limits({', '.join(f'{name}={most!r}' for name, most in asked.limits.given.items())})")
        uses["engine.planning.limits"] = ["Limits"]
    if plan.prices is not None:
        given.append(f"prices=read_prices({_literal(prices_json(plan.prices))})")
        uses["engine.planning.pricing.as_json"] = ["read_prices"]
    if plan.restated is not None:
        given.append(f"other=read_rule({_literal(plan.restated.rule.to_json())})")
    if maps:
        through = [f"through(fit, read({name!r}))" for name in maps]
        given.append(f"map={through[0]}" if asked.kind == "target" else f"maps=({', '.join(through)},)")
        uses["engine.planning.metric"] = ["through"]
    imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(uses.items())]
    what = textwrap.wrap(plan.sentence, WIDTH)
    return "\n".join(
        [
            *(f"# {line}" for line in what),
            "import json",
            "from pathlib import Path",
            "",
            *imports,
            "",
            "",
            'def read(name, group=""):',
            '    return read_fit(json.loads(Path(name).read_text(encoding="utf-8")), group)',
            "",
            "",
            f"fit = read({fit!r}{f', {group!r}' if group else ''})",
            f"plan = {function}(",
            *(f"    {argument}," for argument in given),
            ")",
            "print(as_text(plan))",
            "",
        ]
    )


def _literal(value: dict[str, Any]) -> str:
    """A JSON object as a Python literal."""
    return repr(json.loads(json.dumps(value)))
