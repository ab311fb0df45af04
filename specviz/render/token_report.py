"""Everything known about one token of a round, before layout: pure functions of (round, row)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from specviz.core.events import Drafted, Emitted, Raw, Round, Top
from specviz.core.rule import rule_of
from specviz.render.accept_line import AcceptTest
from specviz.render.cells import Part
from specviz.render.explanations import counterfactual, drafter_details, explain, is_greedy, sample_bytes
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import distinguishing_digits, fixed, prob, ratio, signed
from specviz.render.phases import WAITING, RowStage
from specviz.render.top_lists import MarkedToken, TopList

_TEN = 10
P, Q, RESIDUAL = "p target", "q draft", "residual"
"""Titles of lists; one of raw probabilities ends so."""
Draw = tuple[str, bytes | None, int | None]
"""Who drew, the bytes of the token where they are known, its id; None: not yet."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A number under its name; ``raw``: the same without temperature and cuts; ``short_name``: for narrow columns."""

    name: str
    value: str
    raw: str = ""
    short_name: str = ""


@dataclass(frozen=True, slots=True)
class TokenReport:
    """A token of a round and all that is known of it. ``token`` is None after a cut. ``raw_lists``: the unprocessed
    lists, where they differ from ``lists``. ``groups``: facts of p, of q, of both; ``tests``: facts of the accept test;
    ``draws``: what draft and target drew, where that is the test; ``details``: what the drafter recorded."""

    token: Drafted | Emitted | None
    kind: str
    sentences: tuple[Part, ...]
    lists: tuple[TopList, ...] = ()
    raw_lists: tuple[TopList, ...] = ()
    groups: tuple[tuple[Fact, ...], ...] = ()
    tests: tuple[Fact, ...] = ()
    test: AcceptTest | None = None
    draws: tuple[Draw, ...] = ()
    details: tuple[str, ...] = ()
    replaces: bool = False
    """Whether a second token is marked in the lists: what a rejected draft was replaced by, or the reverse."""


def inspector_title(round: Round, row: int, glyphs: Glyphs) -> str:
    """``Inspector · round 37 · draft 3 of 4``."""
    last = round.correction
    if row < round.k:
        place = f"draft {row + 1} of {round.k}"
    elif last is None:
        place = "no further token"
    elif last.origin == "resampled":
        place = f"resampled at {round.n_accepted + 1}"
    else:
        place = last.origin
    return f" {glyphs.dot} ".join(("Inspector", f"round {round.index}", place))


def full_report(round: Round, row: int, glyphs: Glyphs) -> TokenReport:
    """The report on row ``row``: drafted token ``row`` + 1, or from K on the round's last token."""
    said: list[Part] = [(line, "text") for line in explain(round, row, glyphs).split("\n")]
    if row < round.k:
        return _drafted(round, row, said, glyphs)
    last = round.correction
    return TokenReport(None, "ignored", tuple(said)) if last is None else _last(round, last, said, glyphs)


def _drafted(round: Round, row: int, said: list[Part], glyphs: Glyphs) -> TokenReport:
    drafted = round.drafted[row]
    would = counterfactual(round, row, glyphs)
    if would:
        said = [said[0], (would, "would")]
    last = round.correction if drafted.verdict == "rejected" else None
    lists = _raw_lists(round, drafted, last) if is_greedy(round) else _lists(round, drafted, last)
    return TokenReport(
        token=drafted,
        kind=drafted.verdict,
        sentences=(*said, *_left_out(drafted)),
        lists=lists if _looked(drafted) else (),
        raw_lists=_raw_lists(round, drafted, last) if drafted.raw and not is_greedy(round) else (),
        groups=_groups(round, drafted, glyphs),
        tests=() if is_greedy(round) else _tests(round, drafted, glyphs),
        test=_test(round, drafted),
        draws=_draws(round, drafted),
        details=(*drafter_details(drafted, row, glyphs), *_from_p(round, drafted)),
        replaces=last is not None,
    )


