"""The two-part recommender model: embedder, contextualiser, losses, parameters and FLOPs."""
