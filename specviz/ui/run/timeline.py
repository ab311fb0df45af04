"""The rounds of a run and what is shown of them."""

from collections.abc import Callable

from specviz.core.errors import SpecvizError
from specviz.core.events import Calibration, End, Event, Failed, Header, Notice, Progress, Ready, Round, Settings
from specviz.render.explanations import default_row
from specviz.render.phases import Reveal, focus_row, phases, row_stage
from specviz.render.transcript import Transcript
from specviz.stats.draft_table import DraftTable
from specviz.stats.run_stats import LiveRates, RunStats, Series
from specviz.trace.round_store import RoundStore


class Timeline:
    """The rounds of one run, the round shown (0: before the first) and the token cursor's row in it. With ``follow`` a
    new round is shown as it arrives, unless an earlier one is shown. A round may be shown up to one of its phases;
    until it is complete, the numbers are those of the round before. ``store`` returns the store for the rounds of a
    run, when its header arrives."""

    def __init__(
        self, *, follow: bool = True, store: Callable[[], RoundStore] = RoundStore, ascii: bool = False
    ) -> None:
        self.follow = follow
        self._ascii = ascii
        self._store = store
        self.progress: Progress | None = None
        self.notices: list[Notice] = []
        self.max_k = 0
        self.clear()

    def clear(self, *, same: bool = True) -> None:
        """Forget the run, except notices about the pair and, if the ``same`` recording follows, its largest K."""
        if not same:
            self.max_k = 0
        if self._reading:
            self.progress = None
        self.header: Header | None = None
        self.ready = False
        self.rounds = RoundStore()
        self.drafts = DraftTable()
        self.transcript: Transcript | None = None
        self.end: End | None = None
        self.failed: Failed | None = None
        self.stats = RunStats()
        self.shown = 0
        self.round: Round | None = None
        self.row = 0
        self.reveal: Reveal | None = None

    def add(self, event: Event) -> None:
        match event:
            case Calibration():
                self._end_progress()
                self.stats.add(event)
            case Progress():
                self.progress = event
            case Notice():
                self.notices.append(event)
            case Header():
                self.header = event
                self.rounds = self._store()
                self.transcript = Transcript(event.prompt, event.special_ids, self.rounds, ascii=self._ascii)
                self.stats.add(event)
            case Ready():
                self.ready = True
                self._end_progress()
            case Round():
                self._add_round(event)
            case End():
                self._end_progress()
                self.end = event
                self.stats.add(event)
                if self.transcript:
                    self.transcript.finish()
            case Failed():
                self._end_progress()
                self.failed = event

    def _end_progress(self) -> None:
        if not self._reading:
            self.progress = None

    def _add_round(self, round: Round) -> None:
        follows = self.follow and self.at_end and self.reveal is None
        try:
            self.stats.add(round)
        except ValueError as error:
            self.failed = Failed(f"Round {round.index} cannot be shown: {error}")
            return
        self.rounds.append(round, self.total - 1)
        self.drafts.add(round)
        if self.transcript:
            self.transcript.append(round)
        self.max_k = max(self.max_k, round.k, round.settings.k)
        if follows:
            self.show(self.total)

    @property
    def total(self) -> int:
        """How many rounds have arrived; the shared store may have more already."""
        return self.stats.rounds

    @property
    def expected_rounds(self) -> int | None:
        """The likely number of rounds of a long recording while it is being read."""
        return max(self.progress.total or 0, self.total) if self._reading and self.progress and not self.over else None

    @property
    def timing(self) -> bool:
        """Whether the models are being timed between two rounds."""
        return self.ready and self.progress is not None and self.progress.stage == "calibrating"

    @property
    def _reading(self) -> bool:
        return self.progress is not None and self.progress.stage == "recording"

    @property
    def at_end(self) -> bool:
        return self.shown == self.total

    @property
    def over(self) -> bool:
        """Whether no further round can arrive."""
        return self.end is not None or self.failed is not None

    @property
    def settings(self) -> Settings | None:
        return self.round.settings if self.round else None

    @property
    def last_complete(self) -> int:
        """The last round that is shown to its end."""
        return self.shown - (self.reveal is not None)

    @property
    def rates(self) -> LiveRates:
        return self.stats.segment_rates_fast(self.last_complete)

    @property
    def series(self) -> Series:
        return self.stats.series(self.last_complete)

    @property
    def permanent(self) -> tuple[str, ...]:
        return tuple(notice.message for notice in self.notices if notice.permanent)

    def show(self, index: int, row: int | None = None) -> bool:
        """Show a round by its 1-based index, clamped to the rounds available, with the cursor on ``row``. Moving to
        another row of the same round keeps its phase. False: the round cannot be read back, and nothing changes."""
        index = max(0, min(index, self.total))
        if index != self.shown:
            try:
                self.round = self.rounds[index - 1] if index else None
            except SpecvizError:
                return False
        if index != self.shown or row is None:
            self.reveal = None
        self.shown = index
        if self.round is None:
            self.row = 0
        elif row is None:
            self.row = default_row(self.round)
        else:
            self.row = max(0, min(row, self.round.n_rows - 1))
        return True

    def show_phase(self, index: int, phase: int) -> bool:
        """Show a round up to phase ``phase`` (0-based), the cursor on the row the phase is about; False as for
        ``show``."""
        if not self.show(index):
            return False
        if self.round is None:
            return True
        reveals = phases(self.round)
        if phase < len(reveals) - 1:
            self.reveal = reveals[phase]
            self.row = focus_row(self.round, self.reveal)
        return True

    @property
    def phase(self) -> tuple[int, int]:
        """(0-based phase the round is shown up to, number of its phases)."""
        reveals = phases(self.round) if self.round else ()
        return reveals.index(self.reveal) if self.reveal else len(reveals) - 1, len(reveals)

    def neighbour(self, step: int) -> tuple[int, int] | None:
        """(round, row) of the token before (-1) or after (1) the cursor, across recorded rounds."""
        if self.round is None:
            return (1, 0) if step > 0 and self.rounds else None
        row = self.row + step
        if 0 <= row < self.round.n_rows:
            return None if row_stage(self.round, self.reveal, row) == "hidden" else (self.shown, row)
        index = self.shown + step
        if not 1 <= index <= self.total:
            return None
        return index, (0 if step > 0 else self._last_row(index))

    def _last_row(self, index: int) -> int:
        """Computed without reading the round back."""
        counts = self.stats.round_counts[index - 1]
        return int(counts["k"]) + bool(counts["uncut"]) - 1
