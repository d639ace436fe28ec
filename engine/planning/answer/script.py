"""Python script that reproduces the numbers of an answer.

The script must run in the folder that contains the JSON files of the fits.
"""

from __future__ import annotations

import ast
import json
import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

WIDTH = 110
STANDARD = {"json": "import json", "np": "import numpy as np", "Path": "from pathlib import Path"}
HOMES = {
    "read_rule": "isoplan.engine.costs",
    "read_fit": "isoplan.engine.fitting.cards",
    "Limits": "isoplan.engine.planning.scenario.limits",
    "read_prices": "isoplan.engine.planning.scenario.prices_json",
}
"""Names that the scripts of several answers import, with the modules that define them."""
READ = (
    'def read(name, group=""):',
    '    return read_fit(json.loads(Path(name).read_text(encoding="utf-8")), group)',
    "",
    "",
)


def script(sentence: str, body: Iterable[str], homes: Mapping[str, str]) -> str:
    """Return a Python script of the lines ``body``, with ``sentence`` as a comment at its top.

    The script imports each name that ``body`` uses from the module in ``STANDARD``, ``HOMES`` or ``homes``.
    """
    lines = list(body)
    reads = READ if "read" in _names(lines) else ()
    used, known = _names([*reads, *lines]), HOMES | dict(homes)
    modules = sorted({known[name] for name in used if name in known})
    ours = [f"from {home} import {', '.join(sorted(n for n in used if known.get(n) == home))}" for home in modules]
    standard = [line for name, line in STANDARD.items() if name in used]
    what = [f"# {line}" for line in textwrap.wrap(sentence, WIDTH)]
    blocks = [what, *([*block, ""] for block in (standard, ours) if block), [""], reads, lines]
    return "\n".join([*(line for block in blocks for line in block), ""])


def _names(lines: Iterable[str]) -> set[str]:
    tree = ast.parse("\n".join(lines))
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def call(target: str, function: str, arguments: Iterable[str]) -> list[str]:
    """Return the source lines of ``target = function(...)``, with one argument per line."""
    return [f"{target} = {function}(", *(f"    {argument}," for argument in arguments), ")"]


def reading(name: str, group: str = "") -> str:
    """Return the source code of the call that reads the fit in the file ``name``, or its group ``group``."""
    return f"read({name!r}{f', {group!r}' if group else ''})"


def literal(value: Mapping[str, Any]) -> str:
    """Return the source code of a JSON object as a Python literal."""
    return repr(json.loads(json.dumps(value)))


def array(x: NDArray[Any]) -> list[str]:
    """Return the source lines of ``np.array([...])`` for a vector (k,)."""
    text = ", ".join("np.nan" if math.isnan(value) else repr(value) for value in x.tolist())
    return ["np.array([", *(f"    {line}" for line in textwrap.wrap(text, WIDTH)), "])"]
