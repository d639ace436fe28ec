"""The Train page: the form of a new grid, and the cells of the workspace as they go."""
