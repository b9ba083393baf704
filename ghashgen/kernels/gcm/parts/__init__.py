"""What the exported functions are put together from: the cipher, counters, groups, the rest."""
