"""Metrics: saved fits that map what the law describes to what is asked for, such as background rejection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from app.views.blanks import words
from app.views.cached import saved_fit
from app.views.parts import distinct, plain
from app.views.state import fit_of, recall, remember
from engine.fitting.result import Fit
from engine.planning.metric import Through, through
from engine.planning.plan import spans
from engine.store import results
from engine.store.database import Database


def maps_of(db: Database, fit: Fit) -> dict[str, str]:
    """The saved fits that map what ``fit`` describes to a metric: their names by hash, those of its own table first.

    None for a published law: what other runs say of a metric is not what its own would.
    """
    if published(fit):
        return {}
    saved = results.fits(db)
    own = next((one.table_id for one in saved if one.hash == fit.hash), "")
    found = {}
    for one in sorted(saved, key=lambda one: one.table_id != own):
        y, axes = _describes(one.hash, str(db.folder), db)
        if axes == (fit.spec.y,) and y != fit.spec.y:
            found[one.hash] = y if one.table_id == own else f"{y} (of other runs)"
    return distinct(found)


def law_of(db: Database, map: Fit) -> str:
    """The newest saved law that ``map`` goes with, by its hash; empty where it is no map, or has none."""
    if map.law.frontier is not None or not map.law.axis:
        return ""
    for one in results.fits(db):
        if _describes(one.hash, str(db.folder), db)[0] == map.law.axis and map.hash in maps_of(
            db, fit_of(db, one.hash)
        ):
            return one.hash
    return ""


def point_to(map: Fit, law: str) -> None:
    """Where to ask for the metric of a map: it has no cost of its own."""
    y, of = plain(map.spec.y), plain(map.law.axis or "")
    st.info(f"This fit says which {y} goes with which {of}; what it costs is said by a law of {of}.",
            icon=":material/alt_route:")  # fmt: skip
    st.page_link("views/plan.py", label=f"Ask for a {y} there", query_params={"fit": law, "ask": "Target",
                 "map": map.hash}, icon=":material/flag:")  # fmt: skip


def example(db: Database, fit: Fit, map: str) -> str:
    """A target to type, by the runs: the best value of what ``fit`` describes, or of the metric of ``map``."""
    of = saved_fit(db, map) if map else fit
    span = spans(of).get("loss")
    return f"best run {span[0 if of.sign > 0 else 1]:.4g}" if span else "for example 2.0"


def published(fit: Fit) -> bool:
    """Whether ``fit`` is a law as its paper printed it."""
    return fit.objective is None


@st.cache_resource(max_entries=2000, show_spinner=False)
def _describes(fit_hash: str, folder: str, _db: Database) -> tuple[str, tuple[str, ...]]:
    """What a saved fit describes, and the columns that it reads."""
    fit = results.fit(_db, fit_hash)
    return fit.spec.y, tuple(fit.law.axes)


def choose_target(fit: Fit, maps: Mapping[str, str]) -> str:
    """What must reach a target: the hash of a map, "" for what the law itself describes."""
    y = fit.spec.y
    asked = recall("map")
    if asked and asked not in maps:
        st.info(f"The map {plain(asked)} does not go with this law. {why(fit)}", icon=":material/info:")
    if not maps:
        words(f"a {plain(y)} of")
        return ""
    names = {"": y, **maps}
    st.session_state["map_choice"] = asked if asked in maps else ""
    chosen = st.selectbox(
        "What must reach a target", list(names), format_func=names.__getitem__, key="map_choice", width=200,
        label_visibility="collapsed", on_change=lambda: remember("map", st.session_state["map_choice"]),
    )  # fmt: skip
    words("of")
    return str(chosen)


def choose_shown(fit: Fit, maps: Mapping[str, str]) -> list[str]:
    """The maps whose metrics a budget shows."""
    asked = [name for name in recall("maps").split(",") if name]
    missing = [name for name in asked if name not in maps]
    if missing:
        st.info(f"The map {plain(missing[0])} does not go with this law. {why(fit)}", icon=":material/info:")
    if not maps:
        return []
    words("and want to see")
    st.session_state["maps_choice"] = [name for name in asked if name in maps]
    return list(
        st.multiselect(
            "Metrics to expect", list(maps), format_func=maps.__getitem__, key="maps_choice", width=260,
            placeholder="a metric", label_visibility="collapsed",
            on_change=lambda: remember("maps", ",".join(st.session_state["maps_choice"])),
        )
    )  # fmt: skip


def open_map(db: Database, fit: Fit, fit_hash: str) -> Through:
    """The map with that hash, read for ``fit``. Raises PlannerError where it is none, or turns within its runs."""
    return through(fit, saved_fit(db, fit_hash))


def why(fit: Fit) -> str:
    """Why no metric can be asked for, and what to do."""
    y = plain(fit.spec.y)
    if published(fit):
        return (
            f"This law is published without a map from its {y} to a metric (background rejection, recall@10, ...), so "
            "no number of one is shown: fit runs of your own, and a metric-map to them."
        )
    return f"No such map is saved: fit a metric-map of the metric on {y} on the Fit page."


def foreign(fit: Fit, maps: Iterable[Through]) -> list[str]:
    """A sentence for each map that was fitted to other runs than the law."""
    return [
        f"The map to {one.map.spec.y} was fitted to other runs ({one.map.data.source}) than the law."
        for one in maps
        if (one.map.data.snapshot or one.map.data.sha256) != (fit.data.snapshot or fit.data.sha256)
    ]
