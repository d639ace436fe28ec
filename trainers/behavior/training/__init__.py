"""Training of a two-part recommender in one or two stages."""
