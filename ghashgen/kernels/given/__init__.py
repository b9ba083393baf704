"""AES-GCM in a host's own layout: its symbols, prototypes, table size and key schedule."""
