"""Save fits, plans and other answers to files, and read fits and plans again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoplan.engine.cell_files import ENDINGS as FORMATS
from isoplan.engine.cell_files import chosen_cells, write_cells
from isoplan.engine.errors import PlannerError
from isoplan.engine.planning.questions.declaration import find_questions

if TYPE_CHECKING:
    from isoplan.engine.fitting import Fit, GroupedFit
    from isoplan.engine.planning.answer.document import Document
    from isoplan.engine.planning.plan.answer import Plan
    from isoplan.engine.planning.questions.answer import Answer

ENDINGS = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".py": "python"}
REPORTS = (".html", ".pdf")
CELLS = tuple(ending for ending in FORMATS if ending not in ENDINGS)
"""Endings of files with the chosen cells of "Next cells" for other tools."""
TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".duckdb", ".jsonl")
OTHERS = {
    "recipes": "recipe",
    "n_f": "amplitude",
    "refused": "compare",
}
"""Key in the JSON of an answer -> command that prints this answer. The error for a file that contains neither a fit nor
a plan names this command.
"""


def load(path: str | PathLike[str]) -> Fit | GroupedFit | Plan:
    """Read a fit or a plan from a JSON file of ``isoplan.save``, `isoplan fit --json` or `isoplan plan --json`.

    Raises PlannerError for any other file. The message names the type of the file.
    """
    from isoplan.engine.fitting import read_fit
    from isoplan.engine.planning.plan.document import read_plan

    raw = _read_object(Path(path))
    if isinstance(raw.get("groups"), Mapping) and raw["groups"]:
        return _read_groups(raw)
    if "parameters" in raw:
        return read_fit(raw)
    if {"question", "allocation", "derived"} <= raw.keys():
        return read_plan(raw)
    question = raw.get("question")
    keys = {*raw, *(question if isinstance(question, Mapping) else ())}
    others = OTHERS | {one.key: name for name, one in find_questions().items() if one.key}
    command = next((command for key, command in others.items() if key in keys), "")
    what = f"an answer of `isoplan {command}`" if command else "neither a fit nor a plan"
    raise PlannerError(f"{path} is {what}: isoplan.load reads fits and plans.")


def _read_object(path: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file. Raises PlannerError that names the type of the file."""
    if path.is_dir():
        raise PlannerError(f"{path} is a folder: name a file of isoplan.save.")
    if path.suffix.lower() in TABLES:
        raise PlannerError(f"{path} is a table: read it with isoplan.runs.")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PlannerError(f"There is no file {path}: check the path.") from None
    except OSError as error:
        raise PlannerError(f"{path} cannot be read ({error.strerror}): check the path and its permissions.") from None
    except (ValueError, RecursionError):
        raise PlannerError(f"{path} is not JSON: isoplan.load reads the JSON of fits and plans.") from None
    if not isinstance(raw, Mapping):
        raise PlannerError(f"{path} contains no JSON object: isoplan.load reads the JSON of fits and plans.")
    return raw


def _read_groups(raw: Mapping[str, Any]) -> GroupedFit:
    from isoplan.engine.fitting import GroupedFit, read_fit

    fits = {group: read_fit(raw, group) for group in raw["groups"]}
    return GroupedFit(next(iter(fits.values())).spec, fits)


def save(answer: Fit | GroupedFit | Plan | Answer, path: str | PathLike[str], *, fit: Fit | Sequence[Fit] = ()) -> None:
    """Write a fit, a plan or another answer to a file, as the terminal prints it, or as a report.

    A fit is written as JSON. For other answers, the suffix of ``path`` determines the format: .json, .csv, .md, .tex or
    .py, or .html and .pdf for a report. The cells of "Next cells" are written as a W&B sweep (.yaml) or as a Slurm job
    array (.sh). A .py script reads its fits from files ``fit-HASH.json`` in its own folder.
    ``fit`` is the fit of the answer, or several fits. A report lists these fits as sources, and uses the fit of a plan
    to draw the plan. Raises PlannerError for another suffix, for an answer that cannot be saved, or for a path that
    cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() in REPORTS:
        _save_report(answer, target, fit)
        return
    text = _as_text(answer, target.suffix.lower())
    try:
        target.write_text(text.rstrip("\n") + "\n", encoding="utf-8", newline="")
    except OSError as error:
        raise PlannerError(f"{path} cannot be written ({error.strerror}): check the folder.") from None


def _save_report(answer: object, path: Path, fit: Fit | Sequence[Fit]) -> None:
    """Write the report of an answer. Raises PlannerError if ``answer`` is a fit, or a plan made with another fit."""
    from isoplan.app.reports.content import report_answer
    from isoplan.app.reports.saved_answers import read_report, write_report
    from isoplan.engine.fitting import Fit
    from isoplan.engine.planning.questions.answer import Answer

    fits = (fit,) if isinstance(fit, Fit) else tuple(fit)
    if isinstance(answer, Answer):
        write_report(report_answer(answer, fits), path)
    elif isinstance(answer, Fit):
        raise PlannerError("Answer: a fit has no report. Save a plan or another answer, or save the fit as .json.")
    else:
        write_report(read_report(_document_of(answer).body, fits), path)


def _as_text(answer: object, ending: str) -> str:
    from isoplan.engine.fitting import Fit, GroupedFit, groups_to_json, to_json

    if isinstance(answer, Fit | GroupedFit):
        if ending != ".json":
            raise PlannerError(
                f"Path: a fit is written as JSON, not as {ending or 'a file without an ending'}. Use .json."
            )
        return _as_json(to_json(answer) if isinstance(answer, Fit) else groups_to_json(answer))
    document = _document_of(answer)
    if ending in CELLS:
        return write_cells(chosen_cells(document.body), FORMATS[ending])
    if ending not in ENDINGS:
        raise PlannerError(f"Path: no format has the ending {ending!r}. Use {', '.join((*ENDINGS, *REPORTS))}.")
    return _write(document, ending)


def _document_of(answer: object) -> Document:
    """Return the document from which all file formats are written. Raises PlannerError for an answer without one."""
    from isoplan.engine.planning.plan.answer import Plan
    from isoplan.engine.planning.plan.document import as_document
    from isoplan.engine.planning.questions.answer import Answer

    if isinstance(answer, Plan):
        return as_document(answer)
    if not isinstance(answer, Answer):
        raise PlannerError(f"Answer: {type(answer).__name__} cannot be saved. Save a fit, a plan or another answer.")
    return answer.file


def _write(document: Document, ending: str) -> str:
    from isoplan.engine.planning.answer.document import WRITERS

    return _as_json(document.body) if ending == ".json" else WRITERS[ENDINGS[ending]](document)


def _as_json(body: Mapping[str, Any]) -> str:
    return json.dumps(body, allow_nan=False)
