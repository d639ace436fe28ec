"""Reading of files, databases and answers of servers as plain values, within limits. Sources make runs from them."""
