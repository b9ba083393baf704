"""What is emitted: families of kernels, each a folder, and the target that they are made for."""
