"""Tests of reports: PDF and HTML files with an answer, its figures and its sources."""
