"""Declaration of a planner question.

The declaration contains the names, texts and inputs that the page, the terminal and Python show before a user asks the
question.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isoplan.engine import planning
from isoplan.engine.planning.scenario.fields import FIELDS, LIMITS, LOSS, PRICES, Field, Place, Texts

if TYPE_CHECKING:
    from isoplan.engine.fitting.types.result import Fit
    from isoplan.engine.fitting.types.unfitted import UnfittedRuns
    from isoplan.engine.planning.questions.answer import Answer
    from isoplan.engine.planning.questions.given import Given


MODULE = "question"
"""Name of the module that defines ``QUESTION`` in the folder of a question. This module must not import numpy,
because the terminal imports the module to list its commands, and this list must appear fast.
"""


@dataclass(frozen=True)
class FitInput:
    """A fit that a question needs as input. The first fit of a question provides the law of the answer.

    ``name`` is the argument in Python. The terminal shows ``file`` as the placeholder of the file name, and ``help``.
    The page shows ``label`` and offers the fits of the laws in ``laws``; an empty ``laws`` allows any law. If
    ``repeated`` is true, the page offers only laws that describe repeated samples. The caption ``excluded`` then lists
    the fits that were left out. ``link`` is the key of the fit in a link, by default ``name``.

    If a question needs a second fit, this fit must belong to the same task as the first. The page shows one of
    three texts if it has no second fit: ``missing`` if the task has no suitable fit, ``lacking`` if the task is unknown
    and no fit is suitable, ``unsure`` if some fits are suitable but the user must choose one. ``examples`` are the
    names of bundled tables from which the fit can be made.

    If ``law`` is not empty, the terminal also accepts a table of runs, and fits this law to it. The question can then
    also be answered for runs that do not determine the law.
    """

    help: str
    name: str = "fit"
    file: str = "FIT.json"
    label: str = "Fit"
    link: str = ""
    laws: tuple[str, ...] = ()
    repeated: bool = False
    excluded: str = ""
    optional: bool = False
    missing: str = ""
    unsure: str = ""
    lacking: str = ""
    examples: tuple[str, ...] = ()
    law: str = ""

    @property
    def key(self) -> str:
        """The key of the fit in a link."""
        return self.link or self.name


@dataclass(frozen=True)
class CurveInput:
    """Input of training curves. The value of ``field`` is computed from the curves instead of being typed.

    The terminal shows ``help``. The page shows ``label`` with the help text ``tip``. ``link`` is the key of the chosen
    curves in a link.
    """

    field: str
    help: str
    label: str
    link: str
    tip: str


@dataclass(frozen=True)
class CellsInput:
    """Input of a list of cells from which the answer chooses.

    The terminal shows ``help`` for a table of cells. The page shows ``label``. ``link`` is the key of the chosen list
    in a link.
    """

    help: str
    label: str
    link: str


@dataclass(frozen=True)
class PlannerQuestion:
    """Declaration of a question about one or several fits.

    ``name`` is the function in Python and the kind of a saved answer. ``command`` is the command in the terminal if it
    differs from ``name``. ``summary`` is one sentence of at most 66 characters. The Plan page shows ``title`` with the
    Material symbol ``icon``, and shows the words ``lead`` before the first input.

    ``fits`` are the input fits. ``grouped`` is the name of the fit to which the option --group applies, by default the
    first fit. ``fields`` are the input fields in the order of the terminal. ``curves`` are training curves that can
    replace one field. The page shows the optional fits and the curves under the title ``more``. ``cells`` is a list of
    cells from which the answer chooses.

    ``module`` names a module with the function ``answer(fit, given)``; this module is imported only to answer the
    question. ``costs`` names a module with the function ``read_costs(texts, place, values)``, which reads the prices
    of this question. If ``costs`` is empty, ``typed_prices.read_prices`` reads the prices. ``key`` is a JSON key that
    only answers to this question contain.

    ``lead`` may contain {y}, the quantity that the first law predicts. ``Field.after`` may contain {unit}, the name of
    the samples.
    """

    name: str
    title: str
    icon: str
    summary: str
    lead: str
    fits: tuple[FitInput, ...]
    fields: tuple[Field, ...]
    module: str
    key: str = ""
    grouped: str = ""
    curves: CurveInput | None = None
    cells: CellsInput | None = None
    more: str = ""
    costs: str = ""
    command: str = ""

    @property
    def command_name(self) -> str:
        """The command in the terminal."""
        return self.command or self.name

    @property
    def losses(self) -> tuple[Field, ...]:
        """The fields for the budget and the target loss. The user must fill in exactly one of these fields."""
        return self._of(LOSS)

    @property
    def limits(self) -> tuple[Field, ...]:
        """The fields of the limits on the answer."""
        return self._of(LIMITS)

    @property
    def prices(self) -> tuple[Field, ...]:
        """The fields of the machine, of prices and of queries."""
        return self._of(PRICES)

    @property
    def own(self) -> tuple[Field, ...]:
        """The fields that no other question has."""
        return tuple(field for field in self.fields if field.name not in FIELDS)

    @property
    def needed(self) -> tuple[FitInput, ...]:
        """The fits that are not optional."""
        return tuple(one for one in self.fits if not one.optional)

    def _of(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        names = {field.name for field in fields}
        return tuple(field for field in self.fields if field.name in names)

    def read_costs(self, texts: Texts, place: Place, values: Mapping[str, Any]) -> Any:
        """Return the costs that the module ``costs`` reads from ``texts``; None without a module or without prices."""
        return import_module(self.costs).read_costs(texts, place, values) if self.costs else None

    def answer(self, fit: Fit | UnfittedRuns, given: Given) -> Answer:
        """Return the answer for the inputs ``given``. Raises PlannerError if there is no answer."""
        return cast("Answer", import_module(self.module).answer(fit, given))


@cache
def find_questions() -> Mapping[str, PlannerQuestion]:
    """Return all questions by name.

    Only the folders of ``engine/planning`` that contain a module ``question`` are imported.
    """
    folders = [Path(root) / one.name for root in planning.__path__ for one in pkgutil.iter_modules([root]) if one.ispkg]
    names = sorted(folder.name for folder in folders if (folder / f"{MODULE}.py").is_file())
    declared = [import_module(f"{planning.__name__}.{name}.{MODULE}").QUESTION for name in names]
    return {question.name: question for question in declared}


def find_commands() -> Mapping[str, PlannerQuestion]:
    """Return all questions by the name of their command in the terminal."""
    return {question.command_name: question for question in find_questions().values()}
