"""What one line of `specviz check` is made of. No torch."""

from dataclasses import dataclass
from typing import Literal

from specviz.core.errors import SpecvizError
from specviz.core.options import Role

Status = Literal["pass", "note", "refuse"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `specviz check`. ``text`` of a refused_finding is one or two sentences with the way out;
    ``forcible``: whether --force may run the pair all the same."""

    subject: str
    status: Status
    text: str
    columns: tuple[str, str]
    """The draft's and the target's own value."""
    forcible: bool = False


def refused_finding(subject: str, role: Role, error: SpecvizError) -> Finding:
    """The line that says why one of the models cannot be used."""
    return Finding(subject, "refuse", str(error), ("refused", "") if role == "draft" else ("", "refused"))
