"""The user's own runs behind each knob of a recommender, in place of what the papers print.

For each knob a table or a saved fit is chosen, and the columns that its sweep is read from; the link holds both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st

from app.views.parts import distinct, plain
from app.views.state import fit_of, recall, remember
from app.views.upload import file_box
from engine.errors import PlannerError
from engine.fitting import FitSpec, fit
from engine.fitting.result import Fit
from engine.fitting.spec import ObjectiveName
from engine.laws import get_law
from engine.planning.recommender import Evidence, Optimum, sweep, with_fallback
from engine.planning.recommender.choice import Knob
from engine.schema import Metric, Roles, Runs
from engine.store import results, snapshots, tables
from engine.store.database import Database

REFITS = 200
PRINTED = "What the papers print"
OBJECTIVE: ObjectiveName = "ols"


@dataclass(frozen=True)
class Asked:
    """The columns that a knob is read from beside the roles of the table: a label, and names that are likely."""

    names: Mapping[str, tuple[str, str]]
    needs: str


ASKED: dict[Knob, Asked] = {
    "s": Asked({"over": ("Column of the share, as a fraction", r"s|share|.*embedder.*|.*share.*")},
               "one row a run of the share sweep, with the metrics that it reached"),
    "B": Asked({"over": ("Column of the batch size", r"b|batch|.*batch.*"),
                "updates": ("Column of the updates to the target", r".*updates.*|.*steps.*")},
               "one row a batch size, with the updates to a target; a column named metric says of which"),
    "N": Asked({}, "an iso-FLOP sweep: N, D or C, the budget, and the metrics that each run reached"),
    "K": Asked({"over": ("Column of the extra negatives", r"k|.*negatives.*|n_neg.*")},
               "one row a run of the sweep of negatives, with the metrics that it reached"),
}  # fmt: skip
FITTED: dict[Knob, str] = {"B": "critical-batch", "N": ""}
"""Knobs that a saved fit can say, and its law; empty for any law that has a frontier."""


@dataclass(frozen=True, eq=False)
class Own:
    """What the user's runs say: the evidence, the runs behind each knob, and a sentence where they cannot be read."""

    evidence: Evidence
    runs: Mapping[Knob, Runs]
    errors: Mapping[Knob, str]


def read(db: Database, metric: str) -> Own:
    """The evidence that is chosen, knob by knob; ``metric`` is whose updates a batch sweep without groups counts."""
    found = Evidence()
    runs: dict[Knob, Runs] = {}
    errors: dict[Knob, str] = {}
    for knob in ASKED:
        chosen = recall(f"{knob}_runs")
        if not chosen:
            continue
        try:
            part, behind = _read(db, knob, chosen, metric)
        except PlannerError as error:
            errors[knob] = str(error)
            continue
        found = with_fallback(found, part)
        if behind is not None:
            runs[knob] = behind
    return Own(found, runs, errors)


def choose(db: Database, knob: Knob) -> None:
    """The select over tables and fits for ``knob``, the columns to read, and a box for a new table."""
    options = _options(db, knob)
    chosen = recall(f"{knob}_runs")
    key = f"{knob}_choice"
    st.session_state[key] = chosen if chosen in options else ""
    st.selectbox(
        f"Runs that say {'N and D' if knob == 'N' else knob}",
        list(options),
        format_func=options.__getitem__,
        key=key,
        on_change=lambda: remember(f"{knob}_runs", st.session_state[key]),
    )
    remember(f"{knob}_runs", chosen if chosen in options else "")
    if chosen and chosen not in options:
        st.error(
            f"The runs {plain(chosen)} of this link are not in this workspace: load their file here, or choose others.",
            icon=":material/link_off:",
        )
    elif chosen in {t.id for t in tables.all(db)}:
        _choose_columns(db, knob, chosen)
    with st.expander("Bring a table of your own", icon=":material/upload_file:"):
        st.caption(f"It takes {ASKED[knob].needs}.")
        _bring(db, knob)


def source(db: Database, knob: Knob) -> str:
    """What the runs of ``knob`` are called; empty where the papers' are used."""
    chosen = recall(f"{knob}_runs")
    return _options(db, knob).get(chosen, "") if chosen else ""


def _options(db: Database, knob: Knob) -> dict[str, str]:
    named = {t.id: t.name for t in tables.all(db)}
    if knob in FITTED:
        named |= {f.hash: f"{f.name} (fit)" for f in results.fits(db) if _says(db, knob, f)}
    return {"": PRINTED} | distinct(named)


def _says(db: Database, knob: Knob, saved: results.SavedFit) -> bool:
    if FITTED[knob]:
        return saved.law == FITTED[knob]
    return saved.law != "formula" and fit_of(db, saved.hash).law.frontier is not None


def _choose_columns(db: Database, knob: Knob, table: str) -> None:
    if not ASKED[knob].names:
        return
    numeric = _numeric(db, table)
    for place, (name, (label, _)) in zip(st.columns(2), ASKED[knob].names.items(), strict=False):
        key = f"{knob}_{name}"
        st.session_state[f"{key}_choice"] = _column(numeric, knob, name)
        place.selectbox(
            label,
            numeric,
            key=f"{key}_choice",
            on_change=lambda key=key: remember(key, st.session_state[f"{key}_choice"]),
        )
        remember(key, st.session_state[f"{key}_choice"] or "")


