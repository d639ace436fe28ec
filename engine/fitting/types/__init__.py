"""The parts of a fit: specification, parameters, intervals, warnings and result. Nothing is fitted in this folder."""
