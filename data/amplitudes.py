"""Published laws of amplitude surrogates by process, for plans before training (amplitude paper, Tables 2 to 15)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import cast

from isoplan.data.files import is_there, listed, path, records
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import read_fit
from isoplan.engine.fitting.types.result import Interval
from isoplan.engine.planning.amplitude.cell_laws import PLAIN, DataExponent
from isoplan.engine.planning.amplitude.cells import TrainedCell, read_cells
from isoplan.engine.planning.amplitude.evidence import Axis, PublishedLaw

RAW = ("2", "3", "4")
"""Numbers of the paper's tables for networks that were trained on raw amplitudes (process ttH).

All other tables are for networks that were trained on the logarithm of the amplitudes.
"""


@cache
def published_laws() -> tuple[PublishedLaw, ...]:
    """Return all 81 fits of the paper, in the order of its tables.

    The field ``beside`` of a fit contains the laws of the same process and network for the other axes (N, D or C).
    """
    alone = _alone()
    return tuple(replace(law, beside=_beside(law, alone)) for law in alone)


def _beside(law: PublishedLaw, others: Sequence[PublishedLaw]) -> tuple[PublishedLaw, ...]:
    """Return the laws of the same process and network for the other axes (N, D or C).

    Laws of the same axis differ in the value of the quantity that their scan fixes. The law with the largest value is
    used.
    """
    own = [o for o in others if (o.process, o.network) == (law.process, law.network) and o.axis != law.axis]
    best = {o.axis: o for o in sorted(own, key=lambda o: o.held_value)}
    return tuple(best.values())


@cache
def _alone() -> tuple[PublishedLaw, ...]:
    """Return the fits of the paper's tables. Their field ``beside`` is still empty."""
    particles = {row["process"]: int(row["n_f"]) for row in records("papers/amplitudes/processes.csv")}
    return tuple(
        PublishedLaw(
            row["process"],
            particles[row["process"]],
            cast(Axis, row["x"]),
            f"{row['fixed']} = {row['fixed_value']}",
            f"{row['architecture']}, {row['training_loss']}",
            row["table"] in RAW,
            row["table"],
            read_fit(json.loads(path(f"cards/{card_of(row)}").read_text("utf-8"))),
        )
        for row in records("papers/amplitudes/tables02_15_fits.csv")
    )


def card_of(row: Mapping[str, str]) -> str:
    """Return the file name of the card of a published fit. For fits over D, the name does not contain the axis."""
    along = [] if row["x"] == "D" else [row["x"]]
    kept = row["fixed"] + row["fixed_value"]
    parts = [row["process"], row["architecture"].split("-")[0], row["training_loss"], *along, kept]
    return f"amplitudes_{'_'.join(parts)}.json"


@cache
def best_laws() -> tuple[PublishedLaw, ...]:
    """Return one law of the MLP per process and axis: the law at the largest value of the fixed quantity.

    Networks that were trained on amplitudes instead of their logarithm are left out.
    """
    rows = records("papers/amplitudes/tables02_15_fits.csv")
    found: dict[tuple[str, str], tuple[float, PublishedLaw]] = {}
    for row, law in zip(rows, published_laws(), strict=True):
        held = float(row["fixed_value"])
        key = (law.process, law.axis)
        if law.network == PLAIN and not law.raw and held > found.get(key, (0.0, law))[0]:
            found[key] = held, law
    return tuple(law for _, law in found.values())


def published_law(process: str, axis: str = "D", held: str = "", network: str = PLAIN) -> PublishedLaw:
    """Return the published law of ``process`` along ``axis``, with the other quantity fixed at ``held`` ("N = 1e6").

    If ``held`` is empty, the law at the largest fixed value is returned. ``network`` is an architecture and its
    training loss. Some processes also have the networks "MLP-I, heteroscedastic" or "LLoCa-Transformer, MSE". Raises
    PlannerError if the paper has no such law; the error lists the available processes, networks or fixed values.
    """
    named = [law for law in published_laws() if law.process == process]
    if not named:
        known = ", ".join(dict.fromkeys(law.process for law in published_laws()))
        raise PlannerError(f"No amplitude law of {process!r} is published: choose one of {known}.")
    own = [law for law in named if (law.axis, law.network) == (axis, network)]
    if not own:
        known = ", ".join(dict.fromkeys(f"{law.axis} with {law.network}" for law in named))
        raise PlannerError(f"No law of {process} against {axis} with {network} is published: choose {known}.")
    chosen = [law for law in own if law.held == held] if held else own[-1:]
    if not chosen:
        raise PlannerError(f"{process} was not measured at {held}: choose {', '.join(law.held for law in own)}.")
    return chosen[0]


@cache
def trained_cells() -> tuple[TrainedCell, ...]:
    """Return the cells (training runs) that Isoplan trained for the bundled scans of D."""
    tables = listed("grids", "amplitudes_data", ".csv")
    return tuple(cell for table in tables for cell in read_cells(records(table), table))


@cache
def trained_along(axis: Axis) -> tuple[TrainedCell, ...]:
    """Return the cells (training runs) of the bundled scan of N or C; empty if the scan is not bundled."""
    table = f"grids/amplitudes_{'size' if axis == 'N' else 'compute'}.csv"
    return read_cells(records(table), table) if is_there(table) else ()


@cache
def published_exponents(held: str = "N = 1e5") -> tuple[DataExponent, ...]:
    """Return the published exponents of D for the MLP, one per process; ``held`` is the quantity that the scan fixes.

    Source: amplitudes, Fig. 10 left and Tables 2 to 15.
    """
    laws = [law for law in published_laws() if (law.axis, law.network, law.held) == ("D", PLAIN, held)]
    dimension = {row["process"]: int(row["dimension"]) for row in records("papers/amplitudes/processes.csv")}
    return tuple(DataExponent(law.process, dimension[law.process], law.alpha, _ends(law)) for law in laws)


def _ends(law: PublishedLaw) -> Interval:
    """Return the published 68 % interval of the exponent alpha, or (alpha, alpha) if the paper prints no interval."""
    printed = next(p for p in law.fit.parameters if p.name == "alpha").ci68
    return printed or (law.alpha, law.alpha)
