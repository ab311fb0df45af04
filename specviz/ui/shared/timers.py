"""Something done once, a little later."""

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump


def later(pump: MessagePump, delay: float, act: Callable[[], object]) -> asyncio.TimerHandle:
    """Let ``pump`` call ``act`` in its turn, ``delay`` seconds from now, if it is part of a running app then.

    ``cancel`` what is returned to prevent it.

    A timer of Textual that is due before it has begun to wait is taken for one that was missed and never comes: after
    a delay of microseconds, or of more on a busy machine.
    """

    def in_turn() -> None:
        if pump.is_attached and pump.is_running:
            act()

    return asyncio.get_running_loop().call_later(delay, pump.call_next, in_turn)
