"""Libraries that kernels are vendored into, one a file: `ghashgen vendor`."""
