"""Advice on the next cells (training runs): which cells narrow an answer most for their cost, and by how much.

The modules, in the order of their use:

- ``estimand``: the quantities that the cells must narrow.
- ``cost_unit``: the units of costs and spends.
- ``candidates``: the cells that can be trained, and their costs.
- ``linear_models``: what is known about estimands after the training of any set of cells, for a linear law.
- ``covariance``: the linear models of a fit, around several of its resamples.
- ``choice``: the set of cells that narrows the estimands most for a given spend.
- ``adaptive``: by how much later rounds decrease the widths, because they are chosen after the first round.
- ``hedge``: the size of the deviation from the law that the choice takes into account.
- ``widths``: widths of intervals, and whether a decrease is worth its cells.
- ``pretend``: the widths that a set is expected to reach, from refits with simulated outcomes.
- ``spread``: cells that are spread over the axes, if the runs do not determine the law yet.
- ``early_stop``: running cells whose end cannot change the answer.
- ``advice``: the set in the order of training, the expected widths, and a ladder of spends.
"""
