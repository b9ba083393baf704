"""Each module is an exported function of kernels in a host's layout."""
