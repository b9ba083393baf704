"""The exported functions as values, one in each module, named FUNCTION (`kernels.core.Function`).

Shared code is in `kernels.gcm.parts`.
"""
