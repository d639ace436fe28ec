"""Advice on the next cells (training runs): which cells narrow an answer most for their cost, and by how much.

The modules, in the order of their use:

- ``estimand``: the quantities that the cells must narrow.
- ``cost_unit``: the units of costs and spends.
- ``candidates``: the cells that can be trained, and their costs.
- ``covariance``: linear models of the losses of the candidates and of the estimands, around resamples of a fit.
- ``choice``: the set of cells that narrows the estimands most for a given spend.
- ``widths``: widths of intervals, and whether a decrease is worth its cells.
- ``pretend``: the widths that a set is expected to reach, from refits with simulated outcomes.
- ``spread``: cells that are spread over the axes, if the runs do not determine the law yet.
- ``early_stop``: running cells whose end cannot change the answer.
- ``advice``: the set in the order of training, the expected widths, and a ladder of spends.
"""
