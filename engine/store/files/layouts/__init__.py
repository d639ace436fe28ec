"""Layouts of tables that are not one row per run below one header, such as pivot tables. One module is one layout.

A layout is a :class:`isoplan.engine.store.files.layouts.grid.Layout`: a title and a function that returns the cells in
the usual layout, or None if the cells do not show this layout. ``catalogue.py`` lists all layouts and applies them.
"""
