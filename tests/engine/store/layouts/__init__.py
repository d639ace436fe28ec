"""Tests of the layouts of tables that are not one row per run."""
