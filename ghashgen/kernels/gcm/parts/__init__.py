"""The parts that AES-GCM functions are built from: the cipher, counters, groups, endings."""
