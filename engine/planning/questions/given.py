"""Values of all inputs of a question: budget or target, limits, prices, queries, compute rule and other fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isoplan.engine.costs import ComputeRule
from isoplan.engine.design.candidates import Candidates
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.scenario.fields import Place
from isoplan.engine.planning.scenario.limits import NO_LIMITS, Limits, Question
from isoplan.engine.planning.scenario.prices import Inference, Prices
from isoplan.engine.schema import Curves


@dataclass(frozen=True, eq=False)
class Given:
    """Inputs of a question. ``place`` states where the user typed them (page, terminal or Python).

    ``asked`` is the budget or target with its limits; None if the question has neither. ``rule`` is the compute rule;
    None means the rule of the fit. ``queries`` are the queries over the life of the model. ``values`` contains the
    values of the fields that only this question has, by name; None for a field that is not given. ``costs`` are the
    prices if the question has its own function to read prices; otherwise ``prices`` contains the prices.

    ``fits`` are all fits of the question by name. ``files`` are the names of the files from which a script reads the
    fits. ``group`` selects one fit of a file with several groups of runs. ``curves`` are training curves that replace a
    typed field. ``candidates`` are listed cells to choose from, for a question that chooses cells. ``notes`` state how
    typed texts were interpreted.
    """

    asked: Question | None = None
    limits: Limits = NO_LIMITS
    prices: Prices | None = None
    queries: Inference | None = None
    rule: ComputeRule | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    costs: Any = None
    fits: Mapping[str, Fit] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    curves: Curves | None = None
    candidates: Candidates | None = None
    notes: tuple[str, ...] = ()
    place: Place = "python"

    @property
    def loss(self) -> Question:
        """The budget or target, for a question that has one of these two fields."""
        assert self.asked is not None
        return self.asked

    @property
    def file(self) -> str:
        """The file from which a script reads the first fit."""
        return next(iter(self.files.values()), "fit.json")
