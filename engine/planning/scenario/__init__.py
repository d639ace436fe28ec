"""What a plan is paid with, and what it costs."""
