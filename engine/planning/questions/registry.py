"""The questions of the planner: every folder of ``engine/planning`` with a module ``question``."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from isoplan.engine import planning
from isoplan.engine.planning.questions.declaration import PlannerQuestion

MODULE = "question"
"""Name of the module that declares the ``QUESTION`` of its folder. The list of commands imports it, so it must not
import numpy.
"""


@cache
def find_questions() -> Mapping[str, PlannerQuestion]:
    """Return all questions by name. Other folders of ``engine/planning`` are not imported."""
    folders = [Path(root) / one.name for root in planning.__path__ for one in pkgutil.iter_modules([root]) if one.ispkg]
    names = sorted(folder.name for folder in folders if (folder / f"{MODULE}.py").is_file())
    declared = [import_module(f"{planning.__name__}.{name}.{MODULE}").QUESTION for name in names]
    return {question.name: question for question in declared}
