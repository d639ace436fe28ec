"""Run tables, snapshots, fits and plans in DuckDB. The only package with SQL."""
