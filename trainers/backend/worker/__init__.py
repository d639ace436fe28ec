"""One attempt of one cell in the process of a worker."""
