"""Style of all figures: theme, colours, axes, words."""
