"""The file format: design section 4, cases C83 and C84."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specviz.core.errors import SpecvizError
from specviz.core.events import (
    Calibration,
    Candidate,
    End,
    Event,
    Failed,
    Header,
    Notice,
    Progress,
    Ready,
    Round,
    Timing,
    VerifyTime,
)
from specviz.trace.codec import encode
from specviz.trace.jsonl import load_line, read
from specviz.trace.refusal import BadLine, TruncatedLine
from tests.recordings import RAW, drafted, header, headers, round_, rounds, run, without_top_lists

SUMMARY = {"text": "x", "alpha": {"ci95": [0.1, 0.2]}}
TOKEN = {"id", "bytes"}
RAW_KEYS = {"p", "q", "overlap", "entropy_p", "entropy_q", "p_top", "q_top"}
DRAFTED_NUMBERS = {"q", "p", "draft_u", "u", "accept_prob", "overlap", "match", "entropy_p", "entropy_q"}
DRAFTED_LISTS = {"p_top", "q_top", "residual_top"}
DRAFTED = TOKEN | DRAFTED_NUMBERS | DRAFTED_LISTS | {"rank_p", "rank_q", "verdict", "raw", "target_sample", "detail"}
EMITTED = TOKEN | {"origin", "p", "q", "residual", "rank_p", "entropy_p", "p_top", "raw"}
ROUND_COUNTS = {"index", "start", "k", "n_accepted", "tested", "last_u", "redraws"}
ROUND = ROUND_COUNTS | {"type", "settings", "drafted", "emitted", "plain_reason", "timing", "stop"}
SETTINGS = {"k", "k_auto", "temperature", "draft_temperature", "top_k", "top_p", "drafter", "rule"}
TIMING = {"draft_ms", "verify_ms", "decide_ms", "inspect_ms", "total_ms"}


def line(event: Event) -> str:
    text = encode(event, SUMMARY)
    assert text is not None
    return text


def strict(text: str) -> Any:
    """Parsed by a reader that knows no NaN and no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def file(tmp_path: Path, *lines: str | bytes, end: bytes = b"\n") -> Path:
    path = tmp_path / "run.jsonl"
    data = [text.encode() if isinstance(text, str) else text for text in lines]
    path.write_bytes(b"\n".join(data) + end)
    return path


# The schema, name by name


def test_header_line() -> None:
    record = strict(line(header(dtype="float32")))
    assert set(record) == {
        "type", "schema", "version", "created", "specviz", "config", "vocab_size", "end_ids", "prompt",
    }  # fmt: skip
    assert (record["type"], record["schema"], record["version"]) == ("header", "specviz-trace", 1)
    assert record["config"]["dtype"] == "float32"
    assert set(record["prompt"]) == {"text", "tokens"}
    assert record["prompt"]["tokens"][1] == {"id": 2, "bytes": "20c3"}


def test_calibration_line() -> None:
    record = strict(line(Calibration(7.1, None, 4, (VerifyTime(2, 8.5),), 9, "ngram")))
    assert record == {
        "type": "calibration",
        "target_step_ms": 7.1,
        "draft_step_ms": None,
        "at_length": 4,
        "verify_times": [{"ids": 2, "ms": 8.5}],
        "from_round": 9,
        "drafter": "ngram",
    }


def test_calibrations_between_rounds_are_read_in_their_order(tmp_path: Path) -> None:
    again = Calibration(9.0, 1.1, 30, (VerifyTime(2, 9.5), VerifyTime(4, 12.0)), 2, "model")
    trace = read(file(tmp_path, HEADER, CALIBRATED, line(round_(1)), line(round_(2)), line(again)))
    assert trace.calibrations == (Calibration(7.1, 0.95, 4), again)


def test_round_line() -> None:
    whole = drafted("rejected", raw=RAW, target_sample=9, residual_top=(Candidate(9, b"\xff", 2 / 3),))
    event = round_(1, ("accepted", "rejected", "untested"))
    record = strict(line(dataclasses.replace(event, drafted=(event.drafted[0], whole, event.drafted[2]))))
    assert set(record) == ROUND
    assert record["type"] == "round"
    assert set(record["settings"]) == SETTINGS
    assert set(record["timing"]) == TIMING
    assert all(set(d) == DRAFTED for d in record["drafted"])
    assert all(set(e) == EMITTED for e in record["emitted"])
    second = record["drafted"][1]
    assert set(second["raw"]) == RAW_KEYS
    assert second["residual_top"] == [[9, "ff", 0.666667]]
    assert second["p_top"] == second["raw"]["p_top"] == [[7, "206973", 0.53], [9, "20776173", 0.333333]]
    assert record["drafted"][0]["raw"] is None
    assert record["drafted"][0]["detail"] == {}
    assert record["drafted"][2]["p"] == 0.1 + 0.2, "scalars keep every digit, untested positions have theirs"


