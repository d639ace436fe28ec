"""Named formulas for sizes and compute, for tables that contain them only indirectly (such as width and depth)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from isoplan.engine.errors import PlannerError
from isoplan.engine.formula import short


@dataclass(frozen=True)
class NamedFormula:
    """A named formula. ``formula`` contains the ``inputs`` as names in braces; ``about`` describes the result."""

    name: str
    inputs: tuple[str, ...]
    formula: str
    about: str

    @property
    def call(self) -> str:
        """The formula as a user writes it."""
        return f"{self.name}({', '.join(self.inputs)})"


NAMED = (
    NamedFormula(
        "transformer",
        ("width", "depth", "vocabulary"),
        "12 * {depth} * {width}^2 + {vocabulary} * {width}",
        "Parameters of a Transformer with its token embeddings (Kaplan et al. 2020, Table 1)",
    ),
    NamedFormula(
        "transformer_blocks",
        ("width", "depth"),
        "12 * {depth} * {width}^2",
        "Parameters of a Transformer without embeddings (Kaplan et al. 2020, Table 1)",
    ),
    NamedFormula(
        "device_hours",
        ("hours", "peak", "utilisation"),
        "3600 * {hours} * {peak} * {utilisation}",
        "Training compute in FLOPs from device hours, the peak FLOP/s of a device, and its utilisation as a fraction",
    ),
)
"""All named formulas."""
_CALL = re.compile(r"\s*(" + "|".join(one.name for one in NAMED) + r")\s*\((.*)\)\s*", re.DOTALL)


def expanded(text: str) -> str:
    """Replace a call of a named formula by the full formula. Return any other text unchanged.

    >>> expanded("transformer(d_model, n_layers, 50257)")
    '12 * (n_layers) * (d_model)^2 + (50257) * (d_model)'

    Raises PlannerError if the number of inputs is wrong.
    """
    found = _CALL.fullmatch(text)
    if found is None:
        return text
    named = next(one for one in NAMED if one.name == found[1])
    given = [part.strip() for part in _parts(found[2])]
    if len(given) != len(named.inputs) or not all(given):
        raise PlannerError(f"{short(text)}: {named.name} needs {len(named.inputs)} inputs. Write {named.call}.")
    return named.formula.format(**{name: f"({part})" for name, part in zip(named.inputs, given, strict=True)})


def _parts(text: str) -> Iterator[str]:
    """Split a text at its commas, except commas in parentheses or in quotes."""
    level, quoted, part = 0, False, ""
    for letter in text:
        quoted ^= letter == '"'
        level += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == "," and level == 0 and not quoted:
            yield part
            part = ""
        else:
            part += letter
    yield part
