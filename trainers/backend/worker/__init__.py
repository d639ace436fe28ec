"""One attempt of one cell, as it runs in the process of a worker."""
