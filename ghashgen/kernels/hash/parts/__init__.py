"""The parts that hash functions are built from: blocks, groups, tails, keys."""
