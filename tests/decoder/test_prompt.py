"""A prompt's way to ids: once, by the target's tokenizer, with exactly one start token where there is one."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, pre_tokenizers, processors
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions
from specviz.decoder.checkpoints.hub import Locator
from specviz.decoder.pairing.model_info import ModelFacts, read_files, read_model
from specviz.decoder.pairing.prompt import EncodedPrompt, read_prompt
from tests.decoder.models import Shelf, random, save_model, text_of, words
from tests.decoder.run_helpers import Feeds, opened, play, setting

START, END, USER, ANSWER = 60, 61, 62, 63
VOCABULARY = [*words(60), "<s>", "</s>", "<user>", "<answer>"]
WITHOUT_START = (
    "{% for m in messages %}<user> {{ m.content }} {% endfor %}{% if add_generation_prompt %}<answer>{% endif %}"
)
WITH_START = "{{ bos_token }}" + WITHOUT_START


def save(folder: Path, *, adds_start: bool = False, start: bool = True, template: str | None = None) -> str:
    """A tiny model whose tokenizer knows <s>, and puts it in front if ``adds_start``."""
    save_model(folder, random(1, context=32))
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    if adds_start:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", START)])
    special = {"bos_token": "<s>", "eos_token": "</s>"} if start else {}
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, additional_special_tokens=["<user>", "<answer>"], **special
    )
    wrapped.chat_template = template
    wrapped.save_pretrained(folder)
    return str(folder)


def facts(folder: str) -> ModelFacts:
    asked = PairOptions(folder, folder)
    return read_model(read_files(Locator(asked, lambda _: None).locate("target"), asked))


def read(folder: str, prompt: str, *, chat: bool = False) -> EncodedPrompt:
    return read_prompt(facts(folder), prompt, 64, chat=chat)


def test_c61_both_models_are_fed_what_the_targets_tokenizer_reads(tmp_path: Path) -> None:
    target = save(tmp_path / "target", adds_start=True)
    draft = save(tmp_path / "draft")
    pair = opened(target, draft)
    with Feeds(pair.pair.draft) as drafts, Feeds(pair.pair.target) as targets:
        played = play(pair, "w1 <user> w2", setting(temperature=0.0))
    assert played.prompt == [START, 1, USER, 2]
    for feeds in (drafts, targets):
        assert [i for feed in feeds.feeds for i in feed.ids][:4] == played.prompt


def test_c61_special_tokens_are_parsed(tmp_path: Path) -> None:
    assert read(save(tmp_path), "w1 </s> w2").ids == (1, END, 2)


@pytest.mark.parametrize("adds_start", [True, False])
@pytest.mark.parametrize("template", [WITH_START, WITHOUT_START])
def test_c62_exactly_one_start_token(tmp_path: Path, adds_start: bool, template: str) -> None:
    folder = save(tmp_path, adds_start=adds_start, template=template)
    expected = [START] if adds_start or template == WITH_START else []
    chat = read(folder, "w1 w2", chat=True)
    assert chat.ids == (*expected, USER, 1, 2, ANSWER)
    assert chat.text.endswith("<user> w1 w2 <answer>")
    assert read(folder, "w1 w2").ids == ((START, 1, 2) if adds_start else (1, 2))
    assert read(folder, "<s> w1", chat=True).ids.count(START) == len(expected) + 1


def test_c62_the_prompt_of_the_run_is_what_the_template_makes(tmp_path: Path) -> None:
    folder = save(tmp_path, adds_start=True, template=WITH_START)
    played = play(opened(folder, chat=True, prompts=(("p", "w1 w2"),)), "w1 w2", setting(temperature=0.0))
    assert played.prompt == [START, USER, 1, 2, ANSWER]
    assert played.header.prompt.text == "<s><user> w1 w2 <answer>"


def test_c62_no_template_is_a_sentence_before_the_weights(tmp_path: Path) -> None:
    folder = Path(save(tmp_path))
    (folder / "model.safetensors").write_bytes(b"no weights at all")
    with pytest.raises(SpecvizError) as caught:
        opened(str(folder), chat=True)
    assert str(caught.value) == (
        f"--target {folder} has no chat template for --chat. Omit --chat, or choose a target with a chat template."
    )


def test_a_template_that_fails_is_a_sentence(tmp_path: Path) -> None:
    folder = save(tmp_path, template="{{ raise_exception('roles must alternate') }}")
    with pytest.raises(SpecvizError) as caught:
        read(folder, "w1", chat=True)
    assert str(caught.value) == (
        f"--target {folder} has a chat template that cannot be used (roles must alternate). Omit --chat."
    )


def test_c43_an_empty_prompt_starts_from_the_start_token(tmp_path: Path) -> None:
    folder = save(tmp_path / "with")
    assert read(folder, "").ids == read(folder, " ").ids == (START,)
    without = save(tmp_path / "without", start=False)
    with pytest.raises(SpecvizError, match="The prompt is empty, and this tokenizer has no start or end token"):
        read(without, "")
    assert read(save(tmp_path / "adds", adds_start=True), "").ids == (START,)


def test_c15_a_prompt_beyond_the_context_is_refused_before_the_weights(tmp_path: Path) -> None:
    folder = Path(save(tmp_path))
    (folder / "model.safetensors").write_bytes(b"no weights at all")
    with pytest.raises(SpecvizError) as caught:
        opened(str(folder), prompts=(("p", text_of([1] * 40)),))
    assert str(caught.value) == ("The prompt has 40 tokens, more than the target's context of 32. Shorten it.")


def test_a_prompt_that_one_model_cannot_read(shelf: Shelf) -> None:
    with pytest.raises(SpecvizError, match="The prompt contains the id 9, but one of the models only has ids below"):
        read_prompt(facts(shelf.random(1)), "w9", 5)
