"""The statement about GHASH and POLYVAL, and its proof for every length."""
