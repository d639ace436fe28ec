"""Scripts that write the bundled law cards and demo tables in ``data``."""
