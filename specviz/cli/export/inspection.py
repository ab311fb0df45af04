"""What the inspector of the page shows of a token, as strings ready to print: pure functions of (round, row)."""

from dataclasses import dataclass, field
from typing import Any

from specviz.events import Drafted, Emitted, Raw, Round, Top
from specviz.tokens import clip, visible
from specviz.ui.glyphs import UNICODE
from specviz.ui.widgets.numbers import fixed, prob, ratio, told_apart
from specviz.ui.widgets.sentences import explain, greedy, last_token

FACTS = (
    *("p", "rank p", "entropy p", "q", "rank q", "entropy q", "overlap", "TV", "match"),
    *("p/q", "accept prob", "u", "draft u", "residual"),
)
_LISTS = ("p target", "q draft", "residual", "raw p target", "raw q draft")
_TESTED = ("accepted", "rejected")
_TOKEN_CELLS = 24
_MOST_BYTES = 32


@dataclass
class Names:
    """Texts and their numbers: each is written once."""

    texts: list[str] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def number(self, data: bytes) -> int:
        text = clip(visible(data), _TOKEN_CELLS)
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]


def sentence(round: Round, row: int) -> str:
    """Why the token came out as it did, one or two lines."""
    return explain(round, row)


def inspection(round: Round, row: int, names: Names) -> dict[str, Any]:
    """A token's numbers, JSON-able. ``facts`` and ``raw`` go with FACTS, empty where there is none; a list is
    [name, token, probability, token, probability, …], tokens by number."""
    if row < round.k:
        drafted = round.drafted[row]
        return _entry(drafted, drafted.verdict, names) | {
            "facts": _facts(round, drafted),
            "raw": _raw(drafted.raw),
            "test": _test(round, drafted),
            "lists": _lists(drafted, names),
        }
    last = last_token(round)
    assert last is not None
    lists = [_list(_LISTS[0], last.p_top, names)]
    if last.origin == "resampled" and last.residual is not None:
        lists.append(_list(_LISTS[2], round.drafted[round.n_accepted].residual_top, names))
    raw_list = [_list(_LISTS[3], last.raw.p_top, names)] if last.raw else []
    return _entry(last, last.origin, names) | {
        "facts": _last_facts(round, last),
        "raw": _raw(last.raw),
        "test": None,
        "lists": lists + raw_list,
    }


def _entry(token: Drafted | Emitted, kind: str, names: Names) -> dict[str, Any]:
    data = token.bytes
    shown = data[:_MOST_BYTES].hex(" ").upper() + (" …" if len(data) > _MOST_BYTES else "")
    return {"name": names.number(data), "id": token.id, "bytes": shown, "kind": kind, "mark": UNICODE.mark(kind)}


def _test(round: Round, drafted: Drafted) -> list[float] | None:
    """Accept chance and u, where they decided."""
    if drafted.accept_prob is None or greedy(round) or drafted.verdict not in _TESTED:
        return None
    return [float(f"{value:.6g}") for value in (drafted.accept_prob, drafted.u)]


def _facts(round: Round, d: Drafted) -> list[str]:
    chance = d.accept_prob
    u, limit = (prob(d.u), "") if chance is None else told_apart(d.u, chance, 3, 6)
    tests = ["", "", ""] if greedy(round) else [ratio(d.p, d.q), limit, u]
    return _filled(
        prob(d.p), str(d.rank_p), _nats(d.entropy_p), prob(d.q), str(d.rank_q), _nats(d.entropy_q),
        prob(d.overlap), prob(1.0 - d.overlap), prob(d.match), *tests, prob(d.draft_u),
    )  # fmt: skip


def _last_facts(round: Round, last: Emitted) -> list[str]:
    q = "" if last.q is None else prob(last.q)
    residual = "" if last.residual is None else prob(last.residual)
    u = "" if greedy(round) else prob(round.last_u)
    p = (prob(last.p), str(last.rank_p), _nats(last.entropy_p))
    return _filled(*p, q, *[""] * 7, u, "", residual)


def _raw(raw: Raw | None) -> list[str]:
    if raw is None:
        return []
    apart = "" if raw.overlap is None else prob(1.0 - raw.overlap)
    return [prob(raw.p), "", _nats(raw.entropy_p), prob(raw.q, none=""), "", _nats(raw.entropy_q),
            prob(raw.overlap, none=""), apart]  # fmt: skip


def _lists(drafted: Drafted, names: Names) -> list[list[Any]]:
    tops = [drafted.p_top, drafted.q_top, drafted.residual_top if drafted.verdict in _TESTED else ()]
    if drafted.raw:
        tops += [drafted.raw.p_top, drafted.raw.q_top]
    return [_list(name, top, names) for name, top in zip(_LISTS, tops, strict=False) if top]


def _list(name: str, top: Top, names: Names) -> list[Any]:
    flat: list[Any] = [name]
    for candidate in top:
        flat += [names.number(candidate.bytes), prob(candidate.prob)]
    return flat


def _nats(value: float | None) -> str:
    return fixed(value, 3, "")


def _filled(*values: str) -> list[str]:
    return [*values, *[""] * (len(FACTS) - len(values))]
