"""Shared parts of commands: options, readers of options, output, progress."""
