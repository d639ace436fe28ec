"""The five screens of a story: question, runs, law, cost of the target, and saving, each with one picture and sentence.

A story is made from a fit and a plan. Pages that show it are in ``app/views``.
"""
