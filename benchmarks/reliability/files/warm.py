"""Modules that each import needs, loaded once: the fork server loads this module, so its children start fast.

The modules of pages are loaded, but no page is run: a process with threads should not fork.
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
