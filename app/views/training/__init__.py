"""The Train page: the form of a new grid, and the cells of the workspace with their progress."""
