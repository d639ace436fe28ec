"""The server: routes, access, logs, the HTML around the pages, SVG to PDF. It contains no pages."""
