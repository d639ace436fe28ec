"""The look of every figure: theme, colours, axes, words."""
