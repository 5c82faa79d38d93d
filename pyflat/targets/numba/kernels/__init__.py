"""Kernels over arrays on the numba target: loops in LLVM's IR, bounds that are tested before them."""
