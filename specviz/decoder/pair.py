"""Whether two models can be a pair, from their configs and tokenizers alone: no weight is read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from transformers import AutoConfig, AutoTokenizer, GenerationConfig
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_MASKED_LM_MAPPING_NAMES,
)

from specviz import bundled
from specviz.config import PairOptions
from specviz.decoder.caches import why_not_croppable
from specviz.decoder.models import UNLIMITED
from specviz.decoder.vocabulary import Comparison, Vocabulary, compare, token_bytes, tokenizer_size
from specviz.errors import SpecvizError

Status = Literal["pass", "note", "refuse"]
Role = Literal["draft", "target"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `specviz check`. ``text`` of a refusal is one or two sentences with the way out;
    ``forcible``: whether --force may run the pair all the same."""

    subject: str
    status: Status
    text: str
    cells: tuple[str, str]
    """The draft's and the target's own value."""
    forcible: bool = False


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What config and tokenizer say of one model. ``place``: what transformers loads it from."""

    role: Role
    name: str
    place: str
    revision: str | None
    config: Any
    tokenizer: Any
    end_ids: frozenset[int]

    @property
    def text_config(self) -> Any:
        return self.config.get_text_config(decoder=True)

    @property
    def vocab_size(self) -> int:
        return int(self.text_config.vocab_size)

    @property
    def context(self) -> int:
        limit = getattr(self.text_config, "max_position_embeddings", None) or getattr(
            self.text_config, "max_seq_len", None
        )
        return int(limit) if limit else UNLIMITED


@dataclass(frozen=True, slots=True)
class PairFacts:
    """Both models' facts and everything that follows from them."""

    draft: ModelFacts
    target: ModelFacts
    findings: tuple[Finding, ...]
    vocab_size: int

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset(i for i in self.target.end_ids if i < self.vocab_size)

    @property
    def notes(self) -> list[str]:
        return [f.text for f in self.findings if f.status == "note"]

    @property
    def refusals(self) -> list[Finding]:
        return [f for f in self.findings if f.status == "refuse"]

    def vocabulary(self) -> Vocabulary:
        table = token_bytes(self.target.tokenizer, self.vocab_size)
        special = frozenset(self.target.tokenizer.all_special_ids) | {
            i for i, token in self.target.tokenizer.added_tokens_decoder.items() if token.special
        }
        bytes_of = [f"<id {i}>".encode() if data is None else data for i, data in enumerate(table)]
        return Vocabulary(bytes_of, frozenset(i for i in special if i < self.vocab_size))


def read_model(role: Role, name: str, revision: str | None) -> ModelFacts:
    """Config, tokenizer and end ids of a hub id, a local folder or a bundled model. Raises SpecvizError."""
    place = _place(role, name)
    config = _read(role, name, "configuration", lambda: AutoConfig.from_pretrained(place, revision=revision))
    why = _why_not_decoder_only(config)
    if why:
        raise SpecvizError(f"--{role} {name} cannot be used: {why}. Bring a decoder-only language model.")
    try:
        tokenizer = _tokenizer(role, name, place, revision)
    except SpecvizError:
        if reason := why_not_croppable(config):
            raise SpecvizError(_unsupported(role, name, config, reason)) from None
        raise
    return ModelFacts(role, name, place, revision, config, tokenizer, _end_ids(place, revision, config, tokenizer))


def read_pair(options: PairOptions) -> PairFacts:
    """Look a pair over. Raises SpecvizError where a model cannot be read or is no decoder; what the pair
    as such lacks stands in ``findings``."""
    target = read_model("target", options.target, options.target_revision)
    draft = (
        replace(target, role="draft")
        if (options.draft, options.draft_revision) == (options.target, options.target_revision)
        else read_model("draft", options.draft, options.draft_revision)
    )
    same = compare(draft.tokenizer, target.tokenizer, target.end_ids)
    size = min(draft.vocab_size, target.vocab_size, tokenizer_size(target.tokenizer))
    findings = [
        *_architecture(draft, target),
        *_caches(draft, target),
        *_tokenizers(draft, target, same),
        *_vocabulary(draft, target, size),
        *_contexts(draft, target),
        *_ends(draft, target),
    ]
    return PairFacts(draft, target, tuple(findings), size)


def refuse_unless_forced(facts: PairFacts, force: bool) -> list[str]:
    """Raise SpecvizError for the first refusal; under ``force`` return the refusals' texts if all can be forced."""
    for finding in facts.refusals:
        if not (force and finding.forcible):
            raise SpecvizError(finding.text)
    return [f"Forced: {finding.text}" for finding in facts.refusals]


def _place(role: Role, name: str) -> str:
    if name.startswith(bundled.PREFIX):
        return str(bundled.folder(name))
    path = Path(name).expanduser()
    if path.is_file():
        raise SpecvizError(f"--{role} {name} is a file. Name a model folder (with config.json) or a hub id.")
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise SpecvizError(
                f"--{role} {name} was taken as the local folder of that name, which has no config.json. "
                "Name a model folder, or run from another directory to mean the hub id."
            )
        return str(path)
    if name.count("/") > 1 or name.startswith((".", "~", "/")):
        raise SpecvizError(f"--{role} {name}: there is no such folder.")
    return name


