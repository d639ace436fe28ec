"""Reading of runs from experiment trackers and from folders of logs. Each source is a folder, or a module of ``plain``.

No source writes to a store, runs code from it, or loads pickled objects. DuckDB and the roles of columns are not here:
:mod:`isoplan.engine.store` reads the tables that this package makes.
"""
