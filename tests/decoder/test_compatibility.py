"""Which models can be a pair, decided from configs and tokenizers; no weight is read where no folder has any."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, processors
from transformers import (
    BertConfig,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    OpenAIGPTConfig,
    PreTrainedConfig,
    Qwen2Config,
    T5Config,
    WhisperConfig,
)

from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions
from specviz.decoder.pairing.compatibility import PairFacts, raise_refusals
from tests.builders import known
from tests.decoder.models import Shelf, one_hot, random, save_model, save_tokenizer, save_wrapped, scripted, words
from tests.decoder.pairs import read_pair
from tests.decoder.run_helpers import Feeds, greedy, opened, play, setting


def config_folder(folder: Path, config: PreTrainedConfig, *, vocabulary: list[str] | None = None) -> str:
    """A folder with a config, perhaps a tokenizer, and weights that cannot be read."""
    config.save_pretrained(folder)
    (folder / "model.safetensors").write_bytes(b"never read")
    if vocabulary:
        save_tokenizer(folder, vocabulary, eos="w0")
    return str(folder)


def facts(draft: str, target: str) -> PairFacts:
    return read_pair(PairOptions(draft, target))


def finding(pair: PairFacts, subject: str) -> Any:
    (one,) = (finding for finding in pair.findings if finding.subject == subject)
    return one


def small(**others: Any) -> dict[str, Any]:
    return {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "vocab_size": 16,
        "bos_token_id": None,
        "eos_token_id": None,
        **others,
    }


UNUSABLE: dict[str, tuple[PreTrainedConfig, str]] = {
    "T5": (T5Config(), "t5 is an encoder-decoder model"),
    "Whisper": (WhisperConfig(), "whisper is an encoder-decoder model"),
    "BERT": (BertConfig(), "bert is an encoder-only model"),
}


@pytest.mark.parametrize("role", ["draft", "target"])
@pytest.mark.parametrize(("config", "reason"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_c60_a_model_that_cannot_be_used_is_refused_from_its_config(
    tmp_path: Path, config: PreTrainedConfig, reason: str, role: str
) -> None:
    bad = config_folder(tmp_path / "bad", config, vocabulary=words(16))
    good = config_folder(tmp_path / "good", LlamaConfig(**small()), vocabulary=words(16))
    names = {"draft": good, "target": good, role: bad}
    with pytest.raises(SpecvizError, match=reason) as refusal:
        raise_refusals(facts(names["draft"], names["target"]), force=True)
    assert f"--{role} {bad}" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert refusal.value.exit_code == 2


@pytest.mark.parametrize(
    ("config", "status"),
    [
        (Qwen2Config(**small(sliding_window=8, use_sliding_window=False)), "pass"),
        (MistralConfig(**small(sliding_window=8)), "pass"),
        (MambaConfig(vocab_size=16), "note"),
        (OpenAIGPTConfig(vocab_size=16), "note"),
    ],
    ids=["window not used", "sliding window", "recurrent", "no cache at all"],
)
def test_the_rollback_is_known_from_the_config(tmp_path: Path, config: PreTrainedConfig, status: str) -> None:
    folder = config_folder(tmp_path, config, vocabulary=words(16))
    pair = facts(folder, folder)
    assert pair.refusals == []
    assert {finding.status for finding in pair.findings if finding.subject == "cache"} == {status}


def test_a_config_of_a_usable_model_passes_every_check(tmp_path: Path) -> None:
    folder = config_folder(tmp_path, LlamaConfig(**small(eos_token_id=0)), vocabulary=words(16))
    pair = facts(folder, folder)
    assert {finding.status for finding in pair.findings} == {"pass"}
    assert (pair.vocab_size, pair.end_ids) == (16, frozenset({0}))


@pytest.mark.parametrize("config", [GPT2Config(), Qwen2Config()], ids=["gpt2", "qwen2"])
def test_a_folder_without_tokenizer_files_is_refused(tmp_path: Path, config: PreTrainedConfig) -> None:
    with pytest.raises(SpecvizError, match=r"--target .* has no tokenizer \(tokenizer\.json is missing\)"):
        facts(config_folder(tmp_path, config), config_folder(tmp_path, config))


def test_names_that_are_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpt2").mkdir()
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(1020))
    for name, reason in (
        ("gpt2", "local folder of that name, which has no config.json"),
        ("model.gguf", "is a GGUF file"),
        ("./nowhere", "this folder does not exist"),
        ("bundled:medium", "No model called 'bundled:medium'"),
    ):
        with pytest.raises(SpecvizError, match=reason):
            facts(name, name)


def padded(shelf: Shelf, seed: int, vocab: int) -> str:
    """A model of ``vocab`` output rows whose tokenizer has 60 entries."""
    return shelf.folder(("padded", seed, vocab), lambda path: _save_padded(path, seed, vocab))


def _save_padded(folder: Path, seed: int, vocab: int) -> None:
    save_model(folder, random(seed, vocab=vocab, context=256))
    save_tokenizer(folder, words(60))


@pytest.mark.parametrize(("draft_vocab", "target_vocab"), [(64, 72), (72, 64)])
def test_c10_vocabularies_that_differ_by_padding(shelf: Shelf, draft_vocab: int, target_vocab: int) -> None:
    pair = opened(padded(shelf, 2, target_vocab), padded(shelf, 1, draft_vocab), max_new_tokens=200)
    note = f"model vocab {draft_vocab}/{target_vocab} (draft/target), tokenizer 60"
    assert any(note in notice.message for notice in pair.notices)
    run = play(pair, "w3 w5", setting(4))
    assert len(run.ids) == 200
    assert max(run.ids) < run.header.vocab_size == 60
    assert any(note in sentence for sentence in run.header.config["notes"])
    assert run.header.config["model_vocab_sizes"] == {"draft": draft_vocab, "target": target_vocab}


@pytest.mark.parametrize("as_bonus", [False, True])
def test_c11_an_id_the_draft_cannot_read_is_never_fed_to_it(shelf: Shelf, as_bonus: bool) -> None:
    logits = one_hot([1, 2, 70] + [3] * 60, 72)
    logits[2, 5] = -1.0
    target = shelf.scripted(logits, vocabulary=words(64))
    draft = shelf.scripted(one_hot([1, 2, 5 if as_bonus else 4] + [3] * 60, 64))
    pair = opened(target, draft, max_new_tokens=20)
    with Feeds(pair.pair.draft) as feeds:
        run = play(pair, "w0", setting(2 if as_bonus else 4, 0.0))
    assert max(i for feed in feeds.feeds for i in feed.ids) < 64
    assert run.ids == [1, 2, 5] + [3] * 17
    assert any("ids from 64 on are masked" in notice.message for notice in pair.notices)


def test_the_text_stays_the_targets_own_where_the_draft_lacks_ids(shelf: Shelf) -> None:
    """Ids from 48 on are the target's most probable ones: the draft never proposes one, and reads on after each."""
    target = shelf.random(1, vocab=64)
    draft = shelf.random(2, vocab=48, saving={"vocabulary": words(64)})
    pair = opened(target, draft, max_new_tokens=50)
    assert any("the draft has no ids from 48 to 63" in notice.message for notice in pair.notices)
    with Feeds(pair.pair.draft) as feeds:
        run = play(pair, "w3 w5", setting(4, 0.0))
    assert run.ids == greedy(target, [3, 5], 50)
    assert max(run.ids) >= 48
    assert max(i for feed in feeds.feeds for i in feed.ids) < 48
    drafted = [token for round_ in run.rounds for token in round_.drafted]
    assert max(known(token.id) for token in drafted) < 48
    assert any(e.q == 0.0 for e in play(pair, "w3 w5", setting(4)).emitted if known(e.id) >= 48 and e.q is not None)


