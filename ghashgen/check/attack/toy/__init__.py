"""Small programs with drawn certificates: what the rules accept is run, by other code."""
