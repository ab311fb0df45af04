"""Pausing Python's garbage collector while very many long-lived objects are created."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_collected_before = True


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Pause the garbage collector of cycles, in all threads: scanning millions of live objects again and again costs
    more than creating them. Nested and concurrent blocks count; after the last one its former state is restored."""
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
