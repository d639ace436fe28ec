"""Parts that several commands use: options, their readers, output and progress."""
