"""Workers: on this machine, at an address, or as batch jobs."""
