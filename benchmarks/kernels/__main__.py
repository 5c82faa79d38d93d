"""`python -m benchmarks.kernels`: random kernels of arrays against their originals (`benchmarks.kernel_fuzz`)."""

from __future__ import annotations

import sys

from benchmarks.kernel_fuzz import main

sys.exit(main())
