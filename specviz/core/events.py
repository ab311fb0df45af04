"""The events of a run: frozen plain data, the same for a live run, a recorded one and the tests.

Names and fields are those of the trace (docs/trace.md); probabilities are floats in [0, 1],
entropies nats, times milliseconds, positions 0-based from the start of the prompt, rounds 1-based.
``None`` means undefined or not measured, never NaN.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from specviz.core.drafters import DEFAULT_DRAFTER

Verdict = Literal["accepted", "rejected", "untested", "ignored"]
Origin = Literal["accepted", "resampled", "bonus", "plain"]
PlainReason = Literal["k_zero", "budget", "context", "draft_context", "no_match"]
"""Why a round had no draft: K set to 0, one token of budget left, the target's or the draft's
context full, no n-gram match."""
StopReason = Literal["max_new_tokens", "end_of_text", "stop_string", "context"]
EndReason = Literal["max_new_tokens", "end_of_text", "stop_string", "context", "user", "error"]
Stage = Literal[
    "files", "import", "tokenizer", "corpus", "draft", "target", "compiling", "warm-up", "calibrating", "recording"
]


@dataclass(frozen=True, slots=True)
class Token:
    """An id of the target's vocabulary and its raw bytes (possibly part of a character)."""

    id: int
    bytes: bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry of a top list: an id, its bytes, its probability (> 0)."""

    id: int
    bytes: bytes
    prob: float


Top = tuple[Candidate, ...]
"""At most ten candidates, most probable first, ties by lower id."""


@dataclass(frozen=True, slots=True)
class Raw:
    """The same position at temperature 1 without top-k and top-p, if that differs."""

    p: float
    q: float | None
    overlap: float | None
    entropy_p: float
    entropy_q: float | None
    p_top: Top
    q_top: Top


Bytes = bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    """A drafted token with everything its test was decided by; see design: DRAFTED. Only the verdict is always known.
    What was not measured is None: id and bytes where a source reports counts alone, p, q and the uniform numbers where
    it reports tokens alone, ranks and entropies (and top lists, which are then empty) where a run does not record
    them."""

    id: int | None = None
    bytes: Bytes | None = None
    q: float | None = None
    p: float | None = None
    draft_u: float | None = None
    u: float | None = None
    accept_prob: float | None = None
    overlap: float | None = None
    match: float | None = None
    entropy_p: float | None = None
    entropy_q: float | None = None
    rank_p: int | None = None
    rank_q: int | None = None
    verdict: Verdict
    p_top: Top = ()
    q_top: Top = ()
    residual_top: Top = ()
    raw: Raw | None = None
    target_sample: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    parent: int | None = None
    """In a draft that is a tree, the row of the token this one follows; None: it follows the text, or the row before
    it in a chain."""

    @property
    def ratio(self) -> float | None:
        """p / q; None where q is 0 or either is unknown."""
        return None if self.p is None or not self.q else self.p / self.q

    @property
    def test(self) -> tuple[float, float] | None:
        """(u, accept_prob) of a test that accepts if and only if u < accept_prob; None where either is unknown."""
        return None if self.u is None or self.accept_prob is None else (self.u, self.accept_prob)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """A token the round added to the text. Only the origin is always known. ``q`` and ``residual`` are None where
    undefined, and everything else, as in Drafted, where it was not measured."""

    id: int | None = None
    bytes: Bytes | None = None
    origin: Origin
    p: float | None = None
    q: float | None = None
    residual: float | None = None
    rank_p: int | None = None
    entropy_p: float | None = None
    p_top: Top = ()
    raw: Raw | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What may change between rounds. ``top_k``/``top_p`` None: no cut. A change of anything but k
    begins a new segment; k alone begins one for tokens/round only, unless it is chosen round by round."""

    k: int = 4
    temperature: float = 1.0
    draft_temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    drafter: str = DEFAULT_DRAFTER
    rule: str = "exact"
    k_auto: bool = False
    """Whether k was chosen for this round from the ones before it."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of one round, without waits for the display; None: not measured."""

    draft_ms: float | None = None
    verify_ms: float | None = None
    decide_ms: float | None = None
    inspect_ms: float | None = None
    total_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One round: draft, verify, decide, commit. ``k`` is K_r, the number actually drafted (= len(drafted)); the
    configured K is ``settings.k``. ``start`` is the absolute position of the first emitted token. drafted = accepted +
    rejected + untested + ignored. The tokens of a round known by its counts alone have a verdict or an origin only. A
    draft is a chain unless it has a ``path``: the rows of the accepted tokens of a tree, from the root."""

    index: int
    start: int
    k: int
    settings: Settings
    drafted: tuple[Drafted, ...]
    emitted: tuple[Emitted, ...]
    n_accepted: int
    tested: int
    last_u: float | None = None
    plain_reason: PlainReason | None = None
    redraws: int = 0
    timing: Timing = Timing()
    stop: StopReason | None = None
    path: tuple[int, ...] | None = None

    @property
    def n_rejected(self) -> int:
        return self.tested - self.n_accepted

    @property
    def n_emitted(self) -> int:
        """Tokens the round added to the text: N_r."""
        return len(self.emitted)

    @property
    def cut(self) -> bool:
        """Whether the end of the text fell inside the draft: fewer than A + 1 tokens were emitted."""
        return len(self.emitted) < self.n_accepted + 1

    @property
    def fully_accepted(self) -> bool:
        """Whether there was a draft and all of it entered the text."""
        return 0 < self.k == self.n_accepted

    @property
    def tested_tokens(self) -> tuple[Drafted, ...]:
        """The accepted and the rejected tokens, in the order of their tests."""
        if self.path is None:
            return self.drafted[: self.tested]
        return tuple(d for d in self.drafted if d.verdict in ("accepted", "rejected"))

    @property
    def untested_tokens(self) -> tuple[Drafted, ...]:
        return tuple(d for d in self.drafted if d.verdict == "untested")

    @property
    def accepted_tokens(self) -> tuple[Drafted, ...]:
        """The drafted tokens that entered the text, in its order."""
        if self.path is None:
            return self.drafted[: self.n_accepted]
        return tuple(self.drafted[row] for row in self.path)

    @property
    def unaccepted_rows(self) -> tuple[int, ...]:
        """The rows of the drafted tokens that did not enter the text."""
        if self.path is None:
            return tuple(range(self.n_accepted, self.k))
        return tuple(row for row in range(self.k) if row not in self.path)

    @property
    def rejected_row(self) -> int | None:
        """The row of the first rejected token; None without a rejection."""
        return next((row for row, d in enumerate(self.drafted) if d.verdict == "rejected"), None)

    @property
    def first_rejected(self) -> Drafted | None:
        row = self.rejected_row
        return None if row is None else self.drafted[row]

    @property
    def correction(self) -> Emitted | None:
        """The emitted token after the accepted ones, which the target chose: resampled, bonus or plain. None: cut."""
        return None if self.cut else self.emitted[-1]

    @property
    def rows(self) -> tuple[Drafted | Emitted, ...]:
        """The tokens of the round as they are listed: the drafted ones, then the correction unless the round is cut."""
        return self.drafted if self.cut else (*self.drafted, self.emitted[-1])

    @property
    def n_rows(self) -> int:
        return len(self.drafted) + (not self.cut)

    def count(self, verdict: Verdict) -> int:
        return [d.verdict for d in self.drafted].count(verdict)


def token_ids(tokens: Sequence[Drafted | Emitted]) -> list[int]:
    """The ids of tokens. Raises ValueError where one is not known."""
    ids = [token.id for token in tokens if token.id is not None]
    if len(ids) != len(tokens):
        raise ValueError("not every token of these rounds is known")
    return ids


@dataclass(frozen=True, slots=True)
class Prompt:
    text: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """The start of a run. ``config`` is JSON-able: the options, device, dtype, threads, attention,
    library versions, ``special_ids`` and ``notes`` (sentences about the pair)."""

    created: str
    specviz: str
    config: Mapping[str, Any]
    vocab_size: int
    end_ids: tuple[int, ...]
    prompt: Prompt

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids of special tokens, which have no text; empty if ``config`` does not list them."""
        return frozenset(self.config.get("special_ids") or ())

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the pair."""
        return tuple(self.config.get("notes") or ())


@dataclass(frozen=True, slots=True)
class VerifyTime:
    """Median time of a forward of the target that feeds ``ids`` ids: T_verify(ids)."""

    ids: int
    ms: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Median time of a one-token step of each model at ``at_length`` tokens of context, and of the target's forwards
    of several ids. It holds from round ``from_round`` on: a later calibration replaces one that no longer holds.
    ``drafter``: whose step was timed, None for the one the run began with."""

    target_step_ms: float
    draft_step_ms: float | None
    at_length: int
    verify_times: tuple[VerifyTime, ...] = ()
    from_round: int = 1
    drafter: str | None = None

    @property
    def verify_points(self) -> tuple[tuple[int, float], ...]:
        """(ids, milliseconds) of ``verify_times``."""
        return tuple((each.ids, each.ms) for each in self.verify_times)


@dataclass(frozen=True, slots=True)
class Progress:
    """A stage of loading. ``done``/``total`` count ``unit``; total None: unknown. ``detail``: the file being loaded."""

    stage: Stage
    done: int = 0
    total: int | None = None
    unit: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence to show to the user (a padded vocabulary, a forced pair); ``permanent``: as a banner."""

    message: str
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Ready:
    """Prompt encoded, models warm and timed: rounds follow. Once per run; a trace has no line for it."""


@dataclass(frozen=True, slots=True)
class End:
    """The run is over. ``detail``: which end id, which stop string, or the error."""

    reason: EndReason
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The source failed. ``message``: one or two sentences; ``detail``: the traceback, for the log."""

    message: str
    detail: str = ""
    exit_code: int = 1


Event = Progress | Notice | Header | Calibration | Ready | Round | End | Failed
