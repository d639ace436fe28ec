"""The final loss of a running cell (training run), predicted from the training curves of finished cells.

The modules, in the order of their use:

- ``curve``: a training curve over the fraction of its schedule.
- ``matching`` and ``power_law``: two methods that continue a curve.
- ``forecast``: the final loss of a running cell with its interval.

The prediction does not use N, D or a fitted law. It is therefore independent of a fit and can be compared with it.
"""
