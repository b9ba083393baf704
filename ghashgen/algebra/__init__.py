"""GF(2^128), independent of machines: specifications, operations, schemes, identities."""
