"""The rows of a round as cells: which columns fit, and their contents."""

from collections.abc import Iterator
from dataclasses import dataclass

from specviz.core.events import Drafted, Emitted, Round, Verdict
from specviz.core.rule import EXACT, rule_of
from specviz.core.safe_text import clip, visible, width
from specviz.render.cells import Part, accept_bar, fit
from specviz.render.explanations import PLAIN_REASONS, is_greedy, target_draw
from specviz.render.glyphs import Glyphs
from specviz.render.numbers import distinguishing_digits, prob, ratio
from specviz.render.phases import WAITING, RowStage, mark_of

NUMBER = 5
RATIO = 5
OVERLAP = 7
TEST = 11
MIN_TOKEN, MAX_TOKEN = 8, 20
MIN_BAR, MAX_BAR = 8, 20


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of each column, without the gap before it; 0: the column is dropped."""

    index: int
    token: int
    q: int
    p: int
    ratio: int
    overlap: int
    bar: int
    test: int

    @staticmethod
    def fitting(width: int, max_k: int) -> "Columns":
        """What fits ``width`` cells. Overlap goes first, then p/q, the bar, q and p; token and test stay."""
        index = len(str(max(1, max_k)))
        spare = width - (6 + index) - (1 + TEST) - MIN_TOKEN
        wanted = [("p", NUMBER + 1), ("q", NUMBER + 1), ("bar", MIN_BAR + 2), ("ratio", RATIO + 1)]
        sizes = {"q": 0, "p": 0, "bar": 0, "ratio": 0, "overlap": 0}
        for name, cells in [*wanted, ("overlap", OVERLAP + 2)]:
            if cells > spare:
                break
            sizes[name] = cells
            spare -= cells
        spare = max(0, spare)
        for_bar = min(spare - spare // 3, MAX_BAR - MIN_BAR) if sizes["bar"] else 0
        token = min(MIN_TOKEN + spare - for_bar, MAX_TOKEN)
        if not sizes["p"]:
            token = max(1, min(MIN_TOKEN, width - (6 + index) - (1 + TEST)))
        return Columns(
            index=index,
            token=token,
            q=NUMBER if sizes["q"] else 0,
            p=NUMBER if sizes["p"] else 0,
            ratio=RATIO if sizes["ratio"] else 0,
            overlap=OVERLAP if sizes["overlap"] else 0,
            bar=MIN_BAR + for_bar if sizes["bar"] else 0,
            test=TEST,
        )

    @property
    def numbers(self) -> int:
        """Cells of the columns q, p and p/q with their gaps."""
        return sum(cells + 1 for cells in (self.q, self.p, self.ratio) if cells)

    @property
    def before_test(self) -> int:
        """Cells between p and the bar, or the test without a bar."""
        return (self.ratio + 1 if self.ratio else 0) + (self.overlap + 2 if self.overlap else 0) + 1 + bool(self.bar)

    @property
    def after_p(self) -> int:
        """Cells from p to the end of the test."""
        return self.before_test + (self.bar + 1 if self.bar else 0) + self.test


class RoundTable:
    """Header and rows of one round, in named styles: "head", "text", "quiet", "strong" or a kind of token."""

    def __init__(self, columns: Columns, glyphs: Glyphs) -> None:
        self.columns = columns
        self.glyphs = glyphs

    def header(self, round: Round | None) -> list[Part]:
        columns, glyphs = self.columns, self.glyphs
        rule = EXACT if round is None else rule_of(round.settings.rule)
        raw = round is not None and is_greedy(round) and any(d.raw for d in round.drafted)
        q, p = ("raw q", "raw p") if raw else ("q", "p")
        text = " " * 2 + "i".rjust(columns.index + 1) + "   " + fit("token", columns.token)
        text += "".join(f" {name:>{cells}}" for name, cells in ((q, columns.q), (p, columns.p)) if cells)
        if columns.ratio:
            text += f" {'' if raw else 'p/q':>{columns.ratio}}"
        if columns.overlap:
            text += f"  {rule.overlap_name:>{columns.overlap}}"
        if columns.bar:
            text += "  accept if equal" if rule.test == "sample" else f"  {glyphs.full * 2} accept {glyphs.test} u"
        return [(text, "head")]

    def row(self, round: Round, row: int, chosen: bool, known: RowStage = "decided") -> list[Part]:
        """Row ``row`` of the table as far as it is known: a drafted token, or the round's last token at k."""
        if row >= round.k:
            return list(self._last(round, chosen))
        if known == "decided":
            return list(self._drafted(round, row, chosen))
        return list(self._waiting(round, row, chosen, known == "scored"))

    def empty(self, row: int) -> list[Part]:
        """A reserved row this round did not draft, or has not drafted yet."""
        return [(" " * 2 + str(row + 1).rjust(self.columns.index + 1), "faint")]

    def _lead(self, row: int | None, kind: str, chosen: bool, data: bytes | None) -> Iterator[Part]:
        glyphs, columns = self.glyphs, self.columns
        yield f" {glyphs.cursor if chosen else ' '}", "strong"
        quiet = "quiet" if kind in ("untested", "ignored") else "text"
        yield ("" if row is None else str(row + 1)).rjust(columns.index + 1), quiet
        yield f" {mark_of(kind, glyphs)} ", f"mark:{kind}"
        name = clip(visible(data, ascii=glyphs.ascii), columns.token, ascii=glyphs.ascii)
        yield name, kind
        yield " " * (columns.token - width(name)), quiet

    def _numbers(self, q: str, p: str, share: str) -> str:
        columns = self.columns
        pairs = ((q, columns.q), (p, columns.p), (share, columns.ratio))
        return "".join(f" {text:>{cells}}" for text, cells in pairs if cells)

    def _drafted(self, round: Round, row: int, chosen: bool) -> Iterator[Part]:
        drafted = round.drafted[row]
        quiet = "quiet" if drafted.verdict in ("untested", "ignored") else "text"
        yield from self._lead(row, drafted.verdict, chosen, drafted.bytes)
        yield from self._scores(round, drafted, quiet)
        yield from self._verdict(round, drafted)

    def _waiting(self, round: Round, row: int, chosen: bool, scored: bool) -> Iterator[Part]:
        """A token before its test: its q, and once it is scored p and the accept probability; no u, no verdict."""
        drafted = round.drafted[row]
        yield from self._lead(row, WAITING, chosen, drafted.bytes)
        if not scored:
            raw = drafted.raw if is_greedy(round) else None
            yield self._numbers(prob(raw.q if raw else drafted.q, none=self.glyphs.none), "", ""), "text"
            return
        yield from self._scores(round, drafted, "text")
        if drafted.accept_prob is not None and rule_of(round.settings.rule).test == "ratio" and not is_greedy(round):
            yield from self._chance(drafted.accept_prob)

    def _scores(self, round: Round, drafted: Drafted, style: str) -> Iterator[Part]:
        if is_greedy(round) and drafted.raw:
            yield self._numbers(prob(drafted.raw.q, none=self.glyphs.none), prob(drafted.raw.p), ""), style
        else:
            share = "" if is_greedy(round) else ratio(drafted.p, drafted.q, self.glyphs.none)
            yield self._numbers(prob(drafted.q), prob(drafted.p), share), style
        if self.columns.overlap:
            chance = rule_of(round.settings.rule).overlap_of(drafted)
            yield f"  {prob(chance, 2):>{self.columns.overlap}}", style

    def _verdict(self, round: Round, drafted: Drafted) -> Iterator[Part]:
        gap = "  " if self.columns.bar else " "
        rule = rule_of(round.settings.rule)
        if drafted.verdict in ("untested", "ignored"):
            yield f"{gap}{drafted.verdict}", f"mark:{drafted.verdict}"
        elif is_greedy(round):
            choice = "" if drafted.verdict == "accepted" or not drafted.p_top else self._short(drafted.p_top[0].bytes)
            yield f"{gap}greedy: {f'target {choice}' if choice else drafted.verdict}", f"mark:{drafted.verdict}"
        elif rule.test == "sample":
            yield f"{gap}{self._drew(round, drafted)}", f"mark:{drafted.verdict}"
        elif drafted.test is None or rule.test != "ratio":
            yield f"{gap}{drafted.verdict}", f"mark:{drafted.verdict}"
        else:
            yield from self._test(drafted.verdict, *drafted.test, gap)

    def _chance(self, chance: float) -> Iterator[Part]:
        """The bar of a test whose u is not drawn yet."""
        cells = self.columns.bar
        filled = round(chance * cells)
        yield "  ", "text"
        yield self.glyphs.full * filled, f"mark:{WAITING}"
        yield self.glyphs.rest * (cells - filled), "quiet"

    def _test(self, verdict: Verdict, u: float, chance: float, gap: str) -> Iterator[Part]:
        glyphs, cells = self.glyphs, self.columns.bar
        if cells:
            filled, mark = accept_bar(chance, u, cells)
            text = glyphs.full * filled + glyphs.rest * (cells - filled)
            yield gap, "text"
            for start, end in ((0, mark), (mark + 1, cells)):
                yield text[start : max(start, min(end, filled))], f"mark:{verdict}"
                yield text[max(start, filled) : end], "quiet"
                if start == 0:
                    yield glyphs.test, "strong"
        shown, limit = distinguishing_digits(u, chance, most=3)
        yield f" {shown} {'<' if u < chance else glyphs.at_least} {limit}", "text"

    def _last(self, round: Round, chosen: bool) -> Iterator[Part]:
        last, glyphs = round.correction, self.glyphs
        if last is None:
            yield f" {glyphs.cursor if chosen else ' '}", "strong"
            yield " " * (self.columns.index + 4) + "no further token: the text ended here", "quiet"
            return
        yield from self._lead(None, last.origin, chosen, last.bytes)
        raw = last.raw if is_greedy(round) else None
        columns = self.columns
        numbers = ((glyphs.none, columns.q), (prob(raw.p if raw else last.p), columns.p))
        yield "".join(f" {text:>{cells}}" for text, cells in numbers if cells), "text"
        origins = self._origins(round, last)
        origin = next((form for form in origins if len(form) < columns.after_p), origins[-1])
        yield " " * max(1, min(columns.before_test, columns.after_p - len(origin))) + origin, f"mark:{last.origin}"

    def _origins(self, round: Round, last: Emitted) -> tuple[str, str]:
        """Where the last token came from, at length and in short."""
        if last.origin == "resampled":
            how = f"residual {prob(last.residual, 2, self.glyphs.none)}"
            if is_greedy(round):
                how = "greedy"
            elif rule_of(round.settings.rule).test == "sample":
                how = "target's own draw"
            return f"replaces {round.n_accepted + 1}, {how}", how
        if last.origin == "bonus":
            return ("bonus from p" if round.k == 1 else f"bonus: all {round.k} accepted"), "bonus"
        return (f"plain: {PLAIN_REASONS[round.plain_reason]}" if round.plain_reason else "plain"), "plain"

    def _drew(self, round: Round, drafted: Drafted) -> str:
        """The test of the equality rule in the room there is for a test."""
        if drafted.target_sample is None:
            return drafted.verdict
        said = f"target drew {target_draw(round, drafted, self.glyphs)}"
        room = (self.columns.bar + 1 if self.columns.bar else 0) + self.columns.test
        return clip(said if width(said) <= room else said.removeprefix("target "), room, ascii=self.glyphs.ascii)

    def _short(self, data: bytes) -> str:
        return clip(visible(data, ascii=self.glyphs.ascii), 12, ascii=self.glyphs.ascii)
