"""Table layouts other than one header with one row per run below it, such as pivot tables. A module reads one layout.

The usual layout is one header with one row per run. A :class:`isoplan.engine.store.files.layouts.grid.Layout` has a
title and a function. The function converts cells to the usual layout, or returns None if the cells have another layout.
``catalogue.py`` lists all layouts and applies them.
"""
