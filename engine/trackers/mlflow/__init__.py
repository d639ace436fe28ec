"""Runs of MLflow: ``database`` reads its SQLite store, ``files`` its folder ``mlruns``, ``server`` a tracking server.

``values`` contains the rules that the three share, and ``source`` chooses between them by the kind of place. ``rest``
contains the requests to a server.
"""