def swapped(shelf: Shelf) -> tuple[str, str]:
    """Two models of the same size whose tokenizers disagree about ids 10 and 11."""
    vocabulary = words(64)
    vocabulary[10], vocabulary[11] = vocabulary[11], vocabulary[10]
    return shelf.random(1), shelf.random(2, saving={"vocabulary": vocabulary})


def test_c12_another_tokenizer_of_the_same_size_is_refused(shelf: Shelf) -> None:
    target, draft = swapped(shelf)
    with pytest.raises(SpecvizError, match="2 ids have different text") as refusal:
        opened(target, draft)
    assert "id 10: 'w11' in the draft, 'w10' in the target" in str(refusal.value)
    assert "--force" in str(refusal.value)
    assert refusal.value.exit_code == 2


def test_c12_refused_before_any_weight_is_read(tmp_path: Path) -> None:
    vocabulary = words(16)
    vocabulary[10], vocabulary[11] = vocabulary[11], vocabulary[10]
    config = LlamaConfig(**small())
    target = config_folder(tmp_path / "target", config, vocabulary=words(16))
    draft = config_folder(tmp_path / "draft", config, vocabulary=vocabulary)
    with pytest.raises(SpecvizError, match="2 ids have different text"):
        opened(target, draft)


def test_c12_forced_it_runs_under_a_banner(shelf: Shelf) -> None:
    target, draft = swapped(shelf)
    pair = opened(target, draft, force=True)
    banners = [notice for notice in pair.notices if notice.permanent]
    assert len(banners) == 1
    assert "2 ids have different text" in banners[0].message
    run = play(pair, "w3 w10", setting(4, 0.0))
    assert run.ids == play(opened(target), "w3 w10", setting(4, 0.0)).ids
    assert banners[0].message in run.header.config["notes"]


