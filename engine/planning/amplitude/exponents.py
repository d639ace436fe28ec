"""The exponent to count on before anything is trained (amplitudes, eqs. 4, 6, 8, Sec. 5 and Fig. 10)."""

from __future__ import annotations

from dataclasses import dataclass

from isoplan.engine.laws.catalogue.dimension import least_exponent, phase_space_dimension

TWO_PARTICLES = 1.5
"""For n_f = 2, where the bound fails: below every published exponent of WZ and Zg (1.565 is the least)."""


@dataclass(frozen=True)
class Exponent:
    """``value`` of the loss against D, N or C, and where it comes from; relative errors fall with half of it."""

    value: float
    source: str

    @property
    def halved(self) -> float:
        """The exponent of the typical relative error."""
        return self.value / 2


def conservative(n_f: int, *, fixed_energy: bool = False) -> Exponent:
    """The exponent of a conservative plan for ``n_f`` final-state particles: 4/d with d = 3 n_f - 4, 1.5 for n_f = 2.

    At a fixed collision energy d is one less. Raises PlannerError for fewer than two particles.
    """
    d = phase_space_dimension(n_f, fixed_energy=fixed_energy)
    bound = least_exponent(d)
    if n_f == 2:
        return Exponent(
            TWO_PARTICLES,
            f"{TWO_PARTICLES:g}, below every published exponent of two particles: the bound 4/d = {bound:g} fails "
            "there, because many points lie close to the forward and backward singularities, where a network does not "
            "learn the local slope; where few points cover these, it may be less yet, which a second anchor tells",
        )
    return Exponent(bound, f"the bound 4/d with d = {d}")
