"""Page Explore: loss surface, iso-FLOP curves and compute-optimal frontier of one fitted law."""

from __future__ import annotations

from isoplan.app import workspace
from isoplan.app.views.fits.pictures import pictures
from isoplan.app.views.widgets.parts import heading

heading("Explore", "Values of the fitted law between and beyond the runs.")
pictures(workspace.current())
