"""Storage of run tables, snapshots, fits and plans in DuckDB. No other package runs SQL queries."""
