"""Work on several threads at once."""

import threading
from collections.abc import Callable


def on_threads(work: Callable[[int], object], count: int = 4) -> None:
    """`work(0)` to `work(count - 1)`, each on its own thread; returns when all are done."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
