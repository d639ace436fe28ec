"""Reports of saved plans, answers and stories: a self-contained HTML file, or a PDF of at most four A4 pages.

Pages and terminal commands use these modules to write reports. The engine computes the numbers.
"""
