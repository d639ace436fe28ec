"""Values that fits consist of: specification, parameters, intervals, warnings, result. Nothing is fitted here."""
