"""A plan on the page: the sentence, the table, the picture, and the way to keep it."""

from __future__ import annotations

import csv
import io
import json
import re

import streamlit as st

from app.figures import plan as plan_figure
from app.views.cached import runs_behind
from app.views.parts import doubts, draw, plain, sentences
from app.views.planning import pricing
from app.views.shelf import deleted, manage
from engine.fitting.result import Fit
from engine.planning import Plan, floor_of, to_json
from engine.planning.curves import plan_curve
from engine.planning.text import Row, bill_rows, number, rows
from engine.store import results
from engine.store.database import Database

MOST_PLANS = 20
_UNIT = re.compile(r"(?<=\d) (?=%|[kMBT]\b)")
"""The space between a number and its unit, where no line may break."""
COLUMNS = ("Quantity", "Value", "68 %", "95 %", "Note")


def show(db: Database, fit: Fit, plan: Plan) -> None:
    """The answer, most important first."""
    with st.container(border=True):
        sentence = _UNIT.sub("\u00a0", plain(plan.sentence))
        st.header(sentence, anchor=False)
        if plan.p_reach == 1.0:
            st.markdown(f"Every refit of the law allows this {plain(plan.y)}.")
    table = (*rows(plan), *bill_rows(plan))
    st.table(
        [{k: plain(v) for k, v in _shown(row).items()} for row in table],
        border="horizontal",
        hide_index=True,
        alt="The plan in numbers.",
    )
    st.caption(f"Compute is counted by {plan.compute.text}. Decades beyond are counted from the runs.")
    _picture(db, fit, plan)
    doubts(plan.warnings)
    _keep(db, plan, table)


def _picture(db: Database, fit: Fit, plan: Plan) -> None:
    runs, arrays, floor = runs_behind(db, fit), plan_curve(plan, fit), floor_of(fit)
    draw(lambda theme: plan_figure.draw(plan, arrays, runs, floor, theme), key="plan_picture")


def _shown(row: Row) -> dict[str, str]:
    unit = f" [{row.unit}]" if row.unit and " per " not in row.unit else ""
    far = f"{row.beyond} beyond" if row.beyond else ""
    cells = (row.quantity + unit, row.value, row.ci68, row.ci95, ", ".join(filter(None, (row.note, far))))
    return dict(zip(COLUMNS, cells, strict=True))


def _keep(db: Database, plan: Plan, table: tuple[Row, ...]) -> None:
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left.form("save_plan", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the plan", _name(plan), max_chars=120, key=f"name_{_name(plan)}")
        if st.form_submit_button("Save the plan", type="primary"):
            with sentences():
                results.save_plan(db, plan, name or "")
                st.toast("The plan is saved.")
    with right.container(horizontal=True, horizontal_alignment="right"):
        st.download_button(
            "JSON", json.dumps(to_json(plan), indent=2), "plan.json", "application/json", icon=":material/download:",
            on_click="ignore",
        )  # fmt: skip
        st.download_button("CSV", _csv(table), "plan.csv", "text/csv", icon=":material/download:", on_click="ignore")


def _name(plan: Plan) -> str:
    asked = plan.allocation["C" if plan.question.kind == "budget" else "loss"]
    return f"{number(asked)} FLOPs" if plan.question.kind == "budget" else f"{plan.y} {number(asked)}"


def _csv(table: tuple[Row, ...]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    writer.writerows(_shown(row) for row in table)
    return out.getvalue()


def saved(db: Database) -> None:
    """The plans that were saved, each with the link that asks it again."""
    kept = results.plans(db)
    if kept:
        st.header("Saved plans", anchor=False)
    for one in kept[:MOST_PLANS]:
        _saved(db, one)
    if len(kept) > MOST_PLANS:
        st.caption(f"{len(kept) - MOST_PLANS} older plans are not shown.")
    gone = {p.hash: p.name for p in results.plans(db, deleted=True)}
    deleted("plans", gone, lambda key: results.restore_plan(db, key))


def _saved(db: Database, one: results.SavedPlan) -> None:
    plan = results.plan(db, one.hash)
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            address = link(one.fit_hash, plan)
            st.page_link("views/plan.py", label=plain(one.name), query_params=address, icon=":material/flag:")
            manage(
                one.hash,
                one.name,
                lambda name: results.rename_plan(db, one.hash, name),
                lambda: results.delete_plan(db, one.hash),
            )
        st.caption(plain(plan.sentence))


def link(fit_hash: str, plan: Plan) -> dict[str, str]:
    """What the address of the Plan page holds to ask for ``plan`` again."""
    kind = plan.question.kind
    asked = {"fit": fit_hash, "ask": kind.capitalize(), kind: repr(plan.question.value)}
    return asked | pricing.link(plan.prices)
