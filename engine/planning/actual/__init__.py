"""A plan beside what came of it, and all plans beside their results."""
