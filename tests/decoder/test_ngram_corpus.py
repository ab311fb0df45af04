"""A corpus: sorted once, kept by content, and looked into behind the text itself."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.core.drafters import drafter_options
from specviz.core.errors import SpecvizError
from specviz.core.events import Event, Notice, Progress
from specviz.decoder.drafters import ngram_corpus
from specviz.decoder.drafters.ngram_corpus import Corpus, corpora_folder, open_corpus, suffix_order
from tests.decoder.models import Shelf, one_hot, text_of
from tests.decoder.run_helpers import Opened, opened, play, setting


def corpus_of(ids: list[int]) -> Corpus:
    array = np.array(ids, np.uint32)
    return Corpus(array, suffix_order(array, 16))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.sampled_from([1, 2, 4, 16]))
def test_suffixes_are_in_order(ids: list[int], depth: int) -> None:
    order = suffix_order(np.array(ids, np.uint32), depth).tolist()
    assert sorted(order) == list(range(len(ids)))
    heads = [ids[place : place + depth] for place in order]
    assert heads == sorted(heads)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_the_last_place_that_something_follows(ids: list[int], gram: list[int]) -> None:
    n = len(gram)
    places = [at + n for at in range(len(ids) - n) if ids[at : at + n] == gram]
    assert corpus_of(ids).after(tuple(gram)) == max(places, default=None)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("w5 w6 w7 w8 w9\nw20 w6 w7 w10 w11\n", encoding="utf-8")
    return path


def looking_into(shelf: Shelf, path: Path) -> Opened:
    folder = shelf.scripted(one_hot([31, 31, 8, 9, *[31] * 28], 32))
    return opened(folder, alone=True, max_new_tokens=5, drafting=drafter_options(ngram_corpus=str(path)))


def test_it_is_looked_into_behind_the_text(shelf: Shelf, text: Path) -> None:
    source = looking_into(shelf, text)
    run = play(source, text_of([5, 6, 7]), setting(2, 0.0, drafter="ngram"))
    assert [(d.id, d.verdict) for d in run.rounds[0].drafted] == [(8, "accepted"), (9, "accepted")]
    places = [(d.detail["ngram"], d.detail["source"], d.detail["at"]) for d in run.rounds[0].drafted]
    assert places == [(3, "corpus", 3), (3, "corpus", 4)]
    shorter = play(source, text_of([4, 6, 7]), setting(2, 0.0, drafter="ngram")).rounds[0]
    assert [d.id for d in shorter.drafted] == [10, 11], "the last of equally long ones"
    assert run.header.config["ngram_corpus"] == str(text)


def test_of_equally_long_matches_the_texts_own_counts(shelf: Shelf, text: Path) -> None:
    run = play(looking_into(shelf, text), text_of([6, 7, 3, 6, 7]), setting(1, 0.0, drafter="ngram"))
    assert run.rounds[0].drafted[0].detail == {"ngram": 2, "source": "text", "at": 2}


class Tokenizer:
    """Reads bytes, and counts how often it is asked."""

    backend_tokenizer = None

    def __init__(self, name: str = "a") -> None:
        self.name = name
        self.calls = 0

    def get_vocab(self) -> dict[str, int]:
        return {self.name: 0}

    def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
        self.calls += 1
        return {"input_ids": list(text.encode())}


def quiet(_event: Event) -> None:
    pass


def test_it_is_kept_by_content_and_by_tokenizer(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one.txt", "same.txt", "other.txt"))
    one.write_text("abcabd")
    same.write_text("abcabd")
    other.write_text("abcabe")
    reader = Tokenizer()
    said: list[Event] = []
    made = open_corpus(str(one), reader, said.append)
    assert reader.calls == 1 and len(made) == 6
    assert [e.done for e in said if isinstance(e, Progress) and e.unit == "bytes"] == [0, 6]
    assert [e.done for e in said if isinstance(e, Progress) and e.unit == "sorting passes"] == [0, 1, 2, 3, 4]
    for path in (one, same):
        kept = open_corpus(str(path), reader, quiet)
        assert kept.after((97, 98)) == made.after((97, 98)) == 5
        assert kept.read(2, 9) == [99, 97, 98, 100]
    assert reader.calls == 1
    open_corpus(str(other), reader, quiet)
    assert reader.calls == 2
    open_corpus(str(one), Tokenizer("b"), quiet)
    assert len(list(corpora_folder().iterdir())) == 3


def test_a_damaged_one_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text("abcabd")
    open_corpus(str(path), Tokenizer(), quiet)
    (folder,) = corpora_folder().iterdir()
    for name in ("ids.npy", "order.npy"):
        (folder / name).write_bytes(b"\x93NUMPY")
        again = Tokenizer()
        assert open_corpus(str(path), again, quiet).after((98,)) == 5
        assert again.calls == 1


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ngram_corpus, "_save", full)
    path = tmp_path / "one.txt"
    path.write_text("abcabd")
    said: list[Event] = []
    assert len(open_corpus(str(path), Tokenizer(), said.append)) == 6
    (told,) = (event.message for event in said if isinstance(event, Notice))
    assert "cannot be cached" in told and "No space left" in told


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "has no tokens"), (b"ab\xff", "is not UTF-8 text \\(byte 2\\)"), (None, "cannot be read: No such file")],
)
def test_what_is_no_text_is_refused_by_name(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "one.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecvizError, match=f"--ngram-corpus .*one.txt {said}"):
        open_corpus(str(path), Tokenizer(), quiet)


def test_long_texts_are_read_in_pieces_of_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram_corpus, "PIECE", 4)
    path = tmp_path / "one.txt"
    path.write_bytes("ab\nαβγ\ncdefghij\nk".encode())
    reader = Tokenizer()
    made = open_corpus(str(path), reader, quiet)
    assert bytes(made.read(0, 99)) == path.read_bytes()
    assert reader.calls == 3
