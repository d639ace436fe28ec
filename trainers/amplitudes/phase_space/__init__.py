"""Where in phase space amplitudes are taken."""
