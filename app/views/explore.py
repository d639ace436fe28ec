"""Explore: the loss surface, the iso-FLOP curves, the frontier and the slices of one fitted law."""

from __future__ import annotations

from app import workspace
from app.views.parts import heading
from app.views.pictures import pictures

heading("Explore", "What the fitted law says between the runs and beyond them.")
pictures(workspace.current())
