"""Views of arrays whose contents are known, and what they show once the array is written to."""

from __future__ import annotations

import numpy as np

TABLE = np.array([1.0, 2.0, 3.0, 4.0])


def case_reshape(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.reshape(2, 2)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_ravel(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.ravel()
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_transpose(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.transpose()
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_squeeze(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.squeeze(a)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_asarray(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.asarray(a)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_flip(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.flip(a)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_expand_dims(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.expand_dims(a, 0)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_real(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.real(a)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_conj(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.conj()
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_astype(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.astype(float, copy=False)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_atleast_2d(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.atleast_2d(a)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_ascontiguousarray(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.ascontiguousarray(a)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_swapaxes(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.swapaxes(0, 0)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_rot90(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.rot90(np.reshape(a, (2, 2)))
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_flatten(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.flatten()
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_copy(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = a.copy()
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def case_roll(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.roll(a, 1)
    a[0] = x
    a[2] = 5.0
    return b.ravel().tolist()


def refused_broadcast_to(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.broadcast_to(a, (2, 4))
    a[0] = x
    return b.ravel().tolist()


def refused_broadcast_arrays(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.broadcast_arrays(a, a)[0]
    a[0] = x
    return b.ravel().tolist()


def refused_diag(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.diag(np.reshape(a, (2, 2)))
    a[0] = x
    return b.ravel().tolist()


def refused_split(x: float):
    a = np.array([1.0, 2.0, 3.0, 0.0])
    b = np.split(a, 2)[0]
    a[0] = x
    return b.ravel().tolist()


def case_written_through(x: float):
    a = np.zeros(4)
    b = a.reshape(2, 2)
    b[0, 1] = x
    return a.tolist()


def refused_written_read_only(x: float):
    a = np.zeros(4)
    b = np.broadcast_to(a, (2, 4))
    b[0] = x
    return a.tolist()


def case_copy_of_a_captured_table(x: float):
    a = TABLE.copy()
    a[0] = x
    return (a[0], TABLE[0], a.sum())
