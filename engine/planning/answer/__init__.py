"""Any answer of the planner as a file: JSON, CSV, Markdown, LaTeX, and the Python that makes it again."""
