"""Token text on its way to the terminal: cases C64 to C70."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from specviz.core.events import End, Token
from specviz.core.safe_text import TextDecoder, clip, emitted_text, safe_terminal_text, visible, width

FAMILY = "👨‍👩‍👧"
ESCAPES = [
    b"\x1b[2J",
    b"\x1b]0;t\x07",
    b"\x1b]52;c;aGk=\x07",
    b"\x1b[6n",
    b"\x9b31m",
    "\x9b31m".encode(),
    b"\x1bPq\x1b\\",
    b"\x1b]",
    b"\x07",
    b"\x08",
    b"\r",
]
NASTY = [
    *ESCAPES,
    *(text.encode() for text in ["[/", "[bold]", "[", "]", "[00]", "[b +", "[link=x]", "\\[", "[#ff0000]"]),
    *(bytes([i]) for i in range(256)),
    *(chr(c).encode() for c in (0x85, 0xA0, 0xAD, 0x200B, 0x200E, 0x202E, 0x2028, 0x2029, 0x2066, 0xFEFF, 0xFFFE)),
    *(chr(c).encode() for c in (0x115F, 0x1160, 0x3164, 0x2800, 0x034F, 0xE0001, 0xE0041, 0xE0100, 0x1F3FD, 0x20E3)),
    b"",
    b" " * 128,
    b"a" * 256,
    b"\n\n",
    b"\t",
    b"\xe6\xbc",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    "漢字 \U0010ffff \ue000".encode(),
    "e\u0301\u0301".encode(),
    "\u200d\ufe0f".encode(),
    "שלום עולם".encode(),
]


def is_control(char: str) -> bool:
    return unicodedata.category(char)[0] == "C" or char in "\u2028\u2029"


def assert_safe(text: str, keep: str = "") -> None:
    """No control character but those kept, and the joiner only between two emoji."""
    rest = [c for i, c in enumerate(text) if not (c == "\u200d" and 0 < i < len(text) - 1 and text[i + 1] > "\u2000")]
    assert not [c for c in rest if is_control(c) and c not in keep]


@pytest.mark.parametrize("data", NASTY)
def test_nasty_tokens_become_safe_cells(data: bytes) -> None:
    for ascii_only in (False, True):
        shown = visible(data, ascii=ascii_only)
        assert_safe(shown)
        assert shown.strip(" ")
        assert width(shown) == cell_len(shown) > 0
        assert not any("\u0300" <= c <= "\u036f" for c in shown[:1])
    assert visible(data, ascii=True).isascii()


@given(st.binary() | st.text(st.characters(exclude_categories=["Cs"])).map(str.encode))
def test_any_token_becomes_safe_cells(data: bytes) -> None:
    for shown in (visible(data), visible(data, ascii=True)):
        assert_safe(shown)
        assert width(shown) == cell_len(shown) > 0
        assert shown.strip(" ")
        assert not any(a == b == " " for a, b in pairwise(shown))
    assert visible(data, ascii=True).isascii()


@pytest.mark.parametrize(
    ("data", "shown", "ascii_form"),
    [
        (b" is", "␣is", "_is"),
        (b"is", "is", "is"),
        (b"a b", "a b", "a b"),
        (b"a  b ", "a␣␣b␣", "a__b_"),
        (b" " * 8, "␣" * 8, "_" * 8),
        (b" " * 12 + b"x", "⟨␣×12⟩x", "<_x12>x"),
        (b"\n", "⏎", r"\n"),
        (b"\r\n", "␍⏎", r"\r\n"),
        (b"\t", "⇥", r"\t"),
        (b"\x00", "␀", "^@"),
        (b"\x1b[2J", "␛[2J", "^[[2J"),
        (b"\x7f", "␡", "^?"),
        ("\x85".encode(), "⟨0085⟩", "<0085>"),
        ("\u200b".encode(), "⟨200B⟩", "<200B>"),
        ("a\u202eb".encode(), "a⟨202E⟩b", "a<202E>b"),
        (b"\xe6\xbc", "⟨E6⟩⟨BC⟩", "<E6><BC>"),
        (b"\xbc!", "⟨BC⟩!", "<BC>!"),
        ("漢".encode(), "漢", "<6F22>"),
        ("\u0301a".encode(), "\u25cc\u0301a", "<0301>a"),
        ("e\u0301".encode(), "e\u0301", "e<0301>"),
        (b"", "∅", "<>"),
        (FAMILY.encode(), FAMILY, "<1F468><200D><1F469><200D><1F467>"),
        ("👍🏽".encode(), "👍🏽", "<1F44D><1F3FD>"),
        ("❤️".encode(), "❤️", "<2764><FE0F>"),
        ("1️⃣".encode(), "1️⃣", "1<FE0F><20E3>"),
        ("🇫🇷".encode(), "🇫🇷", "<1F1EB><1F1F7>"),
        ("a\u200db".encode(), "a⟨200D⟩b", "a<200D>b"),
        ("👨\u200d".encode(), "👨⟨200D⟩", "<1F468><200D>"),
        ("a\ufe0f".encode(), "a⟨FE0F⟩", "a<FE0F>"),
        ("🏽".encode(), "⟨1F3FD⟩", "<1F3FD>"),
    ],
)
def test_signs(data: bytes, shown: str, ascii_form: str) -> None:
    assert visible(data) == shown
    assert visible(data, ascii=True) == ascii_form


def test_markup_is_left_as_it_is() -> None:
    for text in ("[/", "[bold]", "[link=x]", "\\[", "[#ff0000]"):
        assert visible(text.encode()) == text


def test_lone_bytes_are_told_apart() -> None:
    assert len({visible(bytes([b])) for b in range(0x80, 0x100)}) == 128
    assert visible(b"\xa0") != visible("\xa0".encode())


def test_clip_says_how_long_a_very_long_token_is() -> None:
    assert clip("a" * 256, 12) == "aaaaaaaa…256"
    assert clip("a" * 256, 3) == "aa…"
    assert clip("short", 5) == "short"
    assert clip("shorter", 5) == "shor…"
    assert clip("shorter", 5, ascii=True) == "shor~"
    assert "128" in clip(visible(b" " * 128), 12)
    assert clip("a" * 256, 12, count=False) == "a" * 11 + "…"
    assert clip("a" * 256, 12, count=False, ascii=True) == "a" * 11 + "~"


def test_clip_never_cuts_inside_a_character() -> None:
    assert clip("漢字漢字", 6) == "漢字…"
    assert clip("a" + FAMILY + "bc", 3) == "a…"
    assert clip("e\u0301e\u0301e\u0301", 2) == "e\u0301…"
    assert clip("🇫🇷🇫🇷", 3) == "🇫🇷…"
    assert clip("漢字", 0) == ""


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda s: s.encode("utf-8", "ignore")), st.integers(0, 40))
def test_clip_fits(data: bytes, cells: int) -> None:
    shown = visible(data)
    cut = clip(shown, cells)
    assert width(cut) <= cells
    assert (cut == shown) == (width(shown) <= cells)
    assert clip(visible(data, ascii=True), cells, ascii=True).isascii()


def decoded(*tokens: bytes, ascii_only: bool = False) -> list[str]:
    decoder = TextDecoder(ascii=ascii_only)
    return [*(decoder.feed(token) for token in tokens), decoder.finish()]


@pytest.mark.parametrize(
    ("tokens", "pieces"),
    [
        ([b"\xf0", b"\x9f", b"\x98", b"\x80"], ["", "", "", "😀", ""]),
        ([b"\xf0\x9f", b"\x98\x80"], ["", "😀", ""]),
        ([b"\xe6\xbc", b"\xa2!"], ["", "漢!", ""]),
        ([b"a", b"\xf0\x9f"], ["a", "", "\ufffd"]),
        ([b"\xf0\x9f", b"a"], ["", "\ufffda", ""]),
        ([b"Hello", b" world", b" again"], ["Hello", " world", " again", ""]),
        ([b"a\n", b"\n  b\t"], ["a\n", "\n  b⇥", ""]),
        (["👨".encode(), "\u200d".encode(), "👩".encode()], ["👨", "", "\u200d👩", ""]),
        (["👨".encode(), "\u200d".encode(), b"a"], ["👨", "", "⟨200D⟩a", ""]),
        (["👨".encode(), "\u200d".encode()], ["👨", "", "⟨200D⟩"]),
        ([b"e", "\u0301".encode()], ["e", "\u0301", ""]),
        ([b"e\n", "\u0301".encode()], ["e\n", "\u25cc\u0301", ""]),
        ([b"\x1b", b"[2J"], ["␛", "[2J", ""]),
        ([b"\xc2", b"\x9b31m"], ["", "⟨009B⟩31m", ""]),
    ],
)
def test_text_heals_token_by_token(tokens: list[bytes], pieces: list[str]) -> None:
    assert decoded(*tokens) == pieces


@given(st.lists(st.binary(max_size=4)) | st.text().map(lambda s: [bytes([b]) for b in s.encode("utf-8", "ignore")]))
def test_text_of_tokens_is_text_of_all_bytes(tokens: list[bytes]) -> None:
    for ascii_only in (False, True):
        text = "".join(decoded(*tokens, ascii_only=ascii_only))
        assert text == "".join(decoded(b"".join(tokens), ascii_only=ascii_only))
        assert_safe(text, keep="\n")
        assert not ascii_only or text.isascii()


@given(st.lists(st.sampled_from(["👨", "\u200d", "\ufe0f", "❤", "1", "\u20e3", "🏽", "\u0301", "a", "\n", "🇫"])))
def test_emoji_split_over_tokens_is_whole(parts: list[str]) -> None:
    text = "".join(decoded(*(part.encode() for part in parts)))
    assert text == "".join(decoded("".join(parts).encode()))
    assert_safe(text, keep="\n")


def test_plain_letters_pass_through_the_text() -> None:
    text = "Größe, 漢字, שלום,\nnaïve café 😀 ½"
    assert "".join(decoded(text.encode())) == text
    assert safe_terminal_text(text) == text


def tokens(*parts: bytes) -> list[Token]:
    return [Token(i, part) for i, part in enumerate(parts)]


@pytest.mark.parametrize(
    ("parts", "end", "stop", "text"),
    [
        ([b"a", b"\xe6\xbc", b"\xa2"], End("max_new_tokens"), (), "a漢"),
        ([b"a", b"\xe6\xbc"], End("user"), (), "a\ufffd"),
        ([b"a", b"</s>"], End("end_of_text"), (), "a"),
        ([b"a", b"</s>"], End("max_new_tokens"), (), "a</s>"),
        ([b"abc", b"d.", b"\n\nx"], End("stop_string", "one of '\\n\\n'"), ("\n\n",), "abcd."),
        ([b"ab", b"cd"], End("stop_string"), ("bc",), "a"),
        ([b"ab", b"cd"], End("stop_string"), ("cd", "bc"), "a"),
        ([b"ab", b"cd"], End("stop_string"), "bc", "a"),
        ([b"ab", b"cd"], End("stop_string"), ("", "z"), "abcd"),
        ([b"ab", b"cd"], End("max_new_tokens"), ("bc",), "abcd"),
        ([b"ab"], None, ("b",), "ab"),
        ([], End("end_of_text"), (), ""),
    ],
)
def test_emitted_text(parts: list[bytes], end: End | None, stop: str | tuple[str, ...], text: str) -> None:
    assert emitted_text(tokens(*parts), end, stop) == text


@pytest.mark.parametrize("data", NASTY)
def test_no_escape_reaches_a_terminal_in_plain_mode(data: bytes) -> None:
    for text in (data.decode("utf-8", "replace"), data.decode("utf-8", "surrogateescape"), data.decode("latin-1")):
        safe = safe_terminal_text(text)
        assert_safe(safe, keep="\n\t")
        assert not set(safe.encode()) & ({*range(0x20), 0x7F} - {0x09, 0x0A})


def test_plain_mode_keeps_lines_and_tabs_and_spaces() -> None:
    assert safe_terminal_text("a\tb\n  c\r\x1b[2J\u202e\n") == "a\tb\n  c␍␛[2J⟨202E⟩\n"
    assert safe_terminal_text("") == ""


@given(st.text(st.characters()))
def test_plain_mode_is_safe_and_leaves_safe_text_alone(text: str) -> None:
    safe = safe_terminal_text(text)
    assert_safe(safe, keep="\n\t")
    assert safe_terminal_text(safe) == safe
    safe.encode()
