"""What is emitted: families of kernels, one in each folder, and the targets that they are made
for.
"""
