"""From a table of training runs to a compute budget: scaling laws with intervals, and plans."""

from __future__ import annotations
