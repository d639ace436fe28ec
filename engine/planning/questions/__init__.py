"""Common parts of all planner questions: declaration, inputs, answer, charts and the registry."""
