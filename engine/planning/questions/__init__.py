"""Common parts of all planner questions: declaration, inputs, answer and charts."""
