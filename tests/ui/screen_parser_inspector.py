"""The inspector's text taken apart, and what it has to print: from the line of a round in its trace alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specviz.core.safe_text import visible
from tests.reference_stats import Line
from tests.ui.screen_parser import apart, chance, eighths, figures, numbers, rare, rounded

MARKS = {
    "accepted": "✓",
    "rejected": "✗",
    "untested": "·",
    "ignored": "–",
    "resampled": "↳",
    "bonus": "+",
    "plain": "=",
}
LABELS = (
    *("p", "rank p", "entropy p", "q", "rank q", "entropy q", "overlap", "TV", "match", "residual"),
    *("p/q", "accept prob", "u − accept", "u", "draft u", "u of its draw"),
)
NUMBER = re.compile(r"[<>]?[+−]?(\d+(\.\d+)?|\.\d+)(e-\d+)?|–")
ENTRY = re.compile(r"(.) (.*?) +([<>.\d][\d.e-]*)(?: +([▏▎▍▌▋▊▉█]*))?")
NAMED = re.compile(
    r"^(?:[↳+=] )?\S+ (?=accepted|rejected|untested|ignored|drawn|bonus|plain|in place)|(?<=in place of )\S+;"
)
"""Where a sentence names a token, which may look like anything."""
TITLES = r"p target|q draft|residual"

Entry = tuple[str, str, str]
"""Mark, token or the words that stand for it, probability."""


@dataclass
class Shown:
    """The parts of an inspector as printed: ``bars`` in eighths of a cell, ``line`` the three lines of a test."""

    head: list[str]
    sentences: list[str]
    line: list[str]
    facts: dict[str, list[str]]
    lists: dict[str, list[Entry]]
    raw_lists: dict[str, list[Entry]]
    bars: list[tuple[str, int]]
    rest: list[str]


# -- what is printed


def taken_apart(lines: Sequence[str]) -> Shown:
    titles = [i for i, line in enumerate(lines) if re.match(rf"  (raw )?({TITLES})(  |$)", line)]
    first, raw = titles[0], titles[1] if len(titles) > 1 else len(lines)
    end = next(i for i in range(first, len(lines)) if _facts(lines[i]) or set(lines[i].split()) == {"raw"})
    facts: dict[str, list[str]] = {}
    rest: list[str] = []
    for line in lines[end:raw]:
        found = _facts(line)
        facts |= found or {}
        rest += [line] if line and not found else []
    top = [line for line in lines[2:first] if line]
    at = next((i for i, line in enumerate(top) if line.startswith("0 ")), None)
    bars: list[tuple[str, int]] = []
    return Shown(
        head=[re.sub(" +", " ", line) for line in lines[:2]],
        sentences=top if at is None else top[: at - 1] + top[at + 2 :],
        line=[] if at is None else top[at - 1 : at + 2],
        facts=facts,
        lists=_lists(lines[first:end], bars),
        raw_lists=_lists(lines[raw:], []),
        bars=bars,
        rest=rest,
    )


def _facts(line: str) -> dict[str, list[str]]:
    """Names and the one or two numbers behind each; nothing where a line is not all names and numbers."""
    found: dict[str, list[str]] = {}
    name: list[str] = []
    for word in line.split():
        if not NUMBER.fullmatch(word):
            name.append(word)
        elif name:
            found[" ".join(name)], name = [word], []
        elif found:
            found[[*found][-1]].append(word)
        else:
            return {}
    return {} if name or not set(found) <= set(LABELS) else found


def _lists(lines: Sequence[str], bars: list[tuple[str, int]]) -> dict[str, list[Entry]]:
    if not lines:
        return {}
    heads = [*re.finditer(TITLES, lines[0])]
    starts = [lines[0].rindex("  ", 0, h.start()) for h in heads]
    whole = re.sub(" +", " ", lines[0]).strip()
    lists: dict[str, list[Entry]] = {}
    for head, start, stop in zip(heads, starts, [*starts[1:], None], strict=True):
        title = "residual is p" if head.group() == "residual" and "residual is p" in whole else head.group()
        entries = lists[title] = []
        for line in lines[1:]:
            if cell := line[start:stop].rstrip():
                match = ENTRY.fullmatch(cell)
                assert match, cell
                mark, name, prob, bar = match.groups()
                entries.append((mark, name, prob))
                bars.append((prob, eighths(bar or "")))
    return lists


# -- what has to be


def head_of(token: Line, kind: str) -> list[str]:
    data = bytes.fromhex(token["bytes"])
    many = "no bytes" if not data else f"{len(data)} byte{'s' * (len(data) > 1)} {data.hex(' ').upper()}"
    return [f"{MARKS[kind]} {visible(data)} {kind}", f"id {token['id']} · {many}"]


def facts_of(drafted: Line) -> dict[str, list[str]]:
    raw = drafted["raw"] or {}
    u, limit = np.float64(drafted["u"]), accept_chance(drafted)
    texts = apart(u, limit, 3, 5)
    margin = u - limit
    ratio = np.float64(drafted["p"]) / drafted["q"]
    return {
        **_facts_of_p(drafted),
        "q": [chance(drafted["q"]), *_raw(raw, "q")],
        "rank q": [_rank(drafted["rank_q"], drafted["q"])],
        "entropy q": [nats(drafted["entropy_q"]), *_raw_nats(raw, "entropy_q")],
        "overlap": [chance(drafted["overlap"]), *_raw(raw, "overlap")],
        "TV": [chance(1 - drafted["overlap"]), *([chance(1 - raw["overlap"])] if raw else [])],
        "match": [chance(drafted["match"])],
        "p/q": [chance(ratio) if ratio < 1 else ">99" if ratio >= 99.95 else rounded(ratio, 1 if ratio >= 10 else 3)],
        "accept prob": [texts[1]],
        "u − accept": [chance(0.0) if not margin else ("−" if margin < 0 else "+") + chance(abs(margin))],
        "u": [texts[0]],
        "draft u": [chance(drafted["draft_u"])],
    }


def last_facts_of(round_: Line) -> dict[str, list[str]]:
    last = round_["emitted"][-1]
    facts = {**_facts_of_p(last), "u of its draw": [chance(round_["last_u"])]}
    if last["origin"] == "resampled":
        rejected = round_["drafted"][round_["n_accepted"]]
        share = last["p"] if last["residual"] is None else last["residual"]
        facts["residual"] = [chance(share)]
        facts["overlap"], facts["TV"] = facts_of(rejected)["overlap"], facts_of(rejected)["TV"]
    return facts


def _facts_of_p(token: Line) -> dict[str, list[str]]:
    raw = token["raw"] or {}
    return {
        "p": [chance(token["p"]), *_raw(raw, "p")],
        "rank p": [_rank(token["rank_p"], token["p"])],
        "entropy p": [nats(token["entropy_p"]), *_raw_nats(raw, "entropy_p")],
    }


def _rank(rank: int, probability: float) -> str:
    return str(rank) if probability else "–"


def nats(value: float) -> str:
    return rounded(value, 3 if value < 9.9995 else 2)


def _raw(raw: Line, name: str) -> list[str]:
    return [chance(raw[name])] if raw else []


def _raw_nats(raw: Line, name: str) -> list[str]:
    return [nats(raw[name])] if raw else []


def accept_chance(drafted: Line) -> np.float64:
    """min(1, p/q), in double precision."""
    return np.float64(min(1.0, drafted["p"] / drafted["q"]))


def residual_of(drafted: Line) -> float:
    """max(0, p - q) / (1 - overlap) of the drafted token; p itself where p nowhere exceeds q."""
    if drafted["detail"].get("residual_is_p"):
        return float(drafted["p"])
    return float(max(0.0, drafted["p"] - drafted["q"]) / (1 - drafted["overlap"]))


def lists_of(round_: Line, row: int, *, raw: bool = False) -> dict[str, list[Entry]]:
    """The lists of p, q and the residual, each token marked that was drafted there or came instead."""
    last = round_["emitted"][-1] if round_["emitted"][-1]["origin"] != "accepted" else None
    if row == round_["k"]:
        assert last is not None
        return _last_lists(round_, last)
    drafted = round_["drafted"][row]
    came = last if drafted["verdict"] == "rejected" else None
    kind = drafted["verdict"]
    if raw:
        of = drafted["raw"]
        ranks = [_rank_of_raw(round_, drafted, "p"), _rank_of_raw(round_, drafted, "q")]
        also = came and (came, "resampled", came["raw"]["p"], _rank_of_raw(round_, came, "p"))
        p = _list(of["p_top"], (drafted, kind, of["p"], ranks[0]), also)
        q = _list(of["q_top"], (drafted, kind, of["q"], ranks[1]), came and (came, "resampled", None, None))
        return {"p target": p, "q draft": q}
    p = _list(
        drafted["p_top"],
        (drafted, kind, drafted["p"], drafted["rank_p"]),
        came and (came, "resampled", came["p"], came["rank_p"]),
    )
    q = _list(
        drafted["q_top"], (drafted, kind, drafted["q"], drafted["rank_q"]), came and (came, "resampled", None, None)
    )
    return {"p target": p, "q draft": q, **_residual(drafted, came)}


def _rank_of_raw(round_: Line, token: Line, of: str) -> int | None:
    """Known where the raw distribution is the one there is."""
    settings = round_["settings"]
    same = settings["temperature" if of == "p" else "draft_temperature"] == 1
    return token[f"rank_{of}"] if same and settings["top_k"] is settings["top_p"] is None else None


def _last_lists(round_: Line, last: Line) -> dict[str, list[Entry]]:
    kind = last["origin"]
    own = last, kind, last["p"], last["rank_p"]
    if kind != "resampled":
        return {"p target": _list(last["p_top"], own)}
    rejected = round_["drafted"][round_["n_accepted"]]
    was = rejected, "rejected", rejected["p"], rejected["rank_p"]
    return {"p target": _list(last["p_top"], own, was), **_residual(rejected, last)}


def _residual(drafted: Line, came: Line | None) -> dict[str, list[Entry]]:
    is_p = drafted["detail"].get("residual_is_p")
    share = None if came is None else came["p"] if is_p else came["residual"]
    entries = _list(
        drafted["residual_top"],
        (drafted, drafted["verdict"], residual_of(drafted), drafted["rank_p"] if is_p else None),
        came and (came, "resampled", share, came["rank_p"] if is_p else None),
    )
    return {"residual is p" if is_p else "residual": entries}


def _list(top: Sequence[Any], *marked: Any) -> list[Entry]:
    """``marked``: (token, kind, probability or None where only a listed one is marked, rank or None)."""
    of = {token["id"]: (kind, prob, rank) for token, kind, prob, rank in filter(None, reversed(marked))}
    names = [visible(bytes.fromhex(data)) for _, data, _ in top]
    entries = []
    for (id, _, listed), name in zip(top, names, strict=True):
        kind, prob, _ = of.get(id, (None, None, None))
        known = name if names.count(name) == 1 else f"{name} #{id}"
        entries.append((MARKS[kind] if kind else " ", known, chance(listed if prob is None else prob)))
    below = [of[token["id"]] for token, *_ in filter(None, marked) if token["id"] not in {id for id, *_ in top}]
    for kind, prob, rank in below:
        if prob is not None:
            words = "not listed" if prob == 0 else f"rank {rank}" if rank else "below top ten"
            entries.append((MARKS[kind], words, chance(prob)))
    return entries


def sentences_of(round_: Line, row: int) -> list[list[str]]:
    """The numbers of each sentence."""
    last = round_["emitted"][-1]
    if row == round_["k"]:
        if last["origin"] == "resampled":
            return [_drawn(round_["drafted"][round_["n_accepted"]], last), [rare(last["p"])]]
        many = [str(round_["k"])] if last["origin"] == "bonus" and round_["k"] > 1 else []
        why = ["0"] if last["origin"] == "plain" and round_["plain_reason"] == "k_zero" else many
        return [why, [rare(last["p"])]]
    drafted = round_["drafted"][row]
    u, limit = apart(drafted["u"], accept_chance(drafted), 2, 6)
    if drafted["verdict"] == "untested":
        return [[str(round_["n_accepted"] + 1)], [u, limit]]
    if drafted["verdict"] == "ignored":
        return [[], [u, limit]]
    test = [u, figures(drafted["p"]), figures(drafted["q"]), limit]
    if drafted["verdict"] == "rejected":
        return [test, _drawn(drafted, last)]
    return [test, [] if limit == "1" else [limit]]


def _drawn(rejected: Line, last: Line) -> list[str]:
    return [rare(last["p"] if rejected["detail"].get("residual_is_p") else last["residual"])]


def sentence_numbers(sentences: Sequence[str]) -> list[list[str]]:
    """What the sentences say, without the tokens they name."""
    return [numbers(NAMED.sub("", line).replace("≥", " ")) for line in sentences]


def line_mismatches(line: Sequence[str], drafted: Line) -> list[str]:
    """The number line: threshold above, filled up to it, u on and below the line at its place."""
    above, bar, below = line
    cells = bar[2:-2]
    u, chance_ = drafted["u"], accept_chance(drafted)
    at, length = cells.index("│"), len(cells)
    filled = cells.count("█") + (u < chance_)
    pole = above.index("┊") - 2
    texts = apart(u, chance_, 2, 6)
    would = "would be accepted" if drafted["verdict"] in ("untested", "ignored") else "accepted"
    wrong = []
    if at != int(u * length) or below.index("│") != at + 2:
        wrong.append(f"u {u} at {at} of {length}")
    if abs(filled - chance_ * length) > 1 + 1e-9 or set(cells) - set("█│░") or "░█" in cells.replace("│", ""):
        wrong.append(f"{filled} of {length} filled for {chance_}")
    if (u < chance_) != (at < filled):
        wrong.append(f"u {u} at {at} is on the wrong side of {chance_}")
    if abs(pole + 1 - chance_ * length) > 1.5:
        wrong.append(f"threshold {chance_} at {pole} of {length}")
    flags = above.replace("┊", "").strip(), below.replace("│", "").strip()
    if flags != (f"{would} below {texts[1]}", f"u {texts[0]}"):
        wrong.append(f"{flags}: {texts}")
    return wrong


def verdict_of(drafted: Line) -> str:
    """What the test of a token says, or would have said."""
    accepted = drafted["u"] < accept_chance(drafted)
    word = "accepted" if accepted else "rejected"
    return word if drafted["verdict"] in ("accepted", "rejected") else f"would have been {word}"


def bars_ok(shown: Shown) -> bool:
    """Whether every bar is as long as its number says, on the scale of the largest one."""
    longest = max(length for _, length in shown.bars)
    values = [float(prob.lstrip("<>")) for prob, _ in shown.bars]
    return all(
        abs(length - longest * value / max(values)) <= 0.5 + longest * 0.0011 / max(values)
        for value, (_, length) in zip(values, shown.bars, strict=True)
    )
