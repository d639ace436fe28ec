"""Grids to begin with: an example, and the scans of the paper on amplitudes at a small scale."""

from __future__ import annotations

from isoplan.trainers.cell import Preset

PRESETS = {
    "example": Preset(
        {"points": "100, 1000, 10000", "parameters": "1000, 10000", "iterations": "2000", "rate": "0.01",
         "tests": "10000"},
        "Six cells of Z + gluon, a minute or two, events included.",
    ),
    "data-scan": Preset(
        {"process": "Zg, ttH, Zgg", "points": "100..100000 x 7", "parameters": "10000", "iterations": "20000"},
        "The loss against the training points: alpha_D beside 4 / d (amplitudes, Fig. 2 left).",
    ),
    "size-scan": Preset(
        {"process": "ttH", "points": "1000, 10000, 100000", "parameters": "100..100000 x 7", "layers": "0",
         "iterations": "20000"},
        "The loss against the parameters, width over layers fixed (amplitudes, Fig. 2 right).",
    ),
    "compute-scan": Preset(
        {"process": "ttH", "points": "1000, 10000, 100000", "parameters": "10000", "budget": "1e9..3e11 x 8",
         "rate": "0.01"},
        "The loss against compute, each cell with a cosine of its own length (amplitudes, Fig. 1 right).",
    ),
    "rate-transfer": Preset(
        {"process": "ttH", "points": "10000", "parametrization": "mup, standard", "width": "16, 64, 256",
         "iterations": "3000", "rate": "0.0003..0.03 x 5", "dimension_points": "0"},
        "The best learning rate at each width: one in muP, a lower and lower one without (amplitudes, Fig. 1 left).",
    ),
    "uncertainty": Preset(
        {"process": "ttH", "points": "1000, 10000, 100000", "objective": "mse, heteroscedastic", "iterations": "20000"},
        "The same surrogates with a learned uncertainty, its pulls, and without (amplitudes, Sec. 4.2).",
    ),
}  # fmt: skip
