"""Parts that several figures use: lines, bands, dots, labels and notes."""
