"""Measures of what Isoplan withstands: hostile input, kills, faults of the machine, many users at once."""
