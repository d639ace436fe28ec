"""Style of all figures: theme, colours, axes, and the text of numbers and symbols."""