def _last(round: Round, last: Emitted, said: list[Part], glyphs: Glyphs) -> TokenReport:
    rejected = round.first_rejected if last.origin == "resampled" else None
    raw = last.raw if is_greedy(round) else None
    p = raw.p if raw else last.p
    marked = [MarkedToken(last.id, last.origin, p, None if raw else last.rank_p)]
    if rejected is not None:
        was = rejected.raw.p if raw and rejected.raw else rejected.p
        marked.append(MarkedToken(rejected.id, rejected.verdict, was, None if raw else rejected.rank_p))
    lists = [_list("p", raw.p_top if raw else last.p_top, tuple(marked), raw=raw is not None)]
    groups = [_p_facts(last, is_greedy(round), glyphs)]
    if rejected is not None and _has_residual(round):
        lists.append(_residual(rejected, last))
        share = last.p if last.residual is None else last.residual
        groups.append((Fact("residual", prob(share)), *_both_facts(rejected, round.settings.rule)[:2]))
    return TokenReport(
        token=last,
        kind=last.origin,
        sentences=(*said, *_left_out(last)),
        lists=tuple(lists) if _looked(last) else (),
        groups=tuple(groups),
        tests=() if is_greedy(round) else (Fact("u of its draw", prob(round.last_u), short_name="last u"),),
        replaces=rejected is not None,
    )


def _looked(token: Drafted | Emitted) -> bool:
    """Whether the run recorded more of the token than its test needs."""
    return bool(token.p_top) or token.entropy_p is not None


def _left_out(token: Drafted | Emitted) -> list[Part]:
    """Which numbers the run does not record, if any."""
    if token.p is None:
        return [("p and q of this token were not recorded", "text")]
    return [] if _looked(token) else [("recorded with --no-inspect: no ranks, entropies or lists", "text")]


def _has_residual(round: Round) -> bool:
    return rule_of(round.settings.rule).has_residual and not is_greedy(round)


def _test(round: Round, drafted: Drafted) -> AcceptTest | None:
    if is_greedy(round) or rule_of(round.settings.rule).test != "ratio" or drafted.test is None:
        return None
    u, chance = drafted.test
    return AcceptTest(chance, u, drafted.verdict, drafted.verdict in ("accepted", "rejected"))


def _draws(round: Round, drafted: Drafted) -> tuple[Draw, ...]:
    """(who, bytes if known, id) of the two draws that have to be equal under the equality rule."""
    sample = drafted.target_sample
    if is_greedy(round) or sample is None:
        return ()
    return ("draft", drafted.bytes, drafted.id), ("target", sample_bytes(round, drafted), sample)


def _list(name: str, top: Top, marked: tuple[MarkedToken, ...], *, raw: bool = False) -> TopList:
    whose = {"p": P, "q": Q}[name]
    one = len(top) == 1 and top[0].prob >= 1
    return TopList(f"raw {whose}" if raw else whose, top, marked, "one token" if one else "")


def _lists(round: Round, drafted: Drafted, last: Emitted | None) -> tuple[TopList, ...]:
    kind = drafted.verdict
    new = () if last is None else (MarkedToken(last.id, last.origin, last.p, last.rank_p),)
    p = _list("p", drafted.p_top, (MarkedToken(drafted.id, kind, drafted.p, drafted.rank_p), *new))
    listed = () if last is None else (MarkedToken(last.id, last.origin, None),)
    q = _list("q", drafted.q_top, (MarkedToken(drafted.id, kind, drafted.q, drafted.rank_q), *listed))
    return (p, q, _residual(drafted, last)) if _has_residual(round) else (p, q)


def _raw_lists(round: Round, drafted: Drafted, last: Emitted | None) -> tuple[TopList, ...]:
    """p and q at temperature 1, no top-k or top-p, where recorded: in a greedy round the only informative ones. Where
    processing changed only one of them, the other is as it was, with the ranks it has there."""
    kind, raw, settings = drafted.verdict, drafted.raw, round.settings
    p, q = (raw.p, raw.q) if raw else (drafted.p, drafted.q)
    uncut = settings.top_k is None and settings.top_p is None
    same_p, same_q = uncut and settings.temperature == 1, uncut and settings.draft_temperature == 1
    marked = [MarkedToken(drafted.id, kind, p, drafted.rank_p if same_p else None)]
    if last is not None:
        came = last.raw.p if raw and last.raw else last.p
        marked.append(MarkedToken(last.id, last.origin, came, last.rank_p if same_p else None))
    listed = () if last is None else (MarkedToken(last.id, last.origin, None),)
    drawn = MarkedToken(drafted.id, kind, q, drafted.rank_q if same_q else None)
    return (
        _list("p", raw.p_top if raw else drafted.p_top, tuple(marked), raw=raw is not None),
        _list("q", raw.q_top if raw else drafted.q_top, (drawn, *listed), raw=raw is not None),
    )