def _bring(db: Database, knob: Knob) -> None:
    st.session_state.setdefault("uploads", 0)

    def take(sent: bytes, name: str, part: str | None = None) -> None:
        table = tables.add(db, sent, name, sheet=part, inner=part)
        st.session_state["uploads"] += 1
        remember(f"{knob}_runs", table.id)
        st.rerun()

    file_box(f"{knob}_{st.session_state['uploads']}", "A file with one row a training run", take)


def _numeric(db: Database, table: str) -> list[str]:
    return [c.name for c in tables.columns(db, table) if c.kind == "number"]


def _column(numeric: Sequence[str], knob: Knob, name: str) -> str | None:
    """The column of the link, else the one whose name is likely, else the first."""
    asked = recall(f"{knob}_{name}")
    if asked in numeric:
        return asked
    likely = ASKED[knob].names[name][1]
    found = [c for c in numeric if re.fullmatch(likely, c.lower())]
    return next(iter([*found, *numeric]), None)


def _read(db: Database, knob: Knob, chosen: str, metric: str) -> tuple[Evidence, Runs | None]:
    if chosen in {f.hash for f in results.fits(db)}:
        fitted = fit_of(db, chosen)
        says = {_metric_of(fitted, metric): fitted}
        return (Evidence(batch=says) if knob == "B" else Evidence(allocation=says)), None
    if chosen not in {t.id for t in tables.all(db)}:
        raise PlannerError(f"The runs of {knob} in this link are not in this workspace: choose others below.")
    columns = {name: _column(_numeric(db, chosen), knob, name) or "" for name in ASKED[knob].names}
    roles = _roles(tables.roles(db, chosen), knob, columns)
    if knob == "B" and roles.group is None:
        words = [c.name for c in tables.columns(db, chosen) if c.kind == "text" and c.name.lower() == "metric"]
        roles = roles.model_copy(update={"group": next(iter(words), None)})
    snapshot = snapshots.take(db, chosen, roles)
    return _read_sweep(knob, snapshot.hash, tuple(columns.values()), metric, str(db.folder), db)


def _roles(roles: Roles, knob: Knob, columns: Mapping[str, str]) -> Roles:
    """The mapping of the table with the swept column as a hyperparameter, and the updates as what is described."""
    if not columns:
        return roles
    single = {role: None for role, column in roles if isinstance(column, str) and column in columns.values()}
    measured = tuple(m for m in roles.metrics if m.column not in columns.values())
    if knob == "B":
        measured = (Metric(column=columns["updates"], direction="min"),)
    return roles.model_copy(update={**single, "hyper": (columns["over"],), "metrics": measured})


@st.cache_resource(max_entries=32, show_spinner="Fitting the sweep")
def _read_sweep(
    knob: Knob, snapshot: str, columns: tuple[str, ...], metric: str, folder: str, _db: Database
) -> tuple[Evidence, Runs]:
    """The part of the evidence that the runs of a snapshot give."""
    runs = snapshots.runs(_db, snapshots.get(_db, snapshot))
    if knob == "N":
        return Evidence(allocation=_frontiers(runs)), runs
    if knob == "B":
        return Evidence(batch=_batches(runs, columns[0], columns[1], metric)), runs
    spec = FitSpec(law="starvation", axis=columns[0], objective=OBJECTIVE, bootstrap=REFITS)
    optima = tuple(_named(one, runs) for one in sweep(runs, spec))
    return (Evidence(share=optima) if knob == "s" else Evidence(negatives=optima)), runs


def _named(one: Optimum, runs: Runs) -> Optimum:
    """The optimum under the name that its table gives the loss, by which tables know each other's metrics."""
    return replace(one, metric=runs.roles.loss or one.metric) if one.metric == "loss" else one


def _frontiers(runs: Runs) -> dict[str, Fit]:
    """The frontier of the loss and of each metric through the iso-FLOP minima; raises where none can be read."""
    names = {runs.roles.loss or "loss": "loss"} if "loss" in runs else {}
    names |= {m.column: m.column for m in runs.roles.metrics if m.column in runs}
    if not names:
        raise PlannerError("The table of N and D has neither a loss nor a metric: map one on the Data page.")
    found, first = {}, None
    for name, y in names.items():
        try:
            found[name] = fit(FitSpec(law="isoflop", y=y, objective=OBJECTIVE, bootstrap=REFITS), runs)
        except PlannerError as error:
            first = first or error
    if not found and first is not None:
        raise first
    return found


def _batches(runs: Runs, over: str, y: str, metric: str) -> dict[str, Fit]:
    """The critical batch of each group of runs, the groups being metrics; without groups that of ``metric``."""
    get_law("critical-batch", over)
    spec = FitSpec(law="critical-batch", axis=over, y=y, objective=OBJECTIVE, bootstrap=REFITS)
    group = runs.labels.get("group")
    if group is None:
        return {metric: fit(spec, runs)}
    return {name: fit(spec, runs.take(group == name)) for name in dict.fromkeys(group.tolist())}


def _metric_of(fitted: Fit, metric: str) -> str:
    """The metric that a saved fit is about: its group or the served one for updates, else what it describes."""
    if fitted.law.name == "critical-batch":
        return fitted.data.group or metric
    return fitted.data.roles.get("loss", "loss") if fitted.spec.y == "loss" else fitted.spec.y
