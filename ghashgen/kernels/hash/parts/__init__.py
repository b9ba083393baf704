"""What the exported functions are put together from: blocks, groups, tails, keys."""
