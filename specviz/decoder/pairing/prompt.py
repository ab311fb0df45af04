"""A prompt's way to ids: read once, by the target's tokenizer, as text or through its chat template."""

from dataclasses import dataclass
from typing import Any

from specviz.core.errors import SpecvizError
from specviz.decoder.checkpoints.files import Problem
from specviz.decoder.pairing.model_info import ModelFacts


@dataclass(frozen=True, slots=True)
class EncodedPrompt:
    """``text``: what the ids stand for: the prompt, or what the chat template makes of it. ``ids``: never empty."""

    text: str
    ids: tuple[int, ...]


def read_prompt(target: ModelFacts, prompt: str, vocab_size: int, *, chat: bool = False) -> EncodedPrompt:
    """The ids that both models are fed, special tokens in the prompt parsed.

    As text: whatever the tokenizer does by default, its start token included if it adds one. With ``chat``: the
    template once, as one message of a user with the opening of the answer behind it, and exactly one start token
    where either the template or the tokenizer has one. A prompt without any id starts from the tokenizer's start id,
    else from an end id. Raises SpecvizError where that cannot be done or does not fit the target's context.
    """
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
            "The prompt is empty, and this tokenizer names no start or end token to begin from. Bring a prompt."
        )
    if max(ids) >= vocab_size:
        raise SpecvizError(
            f"The prompt has the id {max(ids)}, which one of the models cannot read: it has ids below {vocab_size}. "
            "Change the prompt."
        )
    if len(ids) > target.context:
        raise SpecvizError(
            f"The prompt is longer than the target's context: prompt {len(ids)} tokens, limit {target.context}. "
            "Shorten it."
        )
    return EncodedPrompt(text, tuple(ids))


def has_template(target: ModelFacts) -> bool:
    return bool(getattr(target.tokenizer, "chat_template", None))


def in_template(target: ModelFacts, prompt: str) -> str:
    """``prompt`` as a user's message in the target's chat template, with the opening of the answer behind it."""
    if not has_template(target):
        raise target.location.error_for(no_template())
    message = [{"role": "user", "content": prompt}]
    try:
        text = target.tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program, and fails in a way of its own
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        what = f"has a chat template that cannot be used ({reason})"
        raise target.location.error_for(Problem(what, "Leave --chat away.")) from error
    return str(text)


def no_template() -> Problem:
    return Problem(
        "has no chat template for --chat", "Leave --chat away, or choose a target that is tuned to follow one."
    )


def _with_one_start(tokenizer: Any, ids: list[int]) -> list[int]:
    """``ids`` with exactly one start token in front if the template wrote any or the tokenizer adds one by itself."""
    start = tokenizer.bos_token_id
    if start is None:
        return ids
    rest = ids
    while rest[:1] == [start]:
        rest = rest[1:]
    adds = tokenizer("", add_special_tokens=True, verbose=False)["input_ids"][:1] == [start]
    return [start, *rest] if adds or len(rest) < len(ids) else ids