def with_entry(tmp_path: Path, name: str, i: int, entry: str, **saving: Any) -> str:
    vocabulary = words(16)
    vocabulary[i] = entry
    folder = tmp_path / name
    config_folder(folder, LlamaConfig(**small()))
    save_tokenizer(folder, vocabulary, **saving)
    return str(folder)


@pytest.mark.parametrize(
    ("draft", "target"), [("<unused5>", "w12"), ("[unused_12]", "<|reserved_special_token_3|>"), ("<0x00>_1", "w12")]
)
def test_placeholders_that_differ_are_a_note(tmp_path: Path, draft: str, target: str) -> None:
    pair = facts(with_entry(tmp_path, "draft", 12, draft), with_entry(tmp_path, "target", 12, target))
    note = finding(pair, "tokenizer")
    assert note.status == "note"
    assert f"id 12: '{draft}' in the draft, '{target}' in the target" in note.text
    assert pair.refusals == []


def test_special_tokens_that_differ_are_a_note(tmp_path: Path) -> None:
    draft = with_entry(tmp_path, "draft", 12, "<start>", bos="<start>")
    target = with_entry(tmp_path, "target", 12, "w12")
    assert finding(facts(draft, target), "tokenizer").status == "note"


def test_an_end_id_that_differs_refuses(tmp_path: Path) -> None:
    draft = with_entry(tmp_path, "draft", 12, "<unused5>")
    target = with_entry(tmp_path, "target", 12, "<end>", eos="<end>")
    refusal = finding(facts(draft, target), "tokenizer")
    assert (refusal.status, refusal.forcible) == ("refuse", True)
    assert "1 id has different text" in refusal.text


def test_ordinary_entries_that_differ_refuse(tmp_path: Path) -> None:
    pair = facts(with_entry(tmp_path, "draft", 12, "other"), with_entry(tmp_path, "target", 12, "w12"))
    assert finding(pair, "tokenizer").status == "refuse"
    longer = tmp_path / "longer"
    config_folder(longer, LlamaConfig(**small()), vocabulary=words(17))
    assert finding(facts(str(longer), with_entry(tmp_path, "again", 12, "w12")), "tokenizer").status == "refuse"


def test_end_ids_that_differ_are_a_note_and_the_targets_count(shelf: Shelf) -> None:
    target, draft = shelf.random(1, saving={"eos_ids": [5, 9]}), shelf.random(2, saving={"eos_ids": [5]})
    pair = facts(draft, target)
    assert finding(pair, "end ids").text == "the end ids differ; the target's are used: 5, 9"
    assert pair.end_ids == {5, 9}
    assert "no end token" in finding(facts(draft, shelf.random(1)), "end ids").text


def test_a_shorter_draft_context_is_a_note(shelf: Shelf) -> None:
    pair = facts(shelf.random(1, context=32), shelf.random(1, context=64))
    note = finding(pair, "context")
    assert note.status == "note"
    assert "the draft's context (32) is shorter than the target's (64)" in note.text
    assert finding(facts(shelf.random(1, context=64), shelf.random(1, context=32)), "context").status == "pass"


def test_c61_the_prompt_is_read_once_by_the_targets_tokenizer(shelf: Shelf) -> None:
    def with_bos(folder: Path) -> None:
        vocabulary = ["<s>", "hi", *words(62)]
        save_model(folder, random(1), vocabulary=vocabulary)
        save_tokenizer(folder, vocabulary, bos="<s>")
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
        save_wrapped(folder, tokenizer, bos="<s>")

    target = shelf.folder("adds a start token", with_bos)
    draft = shelf.random(2, saving={"vocabulary": ["<s>", "hi", *words(62)]})
    for prompt, ids in (("hi", [0, 1]), ("hi <s> hi", [0, 1, 0, 1])):
        pair = opened(target, draft, max_new_tokens=4)
        with Feeds(pair.pair.target) as of_target, Feeds(pair.pair.draft) as of_draft:
            run = play(pair, prompt, setting(2))
        assert run.prompt == ids
        assert of_target.feeds[0].ids == of_draft.feeds[0].ids == ids[:-1]
    assert play(opened(draft, draft, max_new_tokens=4), "hi").prompt == [1]
    assert play(opened(target, draft, max_new_tokens=4), "").prompt == [0]


def test_a_model_as_its_own_draft_is_loaded_once(shelf: Shelf) -> None:
    pair = opened(shelf.random(1))
    assert pair.pair.draft.model is pair.pair.target.model
    assert (pair.pair.draft.role, pair.pair.target.role) == ("draft", "target")


def test_logits_of_a_scripted_model_are_what_was_asked_for() -> None:
    logits = torch.randn(20, 7, dtype=torch.float64)
    out = scripted(logits)(torch.arange(20)[None] % 7).logits[0]
    torch.testing.assert_close(out, logits.float(), atol=1e-5, rtol=0)
