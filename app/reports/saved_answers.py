"""Functions that make a report from an answer saved as JSON, and write a report to a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from isoplan.app.reports.content import Report, make_report, report_plan
from isoplan.app.reports.printed_pages import pdf_report
from isoplan.app.reports.web_page import html_report
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.answer import quantity
from isoplan.engine.planning.answer.document import Document, Line
from isoplan.engine.planning.answer.quantity import Quantity
from isoplan.engine.planning.plan.document import LABELS, as_document, read_plan
from isoplan.engine.planning.recommender.choice import LABELS as SETTINGS

WRITERS = {".html": html_report, ".pdf": pdf_report}
"""Function that converts a report to a file, for each ending of the file name."""
PARTS = {"allocation", "derived", "choices", "recipes", "regimes", "costs", "joint"}
"""Keys of an answer in JSON that group numbers. The labels of these numbers do not contain the keys."""
UNLISTED = {"question", "prices", "warnings", "picture", "laws", "evidence", "between", "support", "compute", "bill"}
"""Keys of an answer whose values do not belong to the numbers of its report."""
NAMES = LABELS | {"s": SETTINGS["s"], "B": SETTINGS["B"], "K": SETTINGS["K"], "lr": SETTINGS["lr"]}
ENDS = {"least": "optimistic", "most": "conservative"}


def read_report(raw: Mapping[str, Any], fits: Sequence[Fit], title: str = "") -> Report:
    """Return the report of the JSON object ``raw`` of an answer. ``fits`` are the laws that the answer uses.

    The report of a plan has a figure if ``fits`` contains the fit of the plan. Raises PlannerError if ``raw`` is not an
    answer, or if ``fits`` is not empty and does not contain the fit of the plan.
    """
    if not isinstance(raw.get("sentence"), str):
        what = "a fit" if "parameters" in raw or "groups" in raw else "not an answer of Isoplan"
        raise PlannerError(f"Answer: the file is {what}. Give the JSON file of a plan, a recipe or another answer.")
    if {"question", "allocation", "derived"} <= raw.keys():
        plan = read_plan(raw)
        by_hash = {fit.hash: fit for fit in fits}
        if plan.fit in by_hash:
            maps = [by_hash[name] for name in plan.maps if name in by_hash]
            return report_plan(plan, by_hash[plan.fit], title or "Plan", maps=maps)
        if fits:
            raise PlannerError(f"Fit: the fit {plan.fit} of the plan is missing. Add its file, or omit all fits.")
        return make_report(title or "Plan", as_document(plan.shown))
    return make_report(title or "Answer", _read_document(raw), fits)


def _read_document(raw: Mapping[str, Any]) -> Document:
    """Return the document of an answer from its JSON object: its sentence, its numbers, and its warnings."""
    notes = tuple(str(warning["text"]) for warning in raw.get("warnings", ()))
    return Document(str(raw["sentence"]), tuple(_lines(raw, ())), notes, raw, "")


def _lines(value: Any, path: tuple[str, ...]) -> Iterator[Line]:
    """Yield the label and the quantity of each number inside a JSON value; ``path`` are the keys that lead to it."""
    if isinstance(value, list):
        for one in value:
            if isinstance(one, Mapping) and "label" in one:
                yield from _lines({name: x for name, x in one.items() if name != "label"}, (*path, str(one["label"])))
    if not isinstance(value, Mapping):
        return
    if {"value", "ci68", "ci95", "unit"} <= value.keys():
        yield _label(path), quantity.from_json(value)
    elif {"least", "most", "unit"} <= value.keys():
        for end, name in ENDS.items():
            known = None if value[end] is None else float(value[end])
            yield f"{_label(path)}, {name}", Quantity(known, unit=str(value["unit"]), note=str(value["note"]))
    else:
        for key, inner in value.items():
            if path or key not in UNLISTED:
                yield from _lines(inner, path if key in PARTS else (*path, str(key)))


def _label(path: tuple[str, ...]) -> str:
    *before, last = path
    return ": ".join((*before, NAMES.get(last, last.replace("_", " "))))


def write_report(report: Report, path: Path) -> None:
    """Write ``report`` to ``path``, as HTML or PDF according to the ending of the file name.

    Raises PlannerError if the ending is neither .html nor .pdf, or if the file cannot be written.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise PlannerError(f"Path: a report cannot have the ending {path.suffix!r}. Use {' or '.join(WRITERS)}.")
    made = writer(report)
    try:
        path.write_bytes(made)
    except OSError as error:
        raise PlannerError(f"{path} cannot be written ({error.strerror}): check the folder.") from None
