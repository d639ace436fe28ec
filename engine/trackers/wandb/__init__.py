"""Runs of W&B: the folders of offline and online runs, and downloaded files of runs. No module needs W&B itself."""
