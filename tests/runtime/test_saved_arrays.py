"""Copies of the arrays that a kernel writes."""

from __future__ import annotations

import numpy as np

import pyflat
from pyflat.runtime import saved_arrays
from pyflat.runtime.saved_arrays import SavedArrays, put_back


def test_memory_is_used_again_for_arrays_like_the_last_ones():
    saved, a = SavedArrays(), np.arange(6.0)
    first = saved.save({"a": a}, ["a"])
    saved.release(first)
    a[:] = 7.0
    second = saved.save({"a": a}, ["a"])
    assert second["a"] is first["a"]
    assert second["a"].tolist() == [7.0] * 6
    assert saved.save({"a": a}, ["a"])["a"] is not second["a"]  # another call is under way
    saved.release(second)
    for other in (np.ones(5), np.ones(6, np.float32), np.ones((6, 1))):
        again = saved.save({"a": other}, ["a"])
        assert again["a"] is not first["a"]
        assert again["a"].dtype == other.dtype
        assert again["a"].shape == other.shape


def test_much_memory_is_given_back(monkeypatch):
    monkeypatch.setattr(saved_arrays, "MOST_BYTES", 40)
    saved, a = SavedArrays(), np.arange(6.0)
    first = saved.save({"a": a}, ["a"])
    saved.release(first)
    assert saved.save({"a": a}, ["a"])["a"] is not first["a"]


def test_what_was_saved_is_put_back_in_any_layout():
    saved, a = SavedArrays(), np.arange(12.0).reshape(3, 4)[:, ::-2].T
    kept = saved.save({"a": a}, ["a"])
    wanted = a.tolist()
    a[:] = 0.0
    put_back({"a": a}, kept)
    assert a.tolist() == wanted


def test_a_call_that_fails_after_others_leaves_what_python_leaves():
    @pyflat.flatten(target="numba")
    def halved(a, at):
        for i in range(a.shape[0]):
            a[i] = a[i] * 0.5
        return a[at]

    a = np.arange(8.0)
    for at in (1, 9, 2, 9):
        b, c = a.copy(), a.copy()
        for call, array in ((halved, b), (halved.flat, c)):
            try:
                call(array, at)
            except IndexError:
                pass
        assert b.tolist() == c.tolist()
