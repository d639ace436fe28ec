"""A story: five screens about question, runs, law, cost of the target, and saving, each with a picture and a sentence.

A story is made from a fit and a plan. The pages that show stories are in ``app/views``.
"""