def _residual(drafted: Drafted, last: Emitted | None) -> TopList:
    is_p = bool(drafted.detail.get("residual_is_p"))
    rank = drafted.rank_p if is_p else None
    marked = [MarkedToken(drafted.id, drafted.verdict, _in_residual(drafted, drafted.id), rank)]
    if last is not None:
        share = last.p if last.residual is None else last.residual
        marked.append(MarkedToken(last.id, last.origin, share, last.rank_p if is_p else None))
    return TopList(RESIDUAL, drafted.residual_top, tuple(marked), "is p" if is_p else "")


def _in_residual(drafted: Drafted, token_id: int | None) -> float | None:
    """max(0, p(x) - q(x)) / sum max(0, p - q) of the drafted token, the sum being 1 - overlap."""
    listed = next((c.prob for c in drafted.residual_top if c.id == token_id), None)
    if listed is not None:
        return listed
    if drafted.detail.get("residual_is_p"):
        return drafted.p
    if drafted.p is None or drafted.q is None or drafted.overlap is None:
        return None
    if drafted.p <= drafted.q or 0 < len(drafted.residual_top) < _TEN:
        return 0.0
    left = 1 - drafted.overlap
    return min(1.0, (drafted.p - drafted.q) / left) if left > 0 else None


def _groups(round: Round, drafted: Drafted, glyphs: Glyphs) -> tuple[tuple[Fact, ...], ...]:
    raw, one_hot = drafted.raw, is_greedy(round)
    q = (
        Fact("q", prob(drafted.q), _raw(raw, "q")),
        Fact("rank q", _rank(drafted.rank_q, one_hot), _raw_rank(raw, "q", drafted.id, one_hot), "rank"),
        Fact("entropy q", _nats(drafted.entropy_q), _raw(raw, "entropy_q"), "entropy"),
    )
    return _p_facts(drafted, one_hot, glyphs), q, _both_facts(drafted, round.settings.rule)


def _p_facts(token: Drafted | Emitted, one_hot: bool, glyphs: Glyphs) -> tuple[Fact, ...]:
    raw = token.raw
    rank = _rank(token.rank_p, one_hot) if token.p or one_hot else glyphs.none
    return (
        Fact("p", prob(token.p), _raw(raw, "p")),
        Fact("rank p", rank, _raw_rank(raw, "p", token.id, one_hot), "rank"),
        Fact("entropy p", _nats(token.entropy_p), _raw(raw, "entropy_p"), "entropy"),
    )


def _both_facts(drafted: Drafted, rule: str) -> tuple[Fact, ...]:
    """Of p and q together, the accept probability of the rule first."""
    raw = drafted.raw
    apart = "" if raw is None or raw.overlap is None else prob(1 - raw.overlap)
    overlap = Fact("overlap", prob(drafted.overlap), _raw(raw, "overlap"))
    distance = Fact("TV", prob(None if drafted.overlap is None else 1 - drafted.overlap), apart)
    match = Fact("match", prob(drafted.match))
    return (match, overlap, distance) if rule_of(rule).overlap_name == match.name else (overlap, distance, match)


def _raw(raw: Raw | None, name: str) -> str:
    value = None if raw is None else getattr(raw, name)
    if value is None:
        return ""
    return _nats(value) if name.startswith("entropy") else prob(value)


def _nats(value: float | None) -> str:
    return fixed(value, 3 if value is None or value < 9.9995 else 2)


