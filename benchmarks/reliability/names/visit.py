"""Addresses of the pages in a workspace of hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

from benchmarks.reliability.names.hostile import NAMES
from benchmarks.reliability.names.space import COLUMNS, Space

PARTS = ("Runs and law", "Residuals", "Correlations", "Validation", "Compare laws", "Another fit")
QUESTIONS = ("Budget or target", "Simulate or repeat", "Smaller for longer", "Compare")


def addresses(space: Space) -> Iterator[tuple[str, str]]:
    """Yield a label and the address of each page."""
    fits = space.fits
    yield "Home", ""
    for show in ("Columns", "Runs", "Curves", "Agreement", "Rows", "Source"):
        yield f"Data, {show}", to_page("data", table=space.table, show=show)
    where = f'"{COLUMNS["group"]}" <> \'{NAMES[20]}'
    yield "Data, filter", to_page("data", table=space.table, show="Rows", where=where)
    yield "Data, unknown table", to_page("data", table=NAMES[5])
    for key, fit in fits.items():
        for part in PARTS if key == "surface" else PARTS[:2]:
            yield f"Fit, {key}, {part}", to_page("fit", table=space.table, fit=fit, part=part)
        yield f"Explore, {key}", to_page("explore", fit=fit)
    for view in ("Iso-FLOP", "Frontier"):
        yield f"Explore, {view}", to_page("explore", fit=fits["metric"], figure=view)
    yield "Fit, typed formula", to_page("fit", table=space.table, law="formula", formula=NAMES[2])
    yield "Fit, unknown fit", to_page("fit", table=space.table, fit=NAMES[1])
    yield "Fit, another measure", to_page("fit", table=space.table, y=COLUMNS["metric"])
    yield "Fit, unknown measure", to_page("fit", table=space.table, y=NAMES[5])
    for question in QUESTIONS:
        yield f"Plan, {question}", to_page("plan", question=question, fit=fits["surface"], one_pass=fits["surface"])
    for key in ("metric", "map", "own axis"):
        yield f"Plan, {key}", to_page("plan", fit=fits[key])
    yield "Plan, metric of a budget", to_page("plan", fit=fits["surface"], maps=COLUMNS["metric"], budget="1e21")
    yield "Plan, invalid budget", to_page("plan", fit=fits["surface"], budget=NAMES[5])
    yield "Plan, unknown fit", to_page("plan", fit=NAMES[7])
    yield "Plan, unknown plan", to_page("plan", question="Compare", plans=NAMES[15])
    yield "Recommender", to_page("recommender", runs=space.table, metric=COLUMNS["metric"])
    yield "Recommender, regimes", to_page("recommender", runs=space.table, agree_runs=space.table)
    yield "Recommender, invalid compute", to_page("recommender", flops=NAMES[14], metric=NAMES[5])
    yield "Train", "train"
    yield "Train, unknown sweep", to_page("train", sweep=NAMES[6], family="named")
    yield "Precision", to_page("precision", reach=NAMES[2])
    yield "Precision, a run", to_page("precision", scale="a run of mine", x1="1e4", loss1=NAMES[14])
    yield "Unknown page", quote(NAMES[14])
    yield "Unknown view", to_page("", view=NAMES[6])


def to_page(page: str, **query: str) -> str:
    """Return the address of a page with ``query`` as its query parameters."""
    return f"{page}?{urlencode(query)}"
