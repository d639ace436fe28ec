"""Reports of saved plans, answers and stories: one self-contained HTML file, or a PDF of at most four A4 pages.

Pages and the terminal write reports with these modules. The numbers come from the engine.
"""
