"""Sources of an answer: the question, the fits with their runs, and the source of each number.

A report lists these sources at its end. A reader can then trace every number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer.document import Document
from isoplan.engine.planning.answer.format import MONEY, SECONDS
from isoplan.engine.planning.answer.quantity import Quantity

PRICED = (*MONEY, "h", "kWh", "kg", "GB")
"""Units of numbers that are computed from prices, from a machine or from the size of a sample."""
ASKED = ("question", "prices", "settings", "asked")
"""Keys in the JSON object of an answer under which the values typed by the user are stored."""
MOST_ENTRIES = 60
"""Maximum number of typed values in the list of sources."""


@dataclass(frozen=True)
class Source:
    """A source of an answer: a title and its properties, each with a name and a text."""

    title: str
    rows: tuple[tuple[str, str], ...]


def list_sources(document: Document, fits: Sequence[Fit] = ()) -> tuple[Source, ...]:
    """Return the sources of an answer: its numbers grouped by source, the question as typed, and each fit."""
    many = len(fits) > 1
    laws = (describe_fit(fit, f"Fit {i}" if many else "Fit") for i, fit in enumerate(fits, start=1))
    found = (_numbers(document, fits), _question(document.body), *laws)
    return tuple(source for source in found if source.rows)


def _numbers(document: Document, fits: Sequence[Fit]) -> Source:
    """Return the labels of the numbers of an answer, grouped by the source of each number."""
    law = f"Computed from the {'laws of the answer' if not fits else 'fits below' if len(fits) > 1 else 'fit below'}"
    by_source: dict[str, list[str]] = {}
    for label, cell in document.lines:
        by_source.setdefault(_source(cell, law, fits), []).append(label)
    return Source("Where the numbers come from", tuple((key, "; ".join(names)) for key, names in by_source.items()))


def _source(cell: Quantity | str, law: str, fits: Sequence[Fit]) -> str:
    if isinstance(cell, str):
        return "Chosen in the answer"
    if cell.note == "given":
        return "Entered in the question"
    if cell.unit in PRICED or cell.unit.endswith(" h"):
        return "Computed from the numbers of the plan with the machine and the prices below"
    columns = {fit.data.runtime.column for fit in fits if fit.data.runtime is not None}
    if cell.unit == SECONDS and columns:
        return f"Measured times of the runs, column {', '.join(sorted(columns)) or 'seconds'}"
    return f"{law}; intervals from its resamples" if cell.ci68 is not None else f"{law}, without an interval"


def _question(body: Mapping[str, Any]) -> Source:
    """Return the typed values of an answer: question, limits, machine and prices."""
    entries = [entry for key in ASKED if key in body for entry in _flat(body[key], "" if key == "question" else key)]
    if isinstance(body.get("fit"), str):
        entries.append(("fit", str(body["fit"])))
    return Source("Question and prices", tuple(entries[:MOST_ENTRIES]))


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each value inside a JSON value; null and empty values are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name} {key}".strip().replace("_", " "))
    elif isinstance(value, list | tuple):
        if value and not any(isinstance(inner, Mapping | list | tuple) for inner in value):
            yield name, ", ".join(map(_plain, value))
    elif value is not None and value != "":
        yield name, _plain(value)


def _plain(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def describe_fit(fit: Fit, title: str = "Fit") -> Source:
    """Return a fit as a source: the law, the runs (hash and columns), the settings and the parameters of the fit."""
    return Source(f"{title}: {fit.law.title}", tuple((name, shown) for name, shown in _properties(fit) if shown))


def _properties(fit: Fit) -> Iterator[tuple[str, str]]:
    data, spec = fit.data, fit.spec
    yield "Law", f"{fit.law.name}: {fit.law.text}"
    yield "Table", _file_name(data.source)
    yield "Runs", f"{fit.n}" if fit.objective is not None else "a published law, without runs"
    yield "SHA-256 of the table", data.sha256
    yield "Rows", data.snapshot
    yield "Group", data.group
    yield "Filter", data.where
    yield "Training curves", data.curves
    yield "Columns", ", ".join(f"{role} = {column}" for role, column in data.roles.items())
    yield "Ranges", ", ".join(f"{role} {text.span(ends)}" for role, ends in data.ranges.items())
    yield "Objective", fit.heading.partition(f" of {data.source or 'a table'}, ")[2]
    yield "Fixed parameters", _pairs(spec.fixed)
    yield "Priors", ", ".join(f"{name} = {mean:g} ± {sd:g}" for name, (mean, sd) in spec.prior.items())
    yield "Shared parameters", ", ".join(spec.share)
    yield "Refits", f"{len(fit.resamples)}, seed {spec.seed}" if len(fit.resamples) else ""
    yield "Intervals", fit.interval_source or "none"
    for p in fit.parameters:
        ends = f" (68 %: {text.span(p.ci68)})" if p.ci68 is not None else ""
        yield f"Parameter {p.name}", f"{text.number(p.value)}{ends}"
    yield "Compute", fit.compute.text
    yield "Identifier", fit.hash


def _pairs(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items())


def _file_name(source: str) -> str:
    """Return the name of a file without its folders; other sources are unchanged."""
    path = PurePath(source)
    return path.name if path.is_absolute() else source
