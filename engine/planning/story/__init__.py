"""A story: five screens, each with a picture and a sentence.

The screens are about the question, the runs, the law, the cost and the saving. A story is made from a fit and a plan.
The pages that show stories are in ``app/views``.
"""
