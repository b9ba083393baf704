"""The functions of AES-CTR kernels, one file for each: `exported` finds them."""
