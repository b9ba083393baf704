"""The parts of the attack, one in each file. Each exports PART."""
