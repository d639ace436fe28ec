"""Maps of the Plan page: saved fits that predict a metric, such as background rejection, from the loss of a law."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from isoplan.app.bundled import task_of
from isoplan.app.views.fits.fitting import fit_map
from isoplan.app.views.planning.asked import own_target
from isoplan.app.views.widgets.cache import saved_fit
from isoplan.app.views.widgets.inputs import words
from isoplan.app.views.widgets.parts import distinct, escape_markdown, sentences
from isoplan.app.views.widgets.scopes import belong
from isoplan.app.views.widgets.state import owner_of_fit, recall, remember, table_of_fit, task_of_fit
from isoplan.engine.fitting.types.result import Fit
from isoplan.engine.planning.plan.metric import Through, through
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.saved import results
from isoplan.engine.store.saved.results import SavedFit
from isoplan.engine.store.tables import tables

SIZES = {"N", "D", "C", "U", "epochs", "budget", "step"}
"""Columns that determine the cost of a run. If all inputs of a fit are in this list, the fit is a scaling law and not a
map."""
UNMAPPED = "metric "
"""Prefix of the key of a metric without a map (a fit that predicts the metric).

The key of a metric with a map is the hash of the map.
"""


def maps_of(db: Database, fit: Fit) -> dict[str, str]:
    """Return the saved fits that predict a metric from the quantity of ``fit``: their names by hash.

    Fits to the table of ``fit`` come first. Maps of another task are excluded. All tables whose task is unknown are
    treated as tables of the same task. The result is empty for a published law, because its runs are not available.
    """
    if published(fit):
        return {}
    saved = results.fits(db)
    own, task = next((one.table_id for one in saved if one.hash == fit.hash), ""), task_of_fit(db, fit.hash)
    found = {}
    for one in sorted(saved, key=lambda one: one.table_id != own):
        y, axes = _describes(one.hash, str(db.folder), db)
        same = one.table_id == own or task_of(db, one.table_id) == task
        if axes == (fit.spec.y,) and y != fit.spec.y and same:
            found[one.hash] = y if one.table_id == own else f"{y} (of other runs)"
    return distinct(found)


def is_map(db: Database, fit_hash: str) -> bool:
    """Return whether a saved fit is a map, for example from the loss to the accuracy.

    A map describes a quantity as a function of measured quantities. A plan needs a law in addition to a map, because a
    map does not determine the cost.
    """
    saved = next((one for one in results.fits(db) if one.hash == fit_hash), None)
    if saved is None:
        return False
    axes = _describes(fit_hash, str(db.folder), db)[1]
    if not axes or {*axes} <= SIZES:
        return False
    known = saved.table_id in {t.id for t in tables.all(db)}
    measured = {m.column for m in tables.roles(db, saved.table_id).metrics} if known else set[str]()
    return {*axes} <= {"loss"} | measured


def plannable(db: Database) -> list[SavedFit]:
    """Return the saved fits that the Plan page offers, newest first: all fits that are not maps."""
    return [one for one in results.fits(db) if not is_map(db, one.hash)]


def law_of(db: Database, map: Fit, y: Iterable[str] = ()) -> str:
    """Return the hash of a law that describes one of the columns ``y``; "" if no such law is saved.

    By default, ``y`` contains the inputs of ``map``. The law must be a fit to the table of ``map`` or to a table of the
    same task. Fits to the same table are preferred, then laws with a frontier, then newer fits.
    """
    own, wanted = table_of_fit(db, map.hash) or "", {*(y or map.law.axes)}
    task = task_of(db, own)
    near = [one for one in plannable(db) if one.table_id == own or (task and task_of(db, one.table_id) == task)]
    laws = [one for one in near if _describes(one.hash, str(db.folder), db)[0] in wanted]

    def apart(one: SavedFit) -> tuple[bool, bool]:
        return one.table_id != own, saved_fit(db, one.hash).law.frontier is None

    return next((one.hash for one in sorted(laws, key=apart)), "")


def follow_map(db: Database) -> Fit | None:
    """If the open fit is a map, open the law of its input instead, with the metric of the map as the target.

    If no such law is saved, open a law of the output of the map. For a map from accuracy to loss, this is a law of the
    loss. Returns the map if neither its input nor its output has a law. Otherwise returns None.
    """
    wanted = recall("fit")
    if not is_map(db, wanted):
        return None
    map = saved_fit(db, wanted)
    if law := law_of(db, map):
        for name, value in (("fit", law), ("map", wanted), ("ask", "Target")):
            remember(name, value)
    elif law := law_of(db, map, (map.spec.y,)):
        remember("fit", law)
    return None if law else map


def offer_law(db: Database, map: Fit) -> None:
    """State that ``map`` needs a law of its input, and show a link to the page Fit, where the user can fit this law."""
    y, x, table = map.spec.y, ", ".join(map.law.axes), table_of_fit(db, map.hash)
    x_name, y_name = escape_markdown(x), escape_markdown(y)
    st.info(f"This fit maps {x_name} to {y_name}, so it does not give a cost. Fit a law of {x_name} to the "
    f"same table.", icon=":material/alt_route:")  # fmt: skip
    query = {"table": table, "y": x} if table else {}
    st.page_link(
        "views/fit.py", label=f"Fit a law of {escape_markdown(x)}", query_params=query, icon=":material/show_chart:"
    )


def described(db: Database, fit: Fit, map: str) -> Fit:
    """Return the fit that describes the target quantity: the fit with hash ``map``, or ``fit`` if ``map`` is ""."""
    return saved_fit(db, map) if map else fit


def quantity(db: Database, fit: Fit, map: str) -> str:
    """Return the column of the target quantity: the metric of ``map``, or the quantity of ``fit`` if ``map`` is ""."""
    return _describes(map, str(db.folder), db)[0] if map else fit.spec.y


def published(fit: Fit) -> bool:
    """Return whether ``fit`` is a published law: its parameters are copied from a paper and not fitted here."""
    return fit.objective is None


@st.cache_resource(max_entries=2000, show_spinner=False)
def _describes(fit_hash: str, folder: str, _db: Database) -> tuple[str, tuple[str, ...]]:
    """Return the output column of a saved fit and its input columns."""
    fit = results.fit(_db, fit_hash)
    return fit.spec.y, tuple(fit.law.axes)


def unmapped(db: Database, fit: Fit, maps: Mapping[str, str]) -> dict[str, str]:
    """Return the metrics in the table of ``fit`` that no map predicts: their names by key (``UNMAPPED`` + name)."""
    table = table_of_fit(db, fit.hash)
    if table is None or published(fit):
        return {}
    known = {_describes(map, str(db.folder), db)[0] for map in maps if table_of_fit(db, map) == table}
    columns = (m.column for m in tables.roles(db, table).metrics)
    return {f"{UNMAPPED}{name}": name for name in columns if name not in {fit.spec.y, *known}}


def made_map(db: Database, fit: Fit, chosen: str) -> str:
    """Return the hash of the selected map. If the selected metric has no map, fit one to the runs of ``fit``.

    If the map cannot be fitted, a message states the reason and the result is "".
    """
    if not chosen.startswith(UNMAPPED):
        return chosen
    metric = chosen.removeprefix(UNMAPPED)
    with sentences(), st.spinner(f"Fitting {escape_markdown(metric)} as a function of {escape_markdown(fit.spec.y)}"):
        return fit_map(db, fit, metric)
    return ""


def choose_target(db: Database, fit: Fit, maps: Mapping[str, str], notes: DeltaGenerator) -> str:
    """Show the selection of the target quantity; return the hash of its map, or "" for the quantity of the law.

    Messages, such as a missing map, are shown in ``notes``.
    """
    y = fit.spec.y
    asked = _asked_map(db, fit, maps, notes)
    names = {"": y, **maps, **unmapped(db, fit, maps)}
    if len(names) == 1:
        words(f"a {escape_markdown(y)} of")
        return ""
    st.session_state["map_choice"] = asked
    chosen = st.selectbox(
        "Quantity with a target", list(names), format_func=names.__getitem__, key="map_choice", width=200,
        label_visibility="collapsed", on_change=lambda: remember("map", st.session_state["map_choice"]),
    )  # fmt: skip
    map = made_map(db, fit, str(chosen))
    remember("map", map)
    words("of")
    return map


def _asked_map(db: Database, fit: Fit, maps: Mapping[str, str], notes: DeltaGenerator) -> str:
    """Return the hash of the map in the page URL if this map belongs to ``fit``.

    Otherwise, the result is the hash of a map that predicts the same metric and was fitted to the table of ``fit``. If
    the table has this metric, but no map predicts it, the result is a key of ``unmapped``. If the table does not have
    the metric, the result is "" and a message in ``notes`` reports the missing map. The typed target is then removed,
    because it is a value of the missing metric and not of the quantity of the law.
    """
    asked = recall("map")
    belong("map", owner_of_fit(db, fit.hash), remembered=("map",))
    now = recall("map")
    possible = unmapped(db, fit, maps)
    if not asked or now in maps or now in possible:
        return now if now in maps or now in possible else ""
    metric = _describes(asked, str(db.folder), db)[0] if asked in {one.hash for one in results.fits(db)} else ""
    own = table_of_fit(db, fit.hash)
    alike = [one for one in maps if _describes(one, str(db.folder), db)[0] == metric]
    same = [one for one in alike if table_of_fit(db, one) == own]
    if not same and (key := f"{UNMAPPED}{metric}") in possible:
        return key
    if not same:
        own_target(db, fit, metric or asked)
        said = (
            f"{escape_markdown(metric)} has no map for"
            if metric
            else f"The map {escape_markdown(asked)} does not belong to"
        )
        more = (
            f"If a map to {escape_markdown(metric)} from other runs applies to this law, select this map."
            if alike
            else why(fit)
        )
        notes.info(f"{said} this fit. The target is {escape_markdown(fit.spec.y)} now. {more}", icon=":material/info:")
    remember("map", same[0] if same else "")
    return same[0] if same else ""


def choose_shown(db: Database, fit: Fit, maps: Mapping[str, str], notes: DeltaGenerator) -> list[str]:
    """Show the selection of the metrics that a plan for a budget predicts; return the hashes of their maps.

    If the page URL names a map that does not belong to the law, a message in ``notes`` names this map.
    """
    belong("maps", owner_of_fit(db, fit.hash), remembered=("maps",))
    asked = [name for name in recall("maps").split(",") if name]
    remember("maps", ",".join(asked))
    missing = [name for name in asked if name not in maps and not name.startswith(UNMAPPED)]
    if missing:
        notes.info(
            f"The map {escape_markdown(missing[0])} does not belong to this law. {why(fit)}", icon=":material/info:"
        )
    names = {**maps, **unmapped(db, fit, maps)}
    if not names:
        return []
    st.session_state["maps_choice"] = [name for name in asked if name in names]
    chosen = st.multiselect(
        "Metrics to expect", list(names), format_func=names.__getitem__, key="maps_choice", placeholder="None",
        on_change=lambda: remember("maps", ",".join(st.session_state["maps_choice"])),
    )  # fmt: skip
    found = [map for one in chosen if (map := made_map(db, fit, one))]
    remember("maps", ",".join(found))
    return found


def open_map(db: Database, fit: Fit, fit_hash: str) -> Through:
    """Pair the law ``fit`` with the map that has the hash ``fit_hash``.

    Raises PlannerError if the saved fit is not a map of the quantity of ``fit``. Also raises PlannerError if the map is
    not monotone over the runs of the map.
    """
    return through(fit, saved_fit(db, fit_hash))


def why(fit: Fit) -> str:
    """Return one or two sentences that state why a plan with ``fit`` predicts no metric, and what the user can do."""
    y = escape_markdown(fit.spec.y)
    if published(fit):
        return (
            f"This law is published without a map from its {y} to a metric (background rejection, recall@10, ...), so "
            f"no metric is shown. Fit a law and a metric-map to your own runs."
        )
    return f"No map of this metric is saved. On the page Fit, fit the law metric-map to the metric and {y}."


def foreign(fit: Fit, maps: Iterable[Through]) -> list[str]:
    """Return one sentence for each map that was fitted to different runs than the law ``fit``."""
    return [
        f"The map to {one.map.spec.y} and the law were fitted to different runs (map: {one.map.data.source})."
        for one in maps
        if (one.map.data.snapshot or one.map.data.sha256) != (fit.data.snapshot or fit.data.sha256)
    ]
