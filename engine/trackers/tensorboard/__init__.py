"""Runs of TensorBoard: ``events`` reads event files, ``folders`` finds the files of each run, ``source`` returns runs.

The package tensorboard is not needed.
"""
