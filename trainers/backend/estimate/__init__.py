"""What a grid will take before it is launched."""
