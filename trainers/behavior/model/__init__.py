"""The two-part model: embedder, contextualiser, losses, parameters and FLOPs."""
