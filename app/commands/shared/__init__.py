"""What several commands share: options, readers of options, output, progress."""
