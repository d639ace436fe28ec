"""Event files in the formats NPZ, HDF5 and Parquet; the file name extension determines the format.

- ``.npz`` and ``.h5`` or ``.hdf5``: arrays ``momenta`` (events, particles, 4) in GeV as (E, px, py, pz), the two
  incoming particles first, ``amplitude`` (events,) and, for weighted events, ``weight`` (events,). The name of a
  built-in process can be stored in an NPZ's array ``process`` or an HDF5 file's attribute ``process``.
- ``.parquet``: columns ``p0_E``, ``p0_px``, ``p0_py``, ``p0_pz``, ``p1_E``, ... in the same order and unit,
  ``amplitude`` and ``weight``; the process is in the metadata of the schema.

A file without a process name contains events of a user-defined process.
"""

from __future__ import annotations

from isoplan.trainers.amplitudes.files.formats import need_memory
from isoplan.trainers.amplitudes.files.storage import need_place, read_events, write_events

__all__ = ["need_memory", "need_place", "read_events", "write_events"]
