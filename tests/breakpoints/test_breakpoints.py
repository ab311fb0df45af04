"""Where a run pauses: how conditions are written, which rounds they hold in, what is said, and the watch over a run."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from specviz.breakpoints.monitor import (
    KINDS,
    Breakpoint,
    BreakpointMonitor,
    make_breakpoint,
    names_condition,
    parse_breakpoint,
)
from specviz.breakpoints.text_search import FOR_ALL, FOR_EACH, PATIENCE, WINDOW, TextSeen
from specviz.core.events import Drafted, Emitted, Round, Settings
from specviz.stats.run_stats import RunStats
from tests.builders import make_drafted, make_emitted, make_header, make_round, make_run
from tests.core.test_safe_text import NASTY, assert_safe

HOSTILE = r"(a|aa)+$"
"""Takes a time that doubles with every letter of the text ``aaa…b``."""


def watch(*conditions: str, end_ids: Sequence[int] = (0,)) -> BreakpointMonitor:
    made = BreakpointMonitor(map(parse_breakpoint, conditions))
    made.add(make_header(end_ids=end_ids))
    return made


def said(condition: str, *rounds: Round, end_ids: Sequence[int] = (0,)) -> list[str]:
    """What one condition says at each round: "" where it does not hold."""
    watching = watch(condition, end_ids=end_ids)
    words = []
    for index, round in enumerate(rounds, start=1):
        hit = watching.add(replace(round, index=index))
        assert hit == (index in watching.hits)
        words.append(" / ".join(watching.hit(index)))
    return words


def saying(*texts: str | bytes) -> Round:
    """A round that accepts all but the last of these tokens and adds the last one."""
    return make_round(verdicts="✓" * (len(texts) - 1), tokens=texts[:-1], last=texts[-1])


# -- how they are written


@pytest.mark.parametrize(
    ("text", "kind", "value", "canonical"),
    [
        ("N<=1", "N", 1, "N<=1"),
        (" n ≤ 3 ", "N", 3, "N<=3"),
        ("reject <= 2", "reject", 2, "reject<=2"),
        ("REJECT≤12", "reject", 12, "reject<=12"),
        ("overlap<0.3", "overlap", 0.3, "overlap<0.3"),
        ("overlap < .30", "overlap", 0.3, "overlap<0.3"),
        ("overlap<1", "overlap", 1.0, "overlap<1"),
        ("p/q<0.1", "p/q", 0.1, "p/q<0.1"),
        ("p / q < 1e-5", "p/q", 1e-5, "p/q<1e-05"),
        ("p/q<2.", "p/q", 2.0, "p/q<2"),
        ("token=464", "token", 464, "token=464"),
        ("token = 0", "token", 0, "token=0"),
        ("text~foo", "text", "foo", "text~foo"),
        ("TEXT~ Mr\\.? ≤", "text", " Mr\\.? ≤", "text~ Mr\\.? ≤"),
        ("text~a.0", "text", "a.0", "text~a.0"),
        ("streak>=5", "streak", 5, "streak>=5"),
        ("streak ≥ 5", "streak", 5, "streak>=5"),
        ("end", "end", None, "end"),
        (" End ", "end", None, "end"),
        ("|z|>3", "|z|", 3.0, "|z|>3"),
        ("| Z | > 2.5", "|z|", 2.5, "|z|>2.5"),
    ],
)
def test_a_condition_is_read_and_written(text: str, kind: str, value: object, canonical: str) -> None:
    read = parse_breakpoint(text)
    assert (read.kind, read.value, str(read)) == (kind, value, canonical)
    assert type(read.value) is type(value)
    assert parse_breakpoint(canonical) == read
    assert names_condition(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "",
            '"" is not a valid condition. Valid forms: N<=1, reject<=2, overlap<0.3, p/q<0.1, token=464, text~frog, '
            "streak>=5",
        ),
        ("frog", '"frog" is not a valid condition'),
        ("nope", '"nope" is not a valid condition. Valid forms'),
        ("endless", '"endless" is not a valid condition. Valid forms'),
        ("N", '"N" is not a valid condition. Valid forms'),
        ("N<1", '"N<1" is not a valid condition: write N<=1.'),
        ("N>=1", "write N<=1."),
        ("end=1", "write end."),
        ("overlap>0.3", "write overlap<0.3."),
        ("token<=3", "write token=464."),
        ("N<=0", 'N<= needs a whole number from 1, not "0".'),
        ("N<=1.5", 'N<= needs a whole number from 1, not "1.5".'),
        ("N<=-1", 'not "-1"'),
        ("N<=1, end", 'not "1, end"'),
        ("reject<=x", 'reject<= needs a position from 1, not "x".'),
        ("overlap<0", "overlap< needs a number above 0, at most 1"),
        ("overlap<1.01", "overlap< needs a number above 0, at most 1"),
        ("overlap<nan", 'not "nan"'),
        ("p/q<inf", "p/q< needs a number above 0"),
        ("p/q<", 'p/q< needs a number above 0, not "".'),
        ("p/q<0,1", 'not "0,1"'),
        ("token=٣", "token= needs the id of a token"),
        ("token=" + "9" * 5000, "token= needs the id of a token"),
        ("|z|>0", "|z|> needs a number above 0"),
        ("text~", "text~ must be followed by a regular expression"),
        ("text~(", 'text~ cannot search for "(": missing )'),
        ("text~[", 'text~ cannot search for "["'),
        ("text~" + "a" * 300, "too long"),
        ("text~" + "(" * 60 + "a" + ")+" * 60, "too deeply nested"),
        ("text~(?:(?:x{1000}){1000}){1000}", "repeats too much"),
        ("text~x{99999999999999999999}", "repeats too much"),
    ],
)
def test_what_is_no_condition_is_refused_in_one_sentence(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=r"\.$") as refused:
        parse_breakpoint(text)
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("data", NASTY)
def test_a_refusal_is_safe_to_print(data: bytes) -> None:
    typed = data.decode("utf-8", "surrogateescape")
    for text in (typed, f"N<=x{typed}", f"text~({typed}("):
        with pytest.raises(ValueError, match=r"condition|needs|cannot") as refused:
            parse_breakpoint(text)
        assert_safe(str(refused.value))


def test_a_half_written_condition_is_known_as_one_and_other_text_is_not() -> None:
    for text in ("overlap<", "N<", "n<=", "streak>", "text~(", "token=x", "end", "|z|>"):
        assert names_condition(text), text
    for text in ("", "overlap", "ending", "n=3", "Nora", "the end", "text", "p/q", " Mr."):
        assert not names_condition(text), text


def test_every_kind_is_made_from_its_value() -> None:
    values = {"overlap": ".5", "p/q": " .5 ", "text": "x", "|z|": "2"}
    for kind in KINDS:
        made = make_breakpoint(kind, values.get(kind, "7"))
        assert made == parse_breakpoint(str(made))


# -- which rounds they hold in, and what is said


def test_tokens_of_the_round() -> None:
    rounds = (
        make_round(verdicts="✗···"),
        make_round(verdicts="✓✗··"),
        make_round(verdicts=""),
        make_round(verdicts="✓–"),
    )
    assert said("N<=1", *rounds) == ["N 1 ≤ 1", "", "N 1 ≤ 1", "N 1 ≤ 1"]
    assert said("N<=2", *rounds)[1] == "N 2 ≤ 2"


def test_a_rejection_at_a_position_or_before() -> None:
    rounds = (
        make_round(verdicts="✗··"),
        make_round(verdicts="✓✗·"),
        make_round(verdicts="✓✓✗"),
        make_round(verdicts="✓✓✓"),
    )
    expected = ["rejection ≤ 2 at position 1", "rejection ≤ 2 at position 2", "", ""]
    assert said("reject<=2", *rounds, make_round(verdicts="✓–"), make_round(verdicts="")) == [*expected, "", ""]


def test_a_tested_position_with_little_overlap() -> None:
    low, fine = make_drafted(overlap=0.12), make_drafted(overlap=0.3)
    untested = make_drafted(verdict="untested", overlap=0.01)
    rejected = make_drafted(verdict="rejected", overlap=0.2996)
    assert said(
        "overlap<0.3",
        make_round(drafted=[fine, low, fine]),
        make_round(drafted=[fine, rejected, untested]),
        make_round(drafted=[low, low, rejected]),
        make_round(drafted=[fine, make_drafted(verdict="rejected", overlap=0.9), untested]),
        make_round(verdicts=""),
    ) == [
        "overlap .12 < .3 at position 2",
        "overlap .2996 < .3 at position 2",
        "overlap .12 < .3 at position 1 (and 2 more)",
        "",
        "",
    ]


def test_a_tested_token_with_little_p_over_q() -> None:
    def drafted(p: float, q: float, verdict: str = "accepted") -> Drafted:
        return make_drafted(verdict=verdict, p=p, q=q, accept_prob=None)  # type: ignore[arg-type]

    rejected = drafted(0.06, 0.5, "rejected")
    assert said(
        "p/q<0.2",
        make_round(drafted=[drafted(0.5, 0.4), drafted(0.1, 0.5), rejected]),
        make_round(drafted=[drafted(1e-9, 0.5)]),
        make_round(drafted=[drafted(0.0, 1.0, "rejected")]),
        make_round(drafted=[drafted(0.0, 0.0)]),
        make_round(drafted=[drafted(0.9, 0.5, "rejected"), drafted(0.0, 0.9, "untested")]),
    ) == ["p/q .12 < .2 at position 3", "p/q 2e-9 < .2 at position 1", "p/q 0 < .2 at position 1", "", ""]


def test_a_token_by_its_id_drafted_or_emitted() -> None:
    sought = make_drafted(" the", token_id=464)
    untested = make_drafted(" the", "untested", token_id=464)
    bonus = [make_emitted(" a", "accepted"), make_emitted(" the", "bonus", token_id=464)]
    assert said(
        "token=464",
        make_round(drafted=[make_drafted(" a"), sought]),
        make_round(drafted=[make_drafted(" a", "rejected"), untested]),
        make_round(drafted=[make_drafted(" a")], emitted=bonus),
        make_round(drafted=[], emitted=[make_emitted(" the", "plain", token_id=464)]),
        make_round(verdicts="✓✗"),
    ) == [
        "token 464 at position 2",
        "token 464 at position 2",
        "token 464: the bonus token",
        "token 464: the plain token",
        "",
    ]


def test_the_end_of_the_text_drafted_or_emitted() -> None:
    end = make_drafted("", "untested", token_id=50_000)
    last = [make_emitted("", "bonus", token_id=50_001)]
    rounds = (
        make_round(drafted=[make_drafted(" a", "rejected"), end]),
        make_round(drafted=[make_drafted(" a")], emitted=[make_emitted(" a", "accepted"), *last]),
        make_round(verdicts="✓✓"),
    )
    assert said("end", *rounds, end_ids=(50_000, 50_001)) == [
        "end of text at position 2",
        "end of text: the bonus token",
        "",
    ]
    assert said("end", *rounds, end_ids=()) == ["", "", ""]


def test_full_acceptances_in_a_row_hit_once_a_streak() -> None:
    full, broken, plain = make_round(verdicts="✓✓"), make_round(verdicts="✓✗"), make_round(verdicts="")
    cut_behind = make_round(verdicts="✓–")
    cut_in_full = make_round(drafted=[make_drafted()], emitted=[make_emitted(origin="accepted")], stop="end_of_text")
    hit, now = "2 full acceptances in a row", "streak>=2"
    assert said(now, full, full, full, full, broken, full, full) == ["", hit, "", "", "", "", hit]
    assert said(now, full, plain, full, full, plain) == ["", "", "", hit, ""]
    assert said(now, full, cut_behind) == ["", ""]
    assert said(now, full, cut_in_full) == ["", hit]
    assert said("streak>=1", full, full, broken, full) == [
        "1 full acceptance in a row",
        "",
        "",
        "1 full acceptance in a row",
    ]


def test_agreement_hits_where_it_crosses() -> None:
    """o = .5 at each test: z = (accepted - n/2) / sqrt(n/4) = 2 accepted / sqrt(n) - sqrt(n): sqrt(n) if all are."""
    yes = make_round(drafted=[make_drafted(overlap=0.5)])
    no = make_round(drafted=[make_drafted(verdict="rejected", overlap=0.5)])
    # z: 1, 1.41, 1.73, 2 (four of four), 1.34 (four of five), 1.63, 1.89, 2.12
    rounds = [yes, yes, yes, yes, no, yes, yes, yes]
    assert said("|z|>1.7", *rounds) == ["", "", "|z| 1.73 > 1.7", "", "", "", "|z| 1.9 > 1.7", ""]
    assert said("|z|>1.5", no, no, no) == ["", "", "|z| 1.7 > 1.5"], "either way"
    hot = replace(yes, settings=Settings(k=1, temperature=1.5))
    wide = replace(yes, settings=Settings(k=4))
    assert said("|z|>1.3", yes, yes, hot, hot) == ["", "|z| 1.4 > 1.3", "", "|z| 1.4 > 1.3"], "a segment counts anew"
    assert said("|z|>1.3", yes, wide, wide) == ["", "|z| 1.4 > 1.3", ""], "K alone begins none"
    greedy = make_round(drafted=[make_drafted(overlap=1.0)])
    assert said("|z|>0.001", greedy, greedy, make_round(verdicts="")) == ["", "", ""], "undefined"


def test_agreement_is_the_one_on_screen() -> None:
    rounds = make_run(120, 4, 5)
    limit = 0.7
    stats, expected, beyond = RunStats(), [], False
    watching = watch(f"|z|>{limit}")
    for round in rounds:
        stats.add(round)
        watching.add(round)
        z = stats.segment_rates().agreement_z
        before, beyond = beyond, z is not None and abs(z) > limit
        expected += [round.index] if beyond and not before else []
    assert watching.hits == expected
    assert len(expected) > 1


# -- text


def test_text_in_a_token() -> None:
    assert said(
        "text~^ M(r|iss)",
        make_round(verdicts="✓✓✗·", tokens=[" a", " Mr", " x", " Miss"]),
        make_round(verdicts="✗", tokens=[" a"], last=" Mr"),
        make_round(verdicts="✗", tokens=[" a"], last="Mr"),
    ) == ['text ~ "^ M(r|iss)" at position 2 (and 1 more)', 'text ~ "^ M(r|iss)": the resampled token', ""]


def test_text_across_tokens_hits_in_the_round_that_completes_it() -> None:
    rounds = saying(" the fr", "o"), saying("g sat"), saying(" on"), saying(" the", " fr", "og")
    words = 'text ~ "frog" across tokens, completed'
    assert said("text~frog", *rounds) == ["", f"{words}: the plain token", "", f"{words}: the bonus token"]
    dropped = make_round(verdicts="✗·", tokens=["fr", "og"], last=" x")
    assert said("text~frog", dropped, saying("fr", "x", "og")) == ["", ""], "only what was emitted is text"
    assert said("text~frog", saying("fr", "og", "x"))[0] == f"{words} at position 2"
    assert said("text~(?i)FROG", *rounds)[1]
    assert (
        said("text~aa", saying("a"), saying("a"), saying("a"))[1:]
        == ['text ~ "aa" across tokens, completed: the plain token'] * 2
    ), "matches may overlap"


def test_text_of_characters_split_over_tokens() -> None:
    first, second = "漢".encode()[:2], "漢".encode()[2:]
    assert said("text~漢字", saying("a", first), saying(second), saying("字"))[2].startswith(
        'text ~ "漢字" across tokens'
    )
    assert said("text~漢", saying(b"a", first, b"b"), saying(second)) == ["", ""]


def test_the_text_looked_back_on_is_bounded() -> None:
    long = saying("b" * (WINDOW - 1))
    assert said("text~ab+c", saying("a"), long, saying("c"))[2]
    assert not said("text~ab+c", saying("a"), saying("b" * WINDOW), saying("c"))[2]
    assert said("text~^bb+c$", saying("a"), saying("b" * WINDOW), saying("c")) == ["", "", ""], "no false beginning"
    assert said("text~\\bbb+c", saying("a"), saying("b" * WINDOW), saying("c")) == ["", "", ""], "no false word"
    assert said("text~^ab", saying("a"), saying("b"))[1]


def test_matches_of_nothing_do_not_count() -> None:
    assert said("text~x*", saying("a", "b"), saying("x"))[0] == ""
    assert said("text~$", saying("a", "b")) == [""]


def test_a_hostile_expression_is_given_up_and_says_so() -> None:
    bad = saying("a" * 200 + "b")
    words = f'text ~ "{HOSTILE}" takes too long to search for and is ignored from here on'
    assert said(f"text~{HOSTILE}", saying("x"), bad, bad, saying("a")) == ["", words, "", ""]
    split = [saying("a", "a"), *[saying("a" * 50)] * 4, saying("b")]
    assert words in said(f"text~{HOSTILE}", *split)


def test_a_scan_has_so_much_time_and_no_more() -> None:
    """Every search takes 10 ms, none too long by itself: 30 of them are the budget, and each round brings little."""
    spent = 0.0

    def clock() -> float:
        return spent

    class Slow:
        def finditer(self, text: str, start: int, timeout: float, **_: bool) -> list[object]:
            nonlocal spent
            assert 0 < timeout <= PATIENCE
            spent += 0.01
            return []

    seen = TextSeen("frog", clock)
    seen._pattern = Slow()
    words = [list(seen(saying(f"t{index}"))) for index in range(3000)]
    (told,) = [(index, matches) for index, matches in enumerate(words) if matches]
    assert told[1][0].words == 'text ~ "frog" takes too long to search for and is ignored from here on'
    assert told[0] == 15, "two searches a round"
    assert spent < FOR_ALL + 16 * FOR_EACH + 0.01


def test_each_condition_and_each_scan_has_its_own_time() -> None:
    split = [saying("a" * 60)] * 4 + [saying("b")] * 40
    rounds = [replace(round, index=index) for index, round in enumerate(split, start=1)]
    watching = watch(f"text~{HOSTILE}", "text~b")
    for round in rounds:
        watching.add(round)
    assert any("takes too long" in words for index in watching.hits for words in watching.hit(index))
    assert any('"b"' in words for words in watching.hit(44))
    watching.change(parse_breakpoint(text) for text in ("text~frog", f"text~{HOSTILE}"))
    assert sum("takes too long" in words for index in watching.hits for words in watching.hit(index)) == 1


def test_a_plain_expression_is_never_given_up() -> None:
    rounds = make_run(100, 8, 2) * 30
    for expression in ("frog", "(?i)the.{0,20}frog", "(\\w+) \\1"):
        watching = watch(f"text~{expression}")
        for round in rounds:
            watching.add(round)
        assert not any("takes too long" in words for index in watching.hits for words in watching.hit(index))


@pytest.mark.parametrize("data", NASTY)
def test_hostile_tokens_and_expressions_are_searched_and_named_safely(data: bytes) -> None:
    text = data.decode("utf-8", "replace").replace("\x1b", "e")
    watching = watch("text~.", "text~\x1b|\\w")
    watching.add(saying(data, data))
    for words in watching.hit(1):
        assert_safe(words)
    assert watching.hit(1) or not text.strip("\n")


# -- the watch


def test_every_condition_that_holds_is_said_in_order() -> None:
    watching = watch("N<=1", "reject<=1", "overlap<0.5", "token=1")
    assert watching.add(make_round(verdicts="✗·"))
    assert watching.hit(1) == ("N 1 ≤ 1", "rejection ≤ 1 at position 1", "overlap .38 < .5 at position 1")
    assert not watching.add(make_round(verdicts="✓✓"))
    assert (watching.hit(2), watching.hit(0), watching.hit(99), watching.hits) == ((), (), (), [1])


def test_a_header_begins_a_run() -> None:
    watching = watch("streak>=2", "end")
    full = make_round(verdicts="✓✓")
    assert [watching.add(full), watching.add(full)] == [False, True]
    assert not watching.add(make_header(end_ids=(7,)))
    assert watching.hits == []
    assert [watching.add(full), watching.add(full)] == [False, True]
    assert watching.add(make_round(drafted=[make_drafted(token_id=7)]))
    assert watching.hit(3) == ("end of text at position 1",)


def test_a_change_looks_at_the_rounds_again() -> None:
    watching = watch()
    rounds = [make_round(verdicts=marks) for marks in ("✓✗", "✗·", "✓✓", "✓✓", "✓✓")]
    assert not any(watching.add(round) for round in rounds)
    watching.change([Breakpoint("reject", 2), Breakpoint("streak", 3), Breakpoint("reject", 2)])
    assert list(watching.breakpoints) == [Breakpoint("reject", 2), Breakpoint("streak", 3)]
    assert watching.hits == [1, 2, 5]
    assert watching.hit(5) == ("3 full acceptances in a row",)
    watching.change([Breakpoint("streak", 4)])
    assert watching.hits == []
    assert watching.add(make_round(verdicts="✓")), "a streak goes on over a change"
    with pytest.raises(ValueError, match="cannot search"):
        watching.change([Breakpoint("text", "(")])
    assert list(watching.breakpoints) == [Breakpoint("streak", 4)]
    assert watching.hits == [6], "nothing changed"


def test_a_watch_is_asked_and_changed_while_it_takes() -> None:
    watching = watch("N<=1")
    rounds = make_run(300, 3, 1)
    stop = threading.Event()
    troubles: list[BaseException] = []

    def ask() -> None:
        try:
            while not stop.is_set():
                for index in watching.hits:
                    watching.hit(index)
                watching.change(parse_breakpoint(text) for text in ("N<=1", "overlap<0.9"))
        except BaseException as error:
            troubles.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    for round in rounds:
        watching.add(round)
    stop.set()
    asking.join(10)
    assert not troubles
    alone = watch("N<=1", "overlap<0.9")
    for round in rounds:
        alone.add(round)
    watching.change(alone.breakpoints)
    assert watching.hits == alone.hits
    assert [watching.hit(index) for index in watching.hits] == [alone.hit(index) for index in alone.hits]


def test_emitted_tokens_stand_in_the_rows_of_their_drafts() -> None:
    """A round whose accepted draft is searched for reports it once, though it is drafted and emitted."""
    kept: list[Emitted] = [make_emitted(" a", "accepted", token_id=5), make_emitted(" b", "bonus", token_id=5)]
    made = make_round(drafted=[make_drafted(" a", token_id=5)], emitted=kept)
    assert said("token=5", made) == ["token 5 at position 1 (and 1 more)"]
