"""Fixtures for pages without a browser: each test has empty caches and its own workspace with the bundled tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from isoplan import app
from isoplan.app import workspace
from isoplan.app.bundled import load_bundled
from isoplan.data.catalogue import DEMOS
from isoplan.engine.fitting import FitSpec, fit
from isoplan.engine.store.database.database import FILE, Cursor, Database, memory, open_workspace
from isoplan.engine.store.saved import results
from isoplan.engine.store.tables import snapshots, tables
from tests.progress import LAST

MAIN = Path(app.__file__).with_name("main.py")
Open = Callable[..., AppTest]


@pytest.fixture(scope="session", autouse=True)
def _packages_are_looked_through_once() -> Iterator[None]:
    """Scan the installed packages for Streamlit components once.

    Without this fixture, every AppTest repeats the scan, which takes longer than most pages.
    """
    found = manifest_scanner.scan_component_manifests()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: found)
        yield


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the database file of a workspace with the bundled tables. ``demo`` copies the tables for each test."""
    folder = tmp_path_factory.mktemp("bundled")
    with open_workspace(folder) as database:
        load_bundled(database)
    return folder / FILE


@pytest.fixture
def db() -> Iterator[Database]:
    """Open an empty workspace and register it as the workspace of the pages."""
    st.cache_data.clear()
    st.cache_resource.clear()
    with memory() as database, workspace.registered(database):
        yield database


@pytest.fixture
def demo(db: Database, bundled: Path) -> Database:
    """Return a workspace with the bundled tables."""
    with db.read() as cursor:
        cursor.execute(f"ATTACH '{bundled}' AS bundled (READ_ONLY)")
    db.write(_copy_bundled)
    with db.read() as cursor:
        cursor.execute("DETACH bundled")
    return db


def _copy_bundled(cursor: Cursor) -> None:
    names = cursor.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'bundled'").fetchall()
    for name in (name for (name,) in names if name.startswith("t_")):
        cursor.execute(f"CREATE TABLE {name} AS FROM bundled.{name}")
    cursor.execute("INSERT INTO tables FROM bundled.tables")


@pytest.fixture
def r_top(jets: str, demo: Database) -> str:
    """Save a map from loss to top rejection, fitted to the first demo table, and return the hash of the map."""
    table = tables.by_name(demo, DEMOS[0].name)
    snapshot = snapshots.take(demo, table.id)
    spec = FitSpec(law="metric-map", y="R_top", axis="loss", objective="ols-log", bootstrap=60)
    made = fit(spec, snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    return results.save_fit(demo, made, name="R_top of loss", table_id=table.id)


@pytest.fixture
def open_page(db: Database) -> Open:
    """Return a function that opens a page with query parameters: ``open_page("plan", fit=hash, budget="1e20")``."""

    def opened(name: str, **query: str | list[str]) -> AppTest:
        at = AppTest.from_file(MAIN, default_timeout=LAST)
        at.query_params.update(query)
        at.switch_page(f"views/{'precision' if name == 'amplitude' else name}.py")
        return at.run()

    return opened


@pytest.fixture
def jets(demo: Database) -> str:
    """Fit the first demo table with 60 resamples, save the fit and return its hash."""
    table = tables.by_name(demo, DEMOS[0].name)
    snapshot = snapshots.take(demo, table.id)
    made = fit(FitSpec(bootstrap=60), snapshots.runs(demo, snapshot), snapshot=snapshot.hash)
    return results.save_fit(demo, made, name="Jets", table_id=table.id)


def grid(rows: int = 5) -> bytes:
    """Return a table of ``rows * rows`` runs that a law fits well: loss = 1.5 + 60 / N^0.3 + 400 / D^0.35."""
    lines = ["N,D,loss"]
    for i in range(rows):
        for j in range(rows):
            n, d = 10.0 ** (6 + 0.6 * i), 10.0 ** (8 + 0.6 * j)
            lines.append(
                f"{n:.6g},{d:.6g},{1.5 + 60 * n**-0.3 + 400 * d**-0.35 + 0.001 * ((i * 7 + j * 3) % 5 - 2):.6f}"
            )
    return "\n".join(lines).encode()


def written(at: AppTest) -> str:
    """Return the text and the captions of a page."""
    return "\n".join(str(e.value) for group in (at.markdown, at.caption) for e in group)


def said(at: AppTest) -> str:
    """Return the texts of all errors, warnings and notes on the page."""
    return "\n".join([*_errors(at), *(str(e.value) for group in (at.warning, at.info, warnings(at)) for e in group)])


def warnings(at: AppTest, level: str = "") -> list[Any]:
    """Return the folded texts of all warnings, or only of the warnings of one ``level``."""
    texts = [text for box in at.expander if "-badge[" in box.label for text in box.markdown]
    return [text for text in texts if f"-badge[{level.capitalize()}" in str(text.value)]


def told(at: AppTest) -> str:
    """Return the texts of all errors on the page. Fail if the page raised an unexpected exception."""
    text = "\n".join(_errors(at))
    assert "Something went wrong" not in text, text
    assert not at.exception, at.exception
    return text


def _errors(at: AppTest) -> list[str]:
    """Return the texts of all errors, and of all warnings with the level "stop". Markdown escapes are removed."""
    stops = [str(text.value).partition("] ")[2] for text in warnings(at, "stop")]
    texts = [*(str(error.value) for error in at.error), *stops]
    return [re.sub(r"\\([!-/:-@\[-`{-~])|\u2060", r"\1", text) for text in texts]