def _rank(rank: int | None, one_hot: bool) -> str:
    """Blank for a one-hot distribution, whose ranks are meaningless."""
    return "" if one_hot else fixed(rank, 0)


def _raw_rank(raw: Raw | None, name: str, token_id: int | None, one_hot: bool) -> str:
    if raw is None or not one_hot:
        return ""
    top = raw.p_top if name == "p" else raw.q_top
    listed = next((rank for rank, c in enumerate(top, start=1) if c.id == token_id), None)
    return str(listed) if listed else f">{_TEN}" if len(top) >= _TEN else ""


def _tests(round: Round, drafted: Drafted, glyphs: Glyphs) -> tuple[Fact, ...]:
    u = drafted.u
    if rule_of(round.settings.rule).test == "sample":
        return Fact("target's u", prob(u), short_name="u"), Fact("draft u", prob(drafted.draft_u))
    facts = [Fact("p/q", _ratio(drafted, glyphs))]
    if drafted.test is None:
        return (*facts, Fact("u", prob(u)), Fact("draft u", prob(drafted.draft_u)))
    u, chance = drafted.test
    u_text, limit = distinguishing_digits(u, chance, least=3, most=5)
    return (
        *facts,
        Fact("accept prob", limit, short_name="accept"),
        Fact(f"u {glyphs.minus} accept", signed(u - chance, minus=glyphs.minus), short_name="margin"),
        Fact("u", u_text),
        Fact("draft u", prob(drafted.draft_u)),
    )


def _ratio(drafted: Drafted, glyphs: Glyphs) -> str:
    share = drafted.ratio
    if share is None or share >= _TEN:
        return ratio(drafted.p, drafted.q, glyphs.none)
    return prob(share) if share < 1 else fixed(share, 3)


def _from_p(round: Round, drafted: Drafted) -> tuple[str, ...]:
    """A note on a rejection whose replacement was drawn from p."""
    used = drafted.verdict == "rejected" and _has_residual(round) and drafted.detail.get("residual_is_p")
    return ("residual is p itself",) if used else ()


_OF_DRAFT = frozenset({"q", "rank q", "entropy q", "draft u"})
_OF_TARGET = frozenset({"p", "rank p", "entropy p", "overlap", "TV", "match", "p/q", "accept prob"})
"""Facts known after drafting, and after the target has scored the token."""


def token_report(round: Round, row: int, glyphs: Glyphs, known: RowStage) -> TokenReport:
    """All that is ``known`` about row ``row``; what is not is blank, in its place. A token that waits for its verdict
    is reported without its u and verdict, so that not even the digits of another number depend on them."""
    if known == "decided" or row >= round.k:
        return full_report(round, row, glyphs)
    waiting = replace(round.drafted[row], u=0.0, verdict="untested")
    whole = full_report(replace(round, drafted=(*round.drafted[:row], waiting, *round.drafted[row + 1 :])), row, glyphs)
    scored = known == "scored"
    facts = _OF_DRAFT | _OF_TARGET if scored else _OF_DRAFT
    return replace(
        whole,
        kind=WAITING,
        sentences=((f"waits for {'its test' if scored else 'the target'}", "text"),),
        lists=tuple(_list_so_far(shown, scored=scored) for shown in whole.lists),
        raw_lists=tuple(_list_so_far(shown, scored=scored) for shown in whole.raw_lists),
        groups=tuple(_only(facts, group) for group in whole.groups),
        tests=_only(facts, whole.tests),
        test=whole.test and AcceptTest(whole.test.chance if scored else None, None, WAITING),
        draws=tuple(draw if draw[0] == "draft" else (draw[0], None, None) for draw in whole.draws),
    )


def _only(known: frozenset[str], facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts in their places, those that are not known without a number."""
    return tuple(fact if fact.name in known else replace(fact, value="", raw=" " if fact.raw else "") for fact in facts)


def _list_so_far(shown: TopList, *, scored: bool) -> TopList:
    if shown.title == RESIDUAL or (not scored and shown.title.endswith(P)):
        return TopList(shown.title, ())
    return replace(shown, marked=tuple(replace(mark, kind=WAITING) for mark in shown.marked))
