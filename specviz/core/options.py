"""The options of one invocation, and the request of one run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from specviz.core.drafters import drafter_options
from specviz.core.events import Settings

Role = Literal["draft", "target"]
BUNDLED_DRAFT = "bundled:draft"
BUNDLED_TARGET = "bundled:target"
MAX_K = 32
MAX_SEED = 2**64 - 1
MAX_TEMPERATURE = 1e6
MAX_COUNT = 10**9
"""Of tokens: what --top-k and --max-new-tokens may ask for."""
GREEDY_AT_OR_BELOW = 1e-5
"""Temperatures at or below this are greedy: the distribution is one-hot at the largest score."""

PREPARED_PROMPTS: tuple[tuple[str, str], ...] = (
    ("tale", "Once upon a time there was a king who had three sons, and"),
    ("code", "class Config:\n    def __init__(self, path):\n"),
    ("verse", "ROMEO:\n"),
)
"""(name, text) of the prompts of the number keys if the user supplies none."""


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which models, where and how: everything the loader needs. ``draft`` None: the target alone, for drafters without
    a model. ``draft_device``: where the draft runs, None where that is left to ``device``. ``offline``: the cache only.
    ``trust_remote_code``: run Python files that come with a model. ``allow_pickle``: read weights that are there as
    pickle files only. ``compile``: forwards of a few ids by torch.compile, None on CUDA only."""

    draft: str | None = BUNDLED_DRAFT
    target: str = BUNDLED_TARGET
    draft_revision: str | None = None
    target_revision: str | None = None
    device: str = "auto"
    draft_device: str | None = None
    dtype: str = "auto"
    force: bool = False
    offline: bool = False
    trust_remote_code: bool = False
    allow_pickle: bool = False
    compile: bool | None = None

    @property
    def roles(self) -> tuple[Role, ...]:
        return ("target",) if self.draft is None else ("draft", "target")

    def model(self, role: Role) -> tuple[str, str | None]:
        """The requested name and revision. Raises ValueError for a draft where there is none."""
        if role == "target":
            return self.target, self.target_revision
        if self.draft is None:
            raise ValueError("no draft was asked for")
        return self.draft, self.draft_revision


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything a run depends on except the weights. ``settings`` are those of the first round; the app may change k
    and the temperatures later. ``prompts`` holds (name, text); the app's digits choose among them, the other commands
    take the first. ``calibrate`` is the number of timed one-token steps of each model, 0 to skip. ``chat``: prompts go
    through the target's chat template."""

    pair: PairOptions
    settings: Settings
    prompts: tuple[tuple[str, str], ...] = PREPARED_PROMPTS
    seed: int = 0
    max_new_tokens: int = 256
    min_new_tokens: int = 0
    """End ids are suppressed in both models until this many tokens are emitted."""
    stop: tuple[str, ...] = ()
    calibrate: int = 5
    chat: bool = False
    drafting: Mapping[str, Any] = field(default_factory=drafter_options)
    """The options of all drafters, by name; see ``specviz.core.drafters``."""
    inspect: bool = True
    """Whether rounds come with ranks, entropies, top lists and raw distributions."""
    slow_step_bytes: int = 2**30
    """With more weights, a step on a CPU takes over a tenth of a second, and calibration follows round 1."""
    drift_rounds: int = 8
    """Rounds whose median step times are compared with the calibration; 0: steps are never timed again."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run of an opened source. ``recording``: which of several recorded runs, from 0."""

    prompt: str
    seed: int
    settings: Settings
    recording: int = 0
