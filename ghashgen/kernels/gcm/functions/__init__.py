"""The exported functions as values, one a module, each as FUNCTION (`kernels.core.Function`).

What they share stands in `kernels.gcm.parts`.
"""
