"""Files, databases and answers of servers as plain values, read within limits. Runs are made in the sources."""