def test_end_line() -> None:
    record = strict(line(End("end_of_text", "id 0")))
    assert record == {"type": "end", "reason": "end_of_text", "detail": "id 0", "summary": SUMMARY}


@pytest.mark.parametrize("event", [Progress("draft"), Notice("x"), Ready(), Failed("x")])
def test_other_events_have_no_line(event: Event) -> None:
    assert encode(event) is None


# There and back


@settings(max_examples=40)
@given(st.one_of(rounds(), headers))
def test_what_is_read_is_what_was_written(event: Round | Header) -> None:
    text = line(event)
    strict(text)
    assert "\n" not in text
    assert text.isascii() and text.isprintable(), "a trace printed to a terminal does nothing to it"
    assert load_line(text.encode()) == event
    assert encode(load_line(text.encode())) == text


def test_record_replay_record_gives_the_same_lines(tmp_path: Path) -> None:
    lines = [line(event) for event in run()]
    trace = read(file(tmp_path, *lines))
    again: list[Event] = [trace.header, *trace.calibrations, *trace.rounds, trace.end]  # type: ignore[list-item]
    assert [line(event) for event in again] == lines
    assert not trace.incomplete


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_from_outside_makes_a_line_unreadable(value: float) -> None:
    summary = {"alpha": value, "list": [value, (value, np.float64(value))]}
    record = strict(encode(End("user"), summary) or "")
    assert record["summary"]["alpha"] == (value if math.isfinite(value) else None)
    config = {"c": value, "path": Path("x"), "count": np.int64(3), "set": {2, 1}, "half": "\ud800"}
    record = strict(line(header(**config)))
    assert record["config"]["c"] == (value if math.isfinite(value) else None)
    assert (record["config"]["path"], record["config"]["count"], record["config"]["set"]) == ("x", 3, [1, 2])
    assert record["config"]["half"] == "\ufffd"
    assert isinstance(load_line(line(header(**config)).encode()), Header)


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    event = round_(1, ("accepted",), last_u=np.float32(0.5), start=np.int64(3))
    assert load_line(line(event).encode()) == round_(1, ("accepted",), last_u=0.5, start=3)


def test_undefined_values_stay_undefined() -> None:
    event = round_(1, ("accepted",))
    event = dataclasses.replace(event, drafted=(drafted("accepted", accept_prob=math.inf),))
    loaded = load_line(line(event).encode())
    assert isinstance(loaded, Round)
    assert loaded.drafted[0].accept_prob is None


# Files that are no whole trace


