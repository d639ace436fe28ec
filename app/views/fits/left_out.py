"""Warning of the page Fit about runs that no fit can use, such as models that did not train."""

from __future__ import annotations

import streamlit as st

from isoplan.app.views.widgets.parts import escape_markdown, plural
from isoplan.engine.fitting.samples.sample import SMALLER_RATE, TRAIN_LONGER, no_run
from isoplan.engine.schema import Runs
from isoplan.engine.store.database import cell_index
from isoplan.engine.store.database.database import Database
from isoplan.engine.store.tables.tables import TableInfo


def warn(db: Database, table: TableInfo, runs: Runs) -> None:
    """Show the number of ``runs`` of ``table`` that cannot be used in any fit, and what to do.

    For a bundled table with usable runs, nothing is shown, because a note of the fit states the number of left-out
    runs. For a table of cells (training runs of Isoplan), a link opens the page Train. A bundled table has no link,
    because its runs cannot be trained again.
    """
    if table.read_only and len(runs):
        return
    family = cell_index.family_of(table)
    texts = [*_unusable(runs), *(_rowless(db, family) if family else ())]
    if texts:
        st.warning(escape_markdown(" ".join(texts)), icon=":material/warning:")
        if family:
            query = {"family": family}
            st.page_link(
                "views/train.py", label="Train more cells", query_params=query, icon=":material/model_training:"
            )


def _unusable(runs: Runs) -> list[str]:
    if len(runs) == 0:
        return [str(no_run(runs))]
    count = runs.left_out.untrained
    if not count:
        return []
    every = plural(runs.left_out.total, "run")
    return [f"{count:,} of {every} did not train and {'is' if count == 1 else 'are'} left out of fits. {TRAIN_LONGER}"]


def _rowless(db: Database, family: str) -> list[str]:
    """Return a list with one sentence about the finished cells of ``family`` without a row; empty if there are none."""
    cells = cell_index.index(db).values()
    count = sum(cell.family == family and cell.state == "done" and cell.row is None for cell in cells)
    verb = "has" if count == 1 else "have"
    return [f"{plural(count, 'finished cell')} {verb} no finite loss and no row. {SMALLER_RATE}"] if count else []
