"""The fits of several groups of runs as one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from isoplan.engine.arrays import Floats
from isoplan.engine.fitting.types import text
from isoplan.engine.fitting.types.result import Fit, FitWarning, Parameter, chi2, empty_resamples
from isoplan.engine.fitting.types.spec import FitSpec
from isoplan.engine.fitting.types.warnings import by_level


@dataclass(frozen=True, eq=False)
class GroupedFit:
    """One ``Fit`` for each group.

    If parameters are shared, row i of the resamples is the same joint refit in every group, so differences between
    groups have intervals. Groups without shared parameters are fitted separately and have no joint refits.
    """

    spec: FitSpec
    fits: Mapping[str, Fit]

    @property
    def n(self) -> int:
        return sum(f.n for f in self.fits.values())

    @property
    def objective(self) -> float:
        """The plain sum over the runs of all groups."""
        return sum(f.objective or 0.0 for f in self.fits.values())

    @property
    def chi2(self) -> tuple[float, int] | None:
        """Chi squared and its degrees of freedom, if errors are given and squares are summed; else None."""
        return chi2(self.spec, self.objective, self.n, self.parameters)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Each shared or fixed parameter once, the others as ``alpha[group]``."""
        return tuple(replace(self.fits[g].parameters[i], name=name) for name, g, i in self._columns())

    @property
    def theta(self) -> Floats:
        """The values in the order of ``parameters``."""
        return np.array([self.fits[g].theta[i] for _, g, i in self._columns()])

    @property
    def resamples(self) -> Floats:
        """The joint refits (r, p) in the order of ``parameters``; empty if groups were fitted separately."""
        if not self.spec.share:
            return empty_resamples(len(self._columns()))
        return np.stack([self.fits[g].resamples[:, i] for _, g, i in self._columns()], axis=1)

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """The warnings of the groups, each with the name of its group; a warning of all groups appears once."""
        every = [(g, w) for g, f in self.fits.items() for w in f.warnings]
        times = {w: sum(other == w for _, other in every) for _, w in every}
        common = tuple(w for w, count in times.items() if count == len(self.fits))
        own = (FitWarning(w.code, f"Group {g}: {w.text}") for g, w in every if w not in common)
        return (*common, *own)

    def _columns(self) -> list[tuple[str, str, int]]:
        """Return name, group and position in the law of every parameter."""
        groups, once = list(self.fits), (*self.spec.share, *self.spec.fixed)
        return [
            (name if name in once else f"{name}[{g}]", g, i)
            for i, name in enumerate(self.spec.find_law().names)
            for g in (groups[:1] if name in once else groups)
        ]

    def __repr__(self) -> str:
        """Return the shared parameters once, then those of each group, for a terminal."""
        parts = [(g, row) for g, fit in self.fits.items() for row in fit.rows]
        same = {*self.spec.share, *self.spec.fixed}
        once = {row["parameter"]: row for _, row in parts if row["parameter"] in same}
        own = [{**row, "parameter": f"{row['parameter']}[{g}]"} for g, row in parts if row["parameter"] not in once]
        heads = [f"{g}: {fit.heading}" for g, fit in self.fits.items()]
        total = f"Together {self.n} runs, objective {self.objective:.7g}{text.chi2_per_dof(self.chi2)}"
        source = next(iter(self.fits.values())).interval_source
        notes = (*filter(None, [source]), *(w.line for w in by_level(self.warnings)))
        return text.page("\n".join([*heads, total]), [*once.values(), *own], notes)
