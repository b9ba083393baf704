"""Running objects: natively in the C harness, in an emulated CPU, by PeachPy."""
