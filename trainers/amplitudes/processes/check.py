"""Checks of the momenta of events: shape, finite values, conservation, mass shells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isoplan.engine.errors import PlannerError
from isoplan.trainers.amplitudes.processes.fields import FIELDS, INCOMING


def row_of(index: int, all_of_them: int = 1) -> str:
    """Return the name of a row for a message, such as ``Row 7 (counted from 0)``.

    ``all_of_them`` is the number of rows with the error. If this number is larger than 1, the name contains it too.
    """
    more = f"; {all_of_them:,} rows in all" if all_of_them > 1 else ""
    return f"Row {index} (counted from 0{more})"


TOLERANCE = 1e-6
"""Relative tolerance of the checks. It is larger than the error of rounding to seven digits.

The violation of momentum conservation is divided by the total incoming energy. The violation of p^2 = m^2 is divided by
E^2.
"""


def check_momenta(momenta: NDArray[np.float64], particles: tuple[str, ...]) -> None:
    """Check that ``momenta`` are valid for a process with the given ``particles``.

    ``momenta`` (points, particles, 4) are in GeV as (E, px, py, pz), with the incoming particles first. Raises
    PlannerError; its message contains the first invalid row.
    """
    if momenta.ndim != 3 or momenta.shape[1:] != (len(particles), 4):
        raise PlannerError(
            f"Momenta have the shape {momenta.shape}: give (points, {len(particles)}, 4) as (E, px, py, pz) in GeV "
            f"for {_names(particles)}."
        )
    _check_finite(momenta)
    _check_shells(momenta, particles)
    _check_conserved(momenta)


def check_own_momenta(momenta: NDArray[np.float64]) -> None:
    """Check the momenta of a user-defined process, whose masses are not given.

    Momenta must be finite and conserved, no particle may be faster than light, and each particle must have the same
    mass in all rows. ``momenta`` (points, particles, 4) are in GeV as (E, px, py, pz), with the incoming particles
    first. Raises PlannerError otherwise.
    """
    _check_finite(momenta)
    squares = _squares(momenta)
    bad = squares < -TOLERANCE * momenta[..., 0] ** 2
    if bad.any():
        row, leg = np.argwhere(bad)[0]
        raise PlannerError(
            f"{row_of(row)}: particle {leg} is faster than light, its E^2 - p^2 is {squares[row, leg]:.6g} GeV^2: "
            "check units and the order (E, px, py, pz)."
        )
    _check_conserved(momenta)
    for leg in range(momenta.shape[1]):
        _check_one_mass(momenta[:, leg], leg)


def _names(particles: tuple[str, ...]) -> str:
    return f"{' '.join(particles[:INCOMING])} -> {' '.join(particles[INCOMING:])}"


def _check_finite(momenta: NDArray[np.float64]) -> None:
    good = np.isfinite(momenta).all(axis=2) & (momenta[..., 0] > 0)
    if not good.all():
        row, leg = np.argwhere(~good)[0]
        raise PlannerError(
            f"{row_of(row)}: particle {leg} has the momentum {momenta[row, leg].tolist()}, which is impossible: "
            "give finite numbers as (E, px, py, pz) with a positive energy, for incoming particles too."
        )


def _squares(momenta: NDArray[np.float64]) -> NDArray[np.float64]:
    return momenta[..., 0] ** 2 - (momenta[..., 1:] ** 2).sum(axis=2)


def _check_shells(momenta: NDArray[np.float64], particles: tuple[str, ...]) -> None:
    masses = np.array([FIELDS[name].mass for name in particles])
    squares = _squares(momenta)
    bad = np.abs(squares - masses**2) > TOLERANCE * momenta[..., 0] ** 2
    if bad.any():
        row, leg = np.argwhere(bad)[0]
        raise PlannerError(
            f"{row_of(row)}: particle {leg} ({particles[leg]}) is off shell, its E^2 - p^2 is "
            f"{squares[row, leg]:.6g} GeV^2 and should be {masses[leg] ** 2:.6g}: check masses, units, the order of "
            "the particles, and the order (E, px, py, pz)."
        )


def _check_one_mass(momenta: NDArray[np.float64], leg: int) -> None:
    """Check that a particle has the same p^2 in all rows, within the tolerance.

    ``momenta`` (points, 4) belong to the particle number ``leg``. Raises PlannerError otherwise.
    """
    squares, off = _squares(momenta[:, None])[:, 0], TOLERANCE * momenta[:, 0] ** 2
    low, high = squares - off, squares + off
    if low.max(initial=-np.inf) > high.min(initial=np.inf):
        ends = np.concatenate([low, high])
        order = np.argsort(ends, kind="stable")
        most = ends[order[np.argmax(np.cumsum(np.where(order < len(low), 1, -1)))]]
        bad = (low > most) | (high < most)
        row = int(np.argmax(bad))
        raise PlannerError(
            f"{row_of(row)}: particle {leg} is off shell, its E^2 - p^2 is {squares[row]:.6g} GeV^2, but "
            f"{np.median(squares[~bad]):.6g} in most rows: leave such rows out, and use the same order of "
            "the particles in all rows."
        )


def _check_conserved(momenta: NDArray[np.float64]) -> None:
    incoming = momenta[:, :INCOMING].sum(axis=1)
    off = incoming - momenta[:, INCOMING:].sum(axis=1)
    bad = np.abs(off).max(axis=1) > TOLERANCE * incoming[:, 0]
    if bad.any():
        row = int(np.argmax(bad))
        energy = np.sqrt(max(_squares(incoming[None])[0, row], 0))
        raise PlannerError(
            f"{row_of(row)} does not conserve momentum: incoming minus outgoing is "
            f"({', '.join(f'{x:.3g}' for x in off[row])}) GeV at sqrt(s) = {energy:.6g} GeV: put the two incoming "
            "particles first, with positive energies."
        )
