"""Declarations of planner questions: the part that page, terminal and Python show before a question is answered."""

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
"""Name of the module that declares the ``QUESTION`` of its folder. The list of commands imports it, so it must not
import numpy.
"""


@dataclass(frozen=True)
class FitInput:
    """A fit that a question reads; the first one is the law of the answer.

    ``name`` is its argument in Python. The terminal shows ``file`` as the name of its file, and ``help``. The page
    shows ``label`` and offers fits of ``laws`` over ``axes`` (all if empty); a link contains the fit as ``link``, by
    default its name. A further fit that is not ``optional`` belongs to the task of the first one: the page shows
    ``missing`` if that task has none, and ``unsure`` if the task is not known.
    """

    help: str
    name: str = "fit"
    file: str = "FIT.json"
    label: str = "Fit"
    link: str = ""
    laws: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    optional: bool = False
    missing: str = ""
    unsure: str = ""

    @property
    def key(self) -> str:
        """The name of the fit in a link."""
        return self.link or self.name


@dataclass(frozen=True)
class CurveInput:
    """Training curves that determine the value of ``field``, which is then not typed.

    The terminal shows ``help``. The page shows ``label`` with the help ``tip``, and a link contains the choice as
    ``link``.
    """

    field: str
    help: str
    label: str
    link: str
    tip: str


@dataclass(frozen=True)
class PlannerQuestion:
    """A question about one or several fits.

    ``name`` is its command, its function in Python, and the kind of its saved answers. The Plan page shows ``title``
    with the Material symbol ``icon``, and the words ``lead`` before the first input. ``summary`` is one sentence of at
    most 66 characters. ``fits`` are the fits that it reads; --group chooses a group of the fit ``grouped``, by default
    the first. ``fields`` are its inputs, in the order of the terminal. ``curves`` can replace one of them. The page
    shows optional fits and the curves under the title ``more``. ``module`` contains the function ``answer(fit,
    given)``, and is imported when the question is answered. ``costs`` is a module with a function ``read_costs(texts,
    place, values)``, which then reads the prices. ``key`` is a key of the JSON that only its answers have.

    In ``lead`` and in the words after an input, {y} is the quantity of the first law and {unit} the name of a sample.
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
        """The fields of a budget or a target loss, of which one must be given."""
        return self._of(LOSS)

    @property
    def limits(self) -> tuple[Field, ...]:
        """The fields that limit the answer."""
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
        """The fits without which there is no answer."""
        return tuple(one for one in self.fits if not one.optional)

    def _of(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        names = {field.name for field in fields}
        return tuple(field for field in self.fields if field.name in names)

    def read_costs(self, texts: Texts, place: Place, values: Mapping[str, Any]) -> Any:
        """Return the costs that the question reads itself; None if it has none or none are given."""
        return import_module(self.costs).read_costs(texts, place, values) if self.costs else None

    def answer(self, fit: Fit, given: Given) -> Answer:
        """Return the answer for the inputs ``given``. Raises PlannerError if there is none."""
        return cast("Answer", import_module(self.module).answer(fit, given))


@cache
def find_questions() -> Mapping[str, PlannerQuestion]:
    """Return all questions by name. Other folders of ``engine/planning`` are not imported."""
    folders = [Path(root) / one.name for root in planning.__path__ for one in pkgutil.iter_modules([root]) if one.ispkg]
    names = sorted(folder.name for folder in folders if (folder / f"{MODULE}.py").is_file())
    declared = [import_module(f"{planning.__name__}.{name}.{MODULE}").QUESTION for name in names]
    return {question.name: question for question in declared}
