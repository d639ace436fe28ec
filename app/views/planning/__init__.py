"""Sections of the Plan page: questions with their answers, saved plans, their comparison, and shared input fields."""
