"""One line of `specviz check`, without torch."""

from dataclasses import dataclass
from typing import Literal

from specviz.core.errors import SpecvizError
from specviz.core.options import Role

Status = Literal["pass", "note", "refuse"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `specviz check`. The ``text`` of a refusal is one or two sentences with a suggestion; ``forcible``:
    whether --force may run the pair anyway; ``columns``: the values of the draft and of the target."""

    subject: str
    status: Status
    text: str
    columns: tuple[str, str]
    forcible: bool = False


def refused_finding(subject: str, role: Role, error: SpecvizError) -> Finding:
    """The line for a model that cannot be used."""
    return Finding(subject, "refuse", str(error), ("refused", "") if role == "draft" else ("", "refused"))
