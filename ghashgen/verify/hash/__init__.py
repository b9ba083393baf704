"""The statement about GHASH and POLYVAL, and how it is shown for every length."""
