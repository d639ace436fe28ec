"""The two-part model: embedder, contextualizer, losses, parameters and FLOPs."""
