"""Modules that each import needs. The fork server loads this module once, so that its child processes start fast.

The modules of the pages are loaded, but no page is run, because a process with threads should not fork.
"""

from __future__ import annotations

from importlib import import_module

VIEWS = ("agreement", "curves", "filters", "growing", "mapping", "questions", "rows", "runs", "shelf", "upload")
MODULES = (
    "isoplan.app.commands.fit",
    "isoplan.app.commands.shared.options",
    "isoplan.engine.fitting.single",
    *(f"isoplan.app.views.{v}" for v in VIEWS),
)

for module in (*MODULES, "benchmarks.reliability.files.attempt"):
    import_module(module)
