"""Loads and stores of some bytes, and of none outside, for families of kernels: no family."""
