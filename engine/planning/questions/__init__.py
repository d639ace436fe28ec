"""Parts that all planner questions share: declaration, inputs, answer and charts."""
