"""What holds in every round: its counts add up, its verdicts have an order, its origins follow from them."""

import re

from specviz.core.events import Origin, Round

_CHAIN = re.compile("a*(ru*|i*)")
"""The initials of the verdicts of a chain."""


def inconsistency(event: Round) -> str | None:
    """What is wrong with a round's counts, as a sentence; None where they add up. drafted = accepted + rejected +
    untested + ignored = K_r. In a chain the accepted tokens are the first ones, in a tree those of the path. All of
    them entered the text, with one more token unless the round was cut."""
    verdicts = [drafted.verdict for drafted in event.drafted]
    accepted, rejected = verdicts.count("accepted"), verdicts.count("rejected")
    if event.k != len(verdicts):
        return f"round {event.index} says it drafted {event.k} tokens and lists {len(verdicts)}"
    if event.path is not None and not _is_path(event):
        return f"the path of round {event.index} is not a branch of its draft"
    first = verdicts[:accepted] if event.path is None else [event.drafted[row].verdict for row in event.path]
    if event.n_accepted != accepted or first.count("accepted") != len(first):
        return f"round {event.index} says its first {event.n_accepted} tokens were accepted, the verdicts say otherwise"
    if event.tested != accepted + rejected:
        return f"round {event.index} says {event.tested} tokens were tested, the verdicts say {accepted + rejected}"
    if not event.n_accepted <= event.n_emitted <= event.n_accepted + 1:
        return f"round {event.index} accepted {event.n_accepted} tokens and emitted {event.n_emitted}"
    return None


def contradiction(event: Round) -> str | None:
    """What no rule can have done in a round whose counts add up, as a sentence; None if there is nothing."""
    if event.path is None and not _CHAIN.fullmatch("".join([d.verdict[0] for d in event.drafted])):
        return f"the verdicts of round {event.index} are in an order that no rule gives"
    if not event.emitted:
        return f"round {event.index} emitted nothing"
    origins: list[Origin] = ["accepted"] * event.n_accepted
    if event.correction is not None and event.path is not None:
        origins.append("resampled" if event.correction.origin == "resampled" else "bonus")
    elif event.correction is not None:
        origins.append("plain" if not event.k else "resampled" if event.n_rejected else "bonus")
    if [token.origin for token in event.emitted] != origins:
        return f"the origins of what round {event.index} emitted contradict its verdicts"
    return None


def _is_path(event: Round) -> bool:
    """Whether the path goes from a root to its descendants, every parent before its children."""
    assert event.path is not None
    parent: int | None = None
    for row in event.path:
        if not 0 <= row < event.k or event.drafted[row].parent != parent:
            return False
        parent = row
    return len(event.path) == event.n_accepted
