"""Import of runs from experiment trackers and from folders of logs.

Each source is a subpackage, or a module of ``plain``. A source does not write to a store, execute code from it, or load
pickled objects. This package makes tables. :mod:`isoplan.engine.store` reads them with DuckDB and determines the roles
of their columns.
"""
