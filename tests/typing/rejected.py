"""What type checkers must reject: each marked line, and no other."""

import pyflat


@pyflat.flatten
def shade(x: float, t: float = 0.5) -> float:
    return x - t


class Curve:
    @pyflat.flatten
    def value(self, x: float) -> float:
        return x


shade("a")  # error
shade(1.0, 2.0, 3.0)  # error
Curve().value("a")  # error
Curve().value.flat(5)  # error
shade.flot(1.0)  # error
shade.flat.sorce  # error
shade.flat.to("cuda")  # error
shade.flat.show(stage="flatt")  # error
pyflat.twin(shade, targt="numpy")  # error
pyflat.twin(shade, target="nunpy")  # error
pyflat.twin(shade, max_unroll="a")  # error
pyflat.set_defaults(parallel="yes")  # error
pyflat.twin(3)  # error
