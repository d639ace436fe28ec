"""Modules that all planner questions use: declaration, inputs, answer and charts."""
