"""What is asked of a kernel before it is believed: vectors, proofs, random points, attacks."""
