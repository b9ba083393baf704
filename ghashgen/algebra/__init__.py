"""GF(2^128) and nothing of machines: specifications, operations, schemes, identities."""
