"""The parts of the attack, one a file, each exporting PART."""
