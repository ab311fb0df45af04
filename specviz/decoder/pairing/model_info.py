"""The configuration and the tokenizer of one model, read from its files without any weights."""

import filecmp
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import transformers
from transformers import CONFIG_MAPPING, AutoConfig, AutoTokenizer, GenerationConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions, Role
from specviz.decoder.checkpoints.files import (
    CONFIG,
    Problem,
    Weights,
    custom_code,
    missing_tokenizer_file,
    read_json,
    tokenizer_files,
    weights,
    weights_problem,
)
from specviz.decoder.checkpoints.location import CheckpointLocation
from specviz.decoder.models.cache_support import unsupported_message, unsupported_reason
from specviz.decoder.models.causal_model import UNLIMITED


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one model, without its tokenizer. ``stored``: its weight files, or why there are none to load.
    ``code``: the classes it has custom code for, and where; ``trusted``: that code is run."""

    location: CheckpointLocation
    revision: str | None
    config: Any
    stored: Weights | Problem
    code: dict[str, str]
    trusted: bool

    @property
    def role(self) -> Role:
        return self.location.role

    @property
    def name(self) -> str:
        return self.location.name

    @property
    def folder(self) -> str:
        """The folder that transformers loads the model from."""
        return str(self.location.folder)

    @property
    def weights(self) -> Weights:
        """Raises SpecvizError where there are none to load."""
        if isinstance(self.stored, Problem):
            raise self.location.error_for(self.stored)
        return self.stored

    @property
    def to_fetch(self) -> tuple[CheckpointLocation, tuple[str, ...]]:
        """The model's location and its weight files, some of which may not be downloaded yet."""
        return self.location, self.weights.files

    @property
    def is_local(self) -> bool:
        """Whether there are weights to load, all of them on this machine."""
        return isinstance(self.stored, Weights) and not self.location.missing(self.stored.files)

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
class ModelFacts(ModelFiles):
    """The same with the tokenizer."""

    tokenizer: Any
    end_ids: frozenset[int]


def read_files(location: CheckpointLocation, options: PairOptions) -> ModelFiles:
    """Read the configuration. Raises SpecvizError with the model, the reason and a suggestion."""
    trust = options.trust_remote_code
    code = _check_config(location, trust)
    config = _read(
        location, "configuration", lambda: AutoConfig.from_pretrained(location.folder, trust_remote_code=trust)
    )
    if reason := _not_decoder_only_reason(config, code):
        raise location.error_for(Problem(f"cannot be used: {reason}", "Use a decoder-only language model."))
    _, revision = options.model(location.role)
    return ModelFiles(location, revision, config, _weights(location, options.allow_pickle), code, trust)


def read_model(files: ModelFiles, other: ModelFacts | None = None) -> ModelFacts:
    """Add the tokenizer, that of ``other`` where both are built from the same files. Raises SpecvizError."""
    location, config = files.location, files.config
    if other and _same_tokenizer(files, other):
        tokenizer = other.tokenizer
    else:
        try:
            tokenizer = _tokenizer(location, files.trusted)
        except SpecvizError:
            if reason := unsupported_reason(config):
                raise SpecvizError(unsupported_message(location.role, location.name, config, reason)) from None
            raise
    values = {field.name: getattr(files, field.name) for field in fields(ModelFiles)}
    return ModelFacts(**values, tokenizer=tokenizer, end_ids=_end_ids(location, config, tokenizer))


def _same_tokenizer(files: ModelFiles, other: ModelFiles) -> bool:
    """Whether both tokenizers are built from the same bytes, chat templates aside, since only the target's is used."""
    if files.config.model_type != other.config.model_type or "AutoTokenizer" in {*files.code, *other.code}:
        return False
    names = tokenizer_files(files.location.files)
    if names != tokenizer_files(other.location.files):
        return False
    _, differing, unread = filecmp.cmpfiles(files.location.folder, other.location.folder, names, shallow=False)
    return not (differing or unread)


def _check_config(location: CheckpointLocation, trust: bool) -> dict[str, str]:
    """The classes with custom code. Raises SpecvizError for a configuration that transformers cannot use."""
    try:
        raw = read_json(location.folder, CONFIG)
        code = custom_code(location.folder)
    except (ValueError, OSError) as error:
        raise location.error_for(Problem(f"has a {CONFIG} that cannot be read ({_first_line(error)})")) from error
    kind = raw.get("model_type")
    known = {"AutoConfig": kind in CONFIG_MAPPING, "AutoModelForCausalLM": kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES}
    needed = [reference for what, reference in code.items() if not known.get(what, True)]
    if needed and not trust:
        raise location.error_for(_needs_code(needed[0]))
    if "AutoConfig" in code and trust:
        return code
    if not kind:
        raise location.error_for(
            Problem(f"has a {CONFIG} without a model_type", "Use a model that transformers can load.")
        )
    if not known["AutoConfig"]:
        what = f"has the model type {kind}, which transformers {transformers.__version__} does not support"
        raise location.error_for(Problem(what, "A newer version of transformers may support it."))
    return code


def _needs_code(reference: str) -> Problem:
    repository, _, local = reference.rpartition("--")
    file = local.split(".")[0] + ".py" + (f" of {repository}" if repository else "")
    return Problem(
        f"contains custom code ({file}), which runs only with --trust-remote-code",
        "Read that code before you pass the flag: it runs with all your permissions.",
    )


def _read(location: CheckpointLocation, what: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise location.error_for(
                _needs_code(custom_code(location.folder).get("AutoTokenizer", "its files"))
            ) from error
        raise location.error_for(Problem(f"has a {what} that cannot be read ({_first_line(error)})")) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _tokenizer(location: CheckpointLocation, trust: bool) -> Any:
    missing = missing_tokenizer_file(location.files)
    if missing and not trust:
        raise location.error_for(Problem(f"has no tokenizer ({missing} is missing)"))
    tokenizer = _read(
        location, "tokenizer", lambda: AutoTokenizer.from_pretrained(location.folder, trust_remote_code=trust)
    )
    if len(tokenizer) <= len(tokenizer.added_tokens_decoder):
        raise location.error_for(
            Problem(f"has a tokenizer without a vocabulary ({missing or 'tokenizer.json'} is missing)")
        )
    return tokenizer


def _weights(location: CheckpointLocation, pickle: bool) -> Weights | Problem:
    problem = weights_problem(location.files, location.folder, pickle=pickle)
    return problem or weights(location.files, location.folder, pickle=pickle) or Problem("has no weights")


def _not_decoder_only_reason(config: Any, code: dict[str, str]) -> str | None:
    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        return f"{kind} is an encoder-decoder model"
    if "AutoModelForCausalLM" in code:
        return None
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        return f"{kind} is not a decoder-only language model that transformers supports"
    names = getattr(config, "architectures", None) or []
    decodes = getattr(config, "is_decoder", False) or any(n.endswith(("ForCausalLM", "LMHeadModel")) for n in names)
    if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES and not decodes:
        return f"{kind} is an encoder-only model"
    return None


def _end_ids(location: CheckpointLocation, config: Any, tokenizer: Any) -> frozenset[int]:
    """The end ids of the generation settings, which default to the configuration's, and of the tokenizer."""
    try:
        generation = GenerationConfig.from_pretrained(location.folder)
    except OSError:
        generation = GenerationConfig.from_model_config(config)
    listed = (
        generation.eos_token_id
        if generation.eos_token_id is not None
        else config.get_text_config(decoder=True).eos_token_id
    )
    ids = listed if isinstance(listed, list) else [listed]
    return frozenset(int(i) for i in [*ids, tokenizer.eos_token_id] if i is not None)
