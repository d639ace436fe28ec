"""Workers on this machine, at the address of a scheduler, or as batch jobs."""
