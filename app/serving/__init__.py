"""Modules of the web server: routes, access control, logs, the HTML around the pages, and conversion of SVG to PDF.

The pages themselves are in ``app/views``.
"""
