"""Holding the collector of cycles back."""

import gc
import threading

import pytest

from specviz.core.gc_paused import nothing_collected


@pytest.mark.parametrize("before", [True, False])
def test_it_is_as_before_behind_the_last_block(before: bool) -> None:
    was = gc.isenabled()
    (gc.enable if before else gc.disable)()
    try:
        inside, leave = threading.Event(), threading.Event()

        def elsewhere() -> None:
            with nothing_collected():
                inside.set()
                leave.wait(10)

        other = threading.Thread(target=elsewhere)
        with nothing_collected():
            other.start()
            assert inside.wait(10)
            assert not gc.isenabled()
        assert not gc.isenabled(), "the other thread is still at it"
        leave.set()
        other.join(10)
        assert gc.isenabled() == before
    finally:
        (gc.enable if was else gc.disable)()


def test_an_error_lets_it_go_on() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="once"), nothing_collected():
        raise ValueError("once")
    assert gc.isenabled()
