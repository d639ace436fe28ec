"""The set Transformer in plain torch: padded batches, a key-padding mask, and all tokens in every layer."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from isoplan.trainers.jets.cell import Shape


class Plain(nn.TransformerEncoder):
    """Model with the weights and weight names of ``isoplan.trainers.jets.model.SetTransformer``."""

    def __init__(self, shape: Shape) -> None:
        d = shape.width
        layer = nn.TransformerEncoderLayer(
            d, shape.heads, shape.hidden, shape.dropout, "gelu", batch_first=True, norm_first=True
        )
        super().__init__(layer, shape.layers, norm=nn.LayerNorm(d), enable_nested_tensor=False)
        self.embed = nn.Linear(shape.features, d)
        self.cls = nn.Parameter(torch.zeros(d))
        self.head = nn.Linear(d, shape.classes)

    def logits(self, padded: Tensor, padding: Tensor) -> Tensor:
        """Return the logits (B, classes) of ``padded`` (B, L, F).

        ``padding`` (B, L) is True at positions without a particle.
        """
        tokens = torch.cat([self.cls.expand(len(padded), 1, -1), self.embed(padded)], 1)
        hidden = torch.cat([torch.zeros(len(padded), 1, dtype=torch.bool), padding], 1)
        return self.head(self(tokens, src_key_padding_mask=hidden)[:, 0])


def pad(particles: Tensor, lengths: Tensor, more: int = 0) -> tuple[Tensor, Tensor]:
    """Return particles (P, F) of jets as a padded array (B, L, F), and the padding mask (B, L).

    ``lengths`` (B,) is the number of particles of each jet. L is the largest of these numbers plus ``more``.
    """
    padding = torch.arange(int(lengths.max()) + more) >= lengths[:, None]
    padded = torch.zeros(*padding.shape, particles.shape[1], dtype=particles.dtype)
    padded[~padding] = particles
    return padded, padding


def random_batch(rng: np.random.Generator, jets: int, features: int = 21) -> tuple[Tensor, Tensor, Tensor]:
    """Return random particles, typical numbers of particles per jet, and labels of the ten classes."""
    lengths = np.clip(np.rint(rng.normal(40, 15, jets)), 1, 128).astype(np.int64)
    particles = rng.standard_normal((lengths.sum(), features), np.float32)
    return torch.from_numpy(particles), torch.from_numpy(lengths), torch.from_numpy(rng.integers(0, 10, jets))