def _read(role: Role, name: str, what: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except SpecvizError:
        raise
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise SpecvizError(
            f"The {what} of --{role} {name} cannot be read: {reason}. "
            "Check the name, or that it is downloaded and complete."
        ) from error


def _tokenizer(role: Role, name: str, place: str, revision: str | None) -> Any:
    tokenizer = _read(role, name, "tokenizer", lambda: AutoTokenizer.from_pretrained(place, revision=revision))
    if set(tokenizer.get_vocab().values()) <= set(tokenizer.added_tokens_decoder):
        raise SpecvizError(
            f"The tokenizer of --{role} {name} has no vocabulary: its files (tokenizer.json) are missing. "
            "Check that the folder or download is complete."
        )
    return tokenizer


def _unsupported(role: Role, name: str, config: Any, reason: str) -> str:
    return (
        f"--{role} {name} ({config.model_type}) is not supported yet: {reason}, "
        "so rejected drafts cannot be taken back exactly. Choose a model with full attention in every layer."
    )


def _why_not_decoder_only(config: Any) -> str | None:
    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        return f"{kind} is an encoder-decoder model"
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return f"{kind} is not a decoder-only language model that transformers knows"
    names = getattr(config, "architectures", None) or []
    decodes = getattr(config, "is_decoder", False) or any(n.endswith(("ForCausalLM", "LMHeadModel")) for n in names)
    if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not decodes:
        return f"{kind} is an encoder-only model"
    return None


def _end_ids(place: str, revision: str | None, config: Any, tokenizer: Any) -> frozenset[int]:
    """The union of the generation settings' end ids (filled from the config) and the tokenizer's."""
    try:
        generation = GenerationConfig.from_pretrained(place, revision=revision)
    except OSError:
        generation = GenerationConfig.from_model_config(config)
    listed = (
        generation.eos_token_id
        if generation.eos_token_id is not None
        else config.get_text_config(decoder=True).eos_token_id
    )
    ids = listed if isinstance(listed, list) else [listed]
    return frozenset(int(i) for i in [*ids, tokenizer.eos_token_id] if i is not None)


def _architecture(draft: ModelFacts, target: ModelFacts) -> Iterator[Finding]:
    kinds = draft.config.model_type, target.config.model_type
    yield Finding("architecture", "pass", "both are decoder-only", kinds)


def _caches(draft: ModelFacts, target: ModelFacts) -> Iterator[Finding]:
    reasons = [(model, why_not_croppable(model.config)) for model in (draft, target)]
    bad = [(model, reason) for model, reason in reasons if reason]
    draft_cell, target_cell = ("roll-back" if reason is None else "no exact roll-back" for _, reason in reasons)
    cells = draft_cell, target_cell
    if not bad:
        yield Finding("cache", "pass", "both caches can be rolled back exactly", cells)
    for model, reason in bad:
        text = (
            f"--{model.role} {model.name} ({model.config.model_type}) is not supported yet: {reason}, "
            "so rejected drafts could stay in its cache. Choose a model with full attention in every layer."
        )
        yield Finding("cache", "refuse", text, cells)


def _tokenizers(draft: ModelFacts, target: ModelFacts, same: Comparison) -> Iterator[Finding]:
    cells = f"{tokenizer_size(draft.tokenizer)} ids", f"{tokenizer_size(target.tokenizer)} ids"
    if same.clashing:
        n, first = len(same.clashing), same.clashing[0]
        ids = "1 id stands" if n == 1 else f"{n} ids stand"
        text = (
            f"The draft {draft.name} has another tokenizer than the target {target.name}: {ids} for different text "
            f"({same.example(first)}). Choose a draft of the target's family, or --force to see what happens."
        )
        yield Finding("tokenizer", "refuse", text, cells, forcible=True)
    elif same.special:
        shown = "; ".join(same.example(i) for i in same.special[:3])
        more = f" and {len(same.special) - 3} more" if len(same.special) > 3 else ""
        text = f"The tokenizers differ only in special, added or placeholder tokens: {shown}{more}."
        yield Finding("tokenizer", "note", text, cells)
    else:
        yield Finding("tokenizer", "pass", "every id stands for the same bytes", cells)


def _vocabulary(draft: ModelFacts, target: ModelFacts, size: int) -> Iterator[Finding]:
    cells = str(draft.vocab_size), str(target.vocab_size)
    largest = max(draft.vocab_size, target.vocab_size)
    if largest == size:
        yield Finding("vocabulary", "pass", f"{size} ids in both", cells)
    else:
        text = (
            f"model vocab {draft.vocab_size}/{target.vocab_size} (draft/target), "
            f"tokenizer {tokenizer_size(target.tokenizer)}: ids from {size} on are masked in both models"
        )
        yield Finding("vocabulary", "note", text, cells)


def _contexts(draft: ModelFacts, target: ModelFacts) -> Iterator[Finding]:
    cells = _limit(draft), _limit(target)
    if draft.context < target.context:
        text = (
            f"the draft's context ({cells[0]}) is shorter than the target's ({cells[1]}): "
            "beyond it the run goes on without drafts"
        )
        yield Finding("context", "note", text, cells)
    else:
        yield Finding("context", "pass", f"texts up to {cells[1]} tokens", cells)


def _ends(draft: ModelFacts, target: ModelFacts) -> Iterator[Finding]:
    cells = _listed(draft.end_ids), _listed(target.end_ids)
    if not target.end_ids:
        yield Finding("end ids", "note", "the target names no end of text: runs end at --max-new-tokens", cells)
    elif draft.end_ids != target.end_ids:
        yield Finding("end ids", "note", f"the end ids differ; the target's count: {cells[1]}", cells)
    else:
        yield Finding("end ids", "pass", f"a text ends at {cells[1]}", cells)


def _limit(model: ModelFacts) -> str:
    return "no limit" if model.context == UNLIMITED else str(model.context)


def _listed(ids: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(ids))) or "none"
