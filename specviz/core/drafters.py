"""The registry of drafters: their names, their options and where the decoder finds them. No torch.

A new drafter is an entry of ``DRAFTERS`` and a module in ``specviz/decoder/drafters/``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

MAX_NGRAM = 16
DEFAULT_DRAFTER = "model"


@dataclass(frozen=True, slots=True)
class DrafterOption:
    """A command line option that one drafter reads: a whole number from 1 to ``maximum``, or the path of a file."""

    name: str
    help: str
    kind: Literal["number", "file"] = "number"
    default: int | str | None = None
    maximum: int | None = None
    metavar: str | None = None

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class DrafterSpec:
    """What the command line, the screens and the statistics need to know about a drafter. ``name``: as in
    ``Settings.drafter``. ``title``, ``phrase``: the same in a list and in a sentence. ``factory``: ``module:class`` of
    its ``DrafterFactory``, imported by the decoder. ``needs_draft_model``: proposes with the model of ``--draft``.
    ``free``: for a drafter that runs no model, the sentence that says so; it has no T_q, and c is undefined.
    ``variant``: the option that ``NAME:N`` sets where drafters are listed. ``draft_limit``: what a round lacks that
    drafts fewer than K tokens. ``check``: the message about option values that contradict each other, None if they do
    not."""

    name: str
    title: str = ""
    phrase: str = ""
    factory: str = ""
    needs_draft_model: bool = False
    free: str | None = None
    options: tuple[DrafterOption, ...] = ()
    variant: str | None = None
    draft_limit: str = "context"
    check: Callable[[Mapping[str, Any]], str | None] = lambda options: None

    def label(self, config: Mapping[str, Any], draft: str = "") -> str:
        """What drafts in a run of ``config``: the draft model, ``layers:2``, or the drafter's name."""
        if self.needs_draft_model:
            return str(config.get("draft") or draft)
        value = config.get(self.variant) if self.variant else None
        return f"{self.name}:{value}" if value else self.name


def _check_ngram(options: Mapping[str, Any]) -> str | None:
    shortest, longest = options["ngram_min"], options["ngram_max"]
    return f"--ngram-min {shortest} is above --ngram-max {longest}." if shortest > longest else None


DRAFTERS: Mapping[str, DrafterSpec] = {
    spec.name: spec
    for spec in (
        DrafterSpec(
            DEFAULT_DRAFTER,
            title="model",
            phrase="a draft model",
            factory="specviz.decoder.drafters.model:ModelDrafterFactory",
            needs_draft_model=True,
        ),
        DrafterSpec(
            "ngram",
            title="n-grams",
            phrase="an n-gram search",
            factory="specviz.decoder.drafters.ngram:NgramDrafterFactory",
            free="An n-gram draft costs almost nothing",
            options=(
                DrafterOption("ngram_max", "Longest n-gram.", default=4, maximum=MAX_NGRAM),
                DrafterOption("ngram_min", "Shortest n-gram.", default=1, maximum=MAX_NGRAM),
                DrafterOption("ngram_corpus", "An extra text to search for n-grams.", "file"),
            ),
            draft_limit="a longer match",
            check=_check_ngram,
        ),
        DrafterSpec(
            "layers",
            title="layers",
            phrase="the target's first layers",
            factory="specviz.decoder.drafters.early_exit:EarlyExitDrafterFactory",
            options=(
                DrafterOption(
                    "exit_layer", "The target's layer to draft from.  [default: the middle one]", metavar="N"
                ),
            ),
            variant="exit_layer",
        ),
    )
}
WITHOUT_DRAFT_MODEL = tuple(name for name, spec in DRAFTERS.items() if not spec.needs_draft_model)


def drafter_spec(name: str) -> DrafterSpec:
    """The drafter called ``name``; one without any properties for the unknown drafter of a recorded run."""
    return DRAFTERS.get(name) or DrafterSpec(name)


def drafter_options(**chosen: Any) -> dict[str, Any]:
    """The value of each drafter option: those in ``chosen``, the defaults of the rest. Raises TypeError for a name
    that is not an option."""
    defaults = {option.name: option.default for spec in DRAFTERS.values() for option in spec.options}
    if unknown := chosen.keys() - defaults:
        raise TypeError(f"no drafter has the option {min(unknown)}")
    return defaults | chosen
