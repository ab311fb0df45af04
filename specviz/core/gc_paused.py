"""Holding Python's collector of cycles back while very many objects are made that stay."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_collected_before = True


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Inside, in any thread, nothing is looked through for cycles: objects by the million that all stay, looked through
    again and again, take longer to look at than to make. Behind the last such block it is as it was before the first.
    """
    global _inside, _collected_before
    with _lock:
        if _inside == 0:
            _collected_before = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _collected_before:
                gc.enable()
