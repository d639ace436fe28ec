"""Training of one recommender cell."""
