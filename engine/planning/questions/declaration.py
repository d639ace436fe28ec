"""Declaration of a planner question.

It has the names, texts and inputs that page, terminal and Python show before the question is asked.
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
    from isoplan.engine.planning.questions.answer import Answer
    from isoplan.engine.planning.questions.given import Given


MODULE = "question"
"""Name of the module that declares the ``QUESTION`` of a folder. It must not import numpy, because the list of commands
imports it.
"""


@dataclass(frozen=True)
class FitInput:
    """A fit that a question needs as input. The first fit of a question gives the law of its answer.

    ``name`` is the argument in Python. The terminal shows ``file`` as the placeholder of the file name, and ``help``.
    The page shows ``label`` and offers only fits of ``laws`` (of any if empty). If ``repeated``, these laws must
    describe repeated samples. The page then shows ``excluded`` with the names of the fits that do not. A link stores
    the fit as ``link``, by default as its name.

    A further fit that is not ``optional`` must belong to the same task as the first. The page shows ``missing`` if the
    task has no such fit, ``lacking`` if the task of the first fit is unknown and no own table has such a fit, and
    ``unsure`` if the task is unknown and there are several.
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

    @property
    def key(self) -> str:
        """The key of the fit in a link."""
        return self.link or self.name


@dataclass(frozen=True)
class CurveInput:
    """Training curves that determine the value of ``field``, so that the user does not type it.

    The terminal shows ``help``. The page shows ``label`` with the help ``tip``, and a link stores the choice as
    ``link``.
    """

    field: str
    help: str
    label: str
    link: str
    tip: str


@dataclass(frozen=True)
class PlannerQuestion:
    """Declaration of a question about one or several fits.

    ``name`` is its command, its function in Python, and the kind of its saved answers. ``summary`` is one sentence of
    at most 66 characters. The Plan page shows ``title`` with the Material symbol ``icon``, and the words ``lead``
    before the first input.

    ``fits`` are its fits. The option --group chooses a group of the fit ``grouped``, by default of the first.
    ``fields`` are its inputs in the order of the terminal. ``curves`` are training curves that can replace one field.
    The page shows optional fits and the curves under the title ``more``.

    ``module`` is the name of the module with the function ``answer(fit, given)``; it is imported only when the question
    is answered. ``costs`` is the name of a module whose function ``read_costs(texts, place, values)`` reads the prices
    of this question; if it is empty, they are read as for a plan. ``key`` is a JSON key that only answers to this
    question have.

    In ``lead`` and in the words after an input, {y} stands for the quantity of the first law, {unit} for the name of a
    sample.
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
    more: str = ""
    costs: str = ""

    @property
    def losses(self) -> tuple[Field, ...]:
        """The fields for the budget and the target loss. Exactly one of them must be given."""
        return self._of(LOSS)

    @property
    def limits(self) -> tuple[Field, ...]:
        """The fields of the limits on the answer."""
        return self._of(LIMITS)

    @property
    def prices(self) -> tuple[Field, ...]:
        """The fields of machine and prices."""
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
        """Return the costs that the module ``costs`` reads from ``texts``.

        They are None if there is no such module or no price.
        """
        return import_module(self.costs).read_costs(texts, place, values) if self.costs else None

    def answer(self, fit: Fit, given: Given) -> Answer:
        """Return the answer for the inputs ``given``. Raises PlannerError if there is no answer."""
        return cast("Answer", import_module(self.module).answer(fit, given))


@cache
def find_questions() -> Mapping[str, PlannerQuestion]:
    """Return all questions by name.

    Of the folders of ``engine/planning``, only those that declare a question are imported.
    """
    folders = [Path(root) / one.name for root in planning.__path__ for one in pkgutil.iter_modules([root]) if one.ispkg]
    names = sorted(folder.name for folder in folders if (folder / f"{MODULE}.py").is_file())
    declared = [import_module(f"{planning.__name__}.{name}.{MODULE}").QUESTION for name in names]
    return {question.name: question for question in declared}
