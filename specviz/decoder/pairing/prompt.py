"""Encoding a prompt with the target's tokenizer, as plain text or through its chat template."""

from dataclasses import dataclass
from typing import Any

from specviz.core.errors import SpecvizError
from specviz.decoder.checkpoints.files import Problem
from specviz.decoder.pairing.model_info import ModelFacts


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """``text``: the prompt, or what the chat template makes of it. ``ids``: never empty."""

    text: str
    ids: tuple[int, ...]


def read_prompt(target: ModelFacts, prompt: str, vocab_size: int, *, chat: bool = False) -> EncodedPrompt:
    """The ids that both models are fed; special tokens written in the prompt are recognised. As text: the tokenizer's
    default, with its start token if it adds one. With ``chat``: the chat template with one user message and the opening
    of the answer, and exactly one start token if the template or the tokenizer has one. A prompt without any ids starts
    from the tokenizer's start id, else from an end id. Raises SpecvizError where that is not possible or does not fit
    the target's context."""
    tokenizer = target.tokenizer
    text = in_template(target, prompt) if chat else prompt
    ids: list[int] = tokenizer(text, add_special_tokens=not chat, verbose=False)["input_ids"]
    if chat:
        ids = _with_one_start(tokenizer, ids)
    if not ids:
        starts = (tokenizer.bos_token_id, target.text_config.bos_token_id, *sorted(target.end_ids))
        ids = [i for i in starts if i is not None][:1]
    if not ids:
        raise SpecvizError(
            "The prompt is empty, and this tokenizer has no start or end token to begin with. Provide a prompt."
        )
    if max(ids) >= vocab_size:
        raise SpecvizError(
            f"The prompt contains the id {max(ids)}, but one of the models only has ids below {vocab_size}. "
            "Change the prompt."
        )
    if len(ids) > target.context:
        raise SpecvizError(
            f"The prompt has {len(ids)} tokens, more than the target's context of {target.context}. Shorten it."
        )
    return EncodedPrompt(text, tuple(ids))


def has_template(target: ModelFacts) -> bool:
    return bool(getattr(target.tokenizer, "chat_template", None))


def in_template(target: ModelFacts, prompt: str) -> str:
    """``prompt`` as a user message in the target's chat template, followed by the opening of the answer."""
    if not has_template(target):
        raise target.location.error_for(no_template())
    message = [{"role": "user", "content": prompt}]
    try:
        text = target.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program and may raise anything
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        what = f"has a chat template that cannot be used ({reason})"
        raise target.location.error_for(Problem(what, "Omit --chat.")) from error
    return str(text)


def no_template() -> Problem:
    return Problem("has no chat template for --chat", "Omit --chat, or choose a target with a chat template.")


def _with_one_start(tokenizer: Any, ids: list[int]) -> list[int]:
    """``ids`` with exactly one start token if the template wrote any or the tokenizer adds one."""
    start = tokenizer.bos_token_id
    if start is None:
        return ids
    rest = ids
    while rest[:1] == [start]:
        rest = rest[1:]
    adds = tokenizer("", add_special_tokens=True, verbose=False)["input_ids"][:1] == [start]
    return [start, *rest] if adds or len(rest) < len(ids) else ids
