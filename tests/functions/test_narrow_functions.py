"""Functions of float32: NumPy's loop gives an element the same bits wherever it stands; `powf` is NumPy's `**`."""

from __future__ import annotations

import numpy as np
import pytest

from pyflat.functions import narrow_functions


def numbers(count, seed=3):
    r = np.random.default_rng(seed)
    parts = (r.integers(0, 2**32, count, dtype=np.uint32).view(np.float32), r.normal(size=count).astype(np.float32),
             r.uniform(-100, 100, count).astype(np.float32))
    return np.concatenate(parts)


def same(a, b):
    return bool(np.all((a.view(np.uint32) == b.view(np.uint32)) | np.isnan(a) & np.isnan(b)))


@pytest.mark.parametrize("name", sorted(narrow_functions.NAMES))
def test_an_element_has_the_bits_of_a_scalar(name):
    ufunc = getattr(np, name)
    x = numbers(700)
    operands = [x, x[::-1].copy()][:ufunc.nin]
    with np.errstate(all="ignore"):
        whole = ufunc(*operands)
        assert whole.dtype == np.float32
        assert same(whole, np.array([ufunc(*each) for each in zip(*operands, strict=True)], np.float32))
        assert same(whole[5:], ufunc(*[each[5:] for each in operands]))
        assert same(whole[::3].copy(), ufunc(*[each[::3] for each in operands]))
        assert same(whole, narrow_functions.called(*operands, function=name).astype(np.float32))


def test_the_librarys_power_is_that_of_scalars():
    if not narrow_functions.has_power():
        pytest.skip("`**` of float32 is refused here")
    x = numbers(700)
    with np.errstate(all="ignore"):
        found = narrow_functions.called(x, x[::-1], function=narrow_functions.POWER).astype(np.float32)
        assert same(found, np.array([a ** b for a, b in zip(x, x[::-1], strict=True)], np.float32))
