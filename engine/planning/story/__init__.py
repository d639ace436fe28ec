"""A story: five screens about question, runs, law, cost of the target, and saving, each with a picture and a sentence.

A story is made from a fit and a plan. Pages that show it are in ``app/views``.
"""