def test_a_cut_last_line_is_reported_and_the_rest_is_there(tmp_path: Path) -> None:
    lines = [line(event) for event in run()]
    for end in (b"", b"\n"):
        trace = read(file(tmp_path, *lines[:4], lines[4][: len(lines[4]) // 2], end=end))
        assert trace.incomplete
        assert len(trace.rounds) == 2
        assert trace.end is None


@settings(max_examples=40)
@given(rounds(), st.data())
def test_wherever_a_line_is_cut_it_is_known_to_be_cut(event: Round, data: st.DataObject) -> None:
    text = line(event)
    at = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(TruncatedLine):
        load_line(text[:at].encode())


@pytest.mark.parametrize("value", ["true", "false", "null", "-1.5e-7", "1E+3", '"\\u00e9\\n"', '"é漢"', "[1, 2]", "{}"])
def test_every_kind_of_value_can_be_cut(value: str) -> None:
    data = f'{{"a": {value}, "b": 1}}'.encode()
    for at in range(1, len(data)):
        with pytest.raises(TruncatedLine):
            load_line(data[:at])


def test_header_only_is_a_run_without_rounds(tmp_path: Path) -> None:
    for end in (b"", b"\n", b"\r\n", b"\n\n"):
        trace = read(file(tmp_path, line(header()), end=end))
        assert (trace.rounds, trace.end, trace.incomplete) == ((), None, False)


def test_a_calibration_may_come_behind_rounds(tmp_path: Path) -> None:
    trace = read(file(tmp_path, line(header()), line(round_(1)), line(Calibration(7.1, 0.95, 5)), line(round_(2))))
    assert trace.calibrations == (Calibration(7.1, 0.95, 5),)
    assert [round.index for round in trace.rounds] == [1, 2]


def test_windows_line_ends(tmp_path: Path) -> None:
    assert len(read(file(tmp_path, *(line(event) + "\r" for event in run()))).rounds) == 3


def changed(event: Event, change: Callable[[Any], Any]) -> str:
    record = json.loads(line(event))
    change(record)
    return json.dumps(record)


HEADER = line(header())
CALIBRATED = line(Calibration(7.1, 0.95, 4))
REFUSED: dict[str, tuple[list[str | bytes], str]] = {
    "empty": ([], "line 1: not a specviz trace: the file is empty."),
    "blank first": ([" ", HEADER], "line 1: not a specviz trace: the line is blank."),
    "cut header": ([HEADER[:40]], "line 1: the record is cut off."),
    "binary": ([b"\x89PNG\r", b"\x1a"], "line 1: not a specviz trace: not text in UTF-8."),
    "zeros": ([b"\0" * 8], "line 1: not a specviz trace: not JSON"),
    "prose": (["Once upon a time"], "line 1: not a specviz trace: not JSON"),
    "other json": (['{"a": 1}'], "line 1: not a specviz trace: its type must be one of"),
    "a list": (["[1]"], "line 1: not a specviz trace: not a JSON object."),
    "schema": ([changed(header(), lambda r: r.update(schema="x"))], 'schema must be specviz-trace, not "x".'),
    "no schema": ([changed(header(), lambda r: r.pop("schema"))], "schema must be specviz-trace, not null."),
    "newer": ([changed(header(), lambda r: r.update(version=2))], "line 1: trace version 2, but this specviz reads"),
    "version": ([changed(header(), lambda r: r.update(version="1"))], "line 1: not a specviz trace: its version must"),
    "no header": ([line(round_(1))], "line 1: not a specviz trace: a trace begins with its header."),
    "two headers": ([HEADER, HEADER], "line 2: a second header."),
    "blank middle": ([HEADER, line(round_(1)), "", line(round_(2))], "line 3: the line is blank."),
    "cut middle": ([HEADER, line(round_(1))[:50], line(round_(2))], "line 2: the record is cut off."),
    "gap": ([HEADER, line(round_(2))], "line 2: found round 2, expected round 1."),
    "after end": ([HEADER, line(End("user")), line(round_(1))], "line 3: a record follows the end record."),
    "bad json": ([HEADER, '{"type": round}'], "line 2: not JSON"),
    "nan": ([HEADER, line(round_(1)).replace("0.31", "NaN")], "line 2: NaN is not allowed."),
    "infinity": ([HEADER, line(round_(1)).replace("0.31", "-Infinity")], "line 2: -Infinity is not allowed."),
    "overflow": ([HEADER, line(round_(1)).replace("0.31", "1e999")], "drafted[0].u must be a number from 0 to 1,"),
    "long number": ([HEADER, line(round_(1)).replace("0.31", "9" * 5000)], "line 2: a number is too long."),
    "deep": ([HEADER, '{"type": ' + "[" * 100_000 + "]" * 100_000 + "}"], "line 2: nested too deeply."),
    "two halves": ([HEADER, b'{"type": "\xff"}'], "line 2: not text in UTF-8."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_no_trace_is_refused_with_its_line(case: str, tmp_path: Path) -> None:
    lines, message = REFUSED[case]
    path = file(tmp_path, *lines)
    with pytest.raises(SpecvizError) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}, line ")
    assert message in said
    assert said.endswith(".") and said.isprintable() and len(said) < len(str(path)) + 200


def set_in(*place: Any) -> Callable[[Any], Callable[[Any], None]]:
    def to(value: Any) -> Callable[[Any], None]:
        def change(record: Any) -> None:
            for step in place[:-1]:
                record = record[step]
            record[place[-1]] = value

        return change

    return to


HUGE = 10**400
BAD_FIELDS: list[tuple[Event, Callable[[Any], Any], str]] = [
    (round_(1), lambda r: r.pop("k"), "the record has no field k"),
    (round_(1), set_in("emitted", -1, "origin")("plain"), "the origins of what round 1 emitted contradict"),
    (round_(1, ()), set_in("emitted", -1, "origin")("resampled"), "the origins of what round 1 emitted contradict"),
    (round_(1), lambda r: r["drafted"][1].pop("verdict"), "drafted[1] has no field verdict"),
    (round_(1), lambda r: r["settings"].pop("k"), "settings has no field k"),
    (round_(1), set_in("drafted", 1, "verdict")("maybe"), "drafted[1].verdict must be one of accepted, rejected"),
    (round_(1), set_in("drafted", 1, "verdict")(["accepted"]), "drafted[1].verdict must be one of"),
    (round_(1), set_in("drafted", 0, "p")("0.5"), 'drafted[0].p must be a number from 0 to 1, not "0.5"'),
    (round_(1), set_in("drafted", 0, "verdict")(None), "drafted[0].verdict must be one of accepted, rejected"),
    (round_(1), set_in("drafted", 0, "p")(True), "drafted[0].p must be a number"),
    (round_(1), set_in("drafted", 0, "p")(1.5), "drafted[0].p must be a number"),
    (round_(1), set_in("drafted", 0, "p")(HUGE), "not a huge number"),
    (round_(1), set_in("drafted", 0, "entropy_q")(-3), "drafted[0].entropy_q must be a number"),
    (round_(1), set_in("drafted", 0, "id")(HUGE), "drafted[0].id must be a whole number"),
    (round_(1), set_in("drafted", 0, "id")(1.0), "drafted[0].id must be a whole number"),
    (round_(1), set_in("drafted", 0, "bytes")("2"), "drafted[0].bytes must be bytes in hex"),
    (round_(1), set_in("drafted", 0, "bytes")("20 20"), "drafted[0].bytes must be bytes in hex"),
    (round_(1), set_in("drafted", 0, "rank_p")(0), "drafted[0].rank_p must be a whole number"),
    (round_(1), set_in("drafted", 0, "p_top")([[1, "20"]]), "drafted[0].p_top[0] must be [id, bytes, probability]"),
    (round_(1), set_in("drafted", 0, "p_top")([[1, "20", 2]]), "drafted[0].p_top[0][2] must be a number"),
    (round_(1), set_in("drafted", 0, "p_top")([[1, "20", 0.1]] * 11), "must be a list of at most 10"),
    (round_(1), set_in("drafted", 0, "raw")({}), "drafted[0].raw has no field p"),
    (round_(1), set_in("drafted", 0, "detail")([]), "drafted[0].detail must be an object"),
    (round_(1), set_in("drafted", 0)("x"), 'drafted[0] must be an object, not "x"'),
    (round_(1), set_in("drafted")(None), "drafted must be a list, not null"),
    (round_(1), set_in("emitted", 0, "origin")("draft"), "emitted[0].origin must be one of"),
    (round_(1), set_in("emitted")([]), "round 1 accepted 1 tokens and emitted 0"),
    (round_(1, ("rejected",)), set_in("emitted")([]), "round 1 emitted nothing"),
    (round_(1), set_in("k")(2), "round 1 says it drafted 2 tokens and lists 3"),
    (round_(1), set_in("n_accepted")(2), "round 1 says its first 2 tokens were accepted"),
    (round_(1), set_in("tested")(3), "round 1 says 3 tokens were tested"),
    (round_(1), set_in("drafted", 2, "verdict")("ignored"), "the verdicts of round 1 are in an order"),
    (round_(1), set_in("index")(0), "index must be a whole number from 1"),
    (round_(1), set_in("settings", "k")(10**9), "settings.k must be a whole number from 0 to 1024"),
    (round_(1), set_in("settings", "rule")("lucky"), "settings.rule must be one of exact, equality, typical"),
    (round_(1), set_in("settings", "temperature")(-1), "settings.temperature must be a number"),
    (round_(1), set_in("timing", "draft_ms")(1e300), "timing.draft_ms must be a number from 0 to 1e+09"),
    (round_(1), set_in("stop")("tired"), 'stop must be one of max_new_tokens, end_of_text, stop_string, context, not'),
    (round_(1), set_in("type")("lap"), "its type must be one of header, calibration, round, end"),
    (round_(1), set_in("type")({}), "its type must be one of header, calibration, round, end, not an object"),
    (End("user"), set_in("reason")("bored"), "reason must be one of"),
    (End("user"), lambda r: r.pop("reason"), "the record has no field reason"),
    (End("user"), set_in("summary")(3), "summary must be an object"),
    (End("user"), set_in("detail")(3), "detail must be a string"),
    (Calibration(1, 1, 1), set_in("target_step_ms")(None), "target_step_ms must be a number"),
    (header(), set_in("prompt")("x"), "prompt must be an object"),
    (header(), set_in("prompt", "tokens", 0, "id")(-1), "prompt.tokens[0].id must be a whole number"),
    (header(), set_in("config")([]), "config must be an object"),
    (header(), set_in("config", "stop")("x"), "config.stop must be a list"),
    (header(), set_in("config", "special_ids")(["x"]), "config.special_ids[0] must be a whole number"),
    (header(), set_in("config", "x")(HUGE), "config must be free of numbers so large"),
    (header(), set_in("vocab_size")(0), "vocab_size must be a whole number from 1"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "change", "message"), BAD_FIELDS)
def test_a_wrong_field_is_named(event: Event, change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(BadLine) as caught:
        load_line(changed(event, change).encode())
    said = str(caught.value)
    assert message in said
    assert said.isprintable() and len(said) < 200


@pytest.mark.parametrize("depth", [33, 300])
def test_free_parts_are_not_nested_deeply(depth: int) -> None:
    nested: Any = 1
    for _ in range(depth):
        nested = {"a": nested}
    with pytest.raises(BadLine, match="config is nested too deeply"):
        load_line(changed(header(), set_in("config")(nested)).encode())


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return ([here] if here else []) + [path for key, entry in inner for path in paths(entry, (*here, key))]


WHOLE = json.loads(line(round_(1)))


@given(
    st.sampled_from(paths(WHOLE)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=4,
    ),
)
def test_any_value_anywhere_is_read_or_refused(place: tuple[Any, ...], value: Any) -> None:
    text = changed(round_(1), set_in(*place)(value))
    try:
        event = load_line(text.encode())
    except BadLine as bad:
        assert str(bad).isprintable()
    else:
        assert strict(line(event)) is not None


@given(rounds())
def test_a_compact_round_is_the_round_without_its_lists(event: Round) -> None:
    assert load_line(line(event).encode(), compact=True) == without_top_lists(event)


@given(
    st.sampled_from(paths(WHOLE)),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=11),
)
def test_a_compact_round_is_refused_where_the_whole_one_is(place: tuple[Any, ...], value: Any) -> None:
    record = json.loads(line(round_(1)))
    set_in(*place)(value)(record)
    data = json.dumps(record).encode()
    results: list[Any] = []
    for compact in (False, True):
        try:
            results.append(load_line(data, compact=compact))
        except BadLine as bad:
            results.append(str(bad))
    whole, short = results
    assert short == (without_top_lists(whole) if isinstance(whole, Round) else whole)


@pytest.mark.parametrize(
    "missing",
    [
        "timing",
        "last_u",
        "plain_reason",
        "redraws",
        "stop",
        ("drafted", 0, "p"),
        ("drafted", 2, "q_top"),
        ("emitted", 0, "id"),
    ],
)
def test_a_missing_field_has_its_default(missing: Any) -> None:
    steps = (missing,) if isinstance(missing, str) else missing

    def drop(record: Any) -> None:
        for step in steps[:-1]:
            record = record[step]
        del record[steps[-1]]

    event = load_line(changed(round_(1), drop).encode())
    assert isinstance(event, Round)
    value: Any = event
    for step in steps:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    assert value == {"timing": Timing(), "redraws": 0, "q_top": ()}.get(steps[-1])


@pytest.mark.parametrize(
    "harm",
    [(b'"206973"', b'"20 69"'), (b'"206973"', b'"2g"'), (b"0.53", b"NaN"), (b'"detail"', b'"\xff": 1, "detail"')],
)
def test_what_bare_rounds_leave_out_is_checked_all_the_same(harm: tuple[bytes, bytes]) -> None:
    data = line(round_(1)).encode().replace(*harm)
    for compact in (False, True):
        with pytest.raises(BadLine):
            load_line(data, compact=compact)


@given(st.binary())
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BadLine):
        load_line(data)


def test_text_that_cannot_be_printed_is_mended() -> None:
    event = load_line(changed(header(), set_in("prompt", "text")("a\ud800")).encode())
    assert isinstance(event, Header)
    assert event.prompt.text == "a\ufffd"


def test_unknown_fields_are_passed_over() -> None:
    assert load_line(changed(round_(1), set_in("colour")("red")).encode()) == round_(1)


# Files that cannot be read


def test_a_missing_file_a_folder_and_a_device(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "none.jsonl", "there is no such file."),
        (tmp_path, "is a folder, not a trace"),
        (tmp_path / "x" / "none.jsonl", "there is no such file."),
        (Path("/dev/null"), "is a device, not a trace."),
        (Path("a\0b"), "cannot be read"),
    ):
        with pytest.raises(SpecvizError, match=message):
            read(path)


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file(tmp_path, HEADER)

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SpecvizError, match="no permission to read it"):
        read(path)


def test_names_in_errors_are_safe(tmp_path: Path) -> None:
    with pytest.raises(SpecvizError) as caught:
        read(tmp_path / "a\x1b[2Jb")
    assert str(caught.value).isprintable()
    with pytest.raises(SpecvizError, match=r"^the demo, line 1"):
        read(file(tmp_path, "x"), "the demo")
