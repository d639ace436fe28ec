"""Fits of all bundled tables and law cards, for tests that check each of these fits."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from isoplan.data.catalogue import BUNDLED, CARDS, path
from isoplan.engine.errors import PlannerError
from isoplan.engine.fitting import fit
from isoplan.engine.fitting.cards import read_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.schema import Runs
from isoplan.engine.store.database.database import memory
from isoplan.engine.store.tables import snapshots, tables
from isoplan.engine.store.tables.snapshots import Filter

REFITS = 40


DEMOS = {demo.name: demo for demo in BUNDLED}


@lru_cache
def runs_of(name: str) -> Runs:
    """Return the runs of a bundled table with the column roles of the catalogue."""
    demo = DEMOS[name]
    with memory() as db:
        info = tables.add(db, Path(str(path(demo.file))), demo.name)
        return snapshots.runs(db, snapshots.take(db, info.id, demo.roles, Filter()))


@lru_cache
def fitted(name: str) -> Fit | None:
    """Fit the default law of a bundled table; None if groups share a parameter or the fit raises PlannerError."""
    demo = DEMOS[name]
    if demo.spec.share:
        return None
    try:
        return fit(demo.spec.model_copy(update={"bootstrap": REFITS}), runs_of(name))
    except PlannerError:
        return None


@lru_cache
def planned() -> tuple[Fit, ...]:
    """Return every bundled fit and law card from which a plan can be made."""
    own = [made for name in DEMOS if (made := fitted(name)) is not None]
    cards = [read_fit(json.loads(path(card.file).read_text(encoding="utf-8"))) for card in CARDS]
    return tuple(one for one in (*own, *cards) if one.law.least_compute is not None)
