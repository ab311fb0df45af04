"""Why the output is p: one position, its accepted and its resampled mass, put together bar by bar."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from specviz.core.errors import SpecvizError
from specviz.core.rule import EXACT
from specviz.lab.lossless import IdMass, condense, id_masses, toy_id_masses
from specviz.lab.model import LabPoint, TestedPosition
from specviz.render.screen_text import literal
from specviz.ui.lab.keys import PAGE_KEYS, bindings
from specviz.ui.lab.mass_panel import STAGES, MassPanel
from specviz.ui.run.status_line import StatusField
from specviz.ui.widgets.bars import KeyBar, StatusLine


class LosslessScreen(Screen[None]):
    """Steps through a tested position of the run, or of a toy pair where there is none to show. Where the round of a
    position cannot be read back, what was shown stays and the title says so."""

    BINDINGS: ClassVar[list[BindingType]] = bindings(PAGE_KEYS)
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    LosslessScreen {
        layout: vertical; background: $background; color: $foreground;
        #mass-title { background: $panel; }
        #mass-keys { background: $panel; }
    }
    """

    def __init__(self, point: LabPoint | None, *, ascii: bool) -> None:
        super().__init__()
        self.point = point if point is not None and point.positions and point.rule.lossless else None
        self.place = self.point.at if self.point else 0
        self._lost = ""
        self._position = self._read(self.place)
        self.step = 0
        self._ran = point
        self._title = StatusLine(id="mass-title", ascii=ascii)
        self._mass = MassPanel(id="mass", ascii=ascii)
        self._keys = KeyBar(id="mass-keys", ascii=ascii)

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._mass
        yield self._keys

    def on_mount(self) -> None:
        self._update()

    @property
    def rows(self) -> tuple[IdMass, ...]:
        """The ids shown: all there are."""
        if self.point is None or self._position is None:
            return toy_id_masses()
        return condense(id_masses(self._position.drafted, self.point.rule), 13)

    def _read(self, place: int) -> TestedPosition | None:
        try:
            return self.point.positions[place] if self.point else None
        except SpecvizError as error:
            self._lost = literal(str(error))
            return None

    @property
    def last_step(self) -> int:
        """p and q, what is accepted, what is resampled, then a bar at a time."""
        return STAGES + len(self.rows) - 1

    def _update(self) -> None:
        title = [StatusField(("why lossless",), 0, "strong"), StatusField((self._where(),), 1, "quiet")]
        lost = [StatusField((self._lost, "that round cannot be read back"), 1, "error")] if self._lost else []
        self._title.show([*title, *lost])
        drafted = self._position.drafted.id if self._position else None
        self._mass.show(self.rows, self.step, drafted, self.point.rule if self.point and self._position else EXACT)
        can = {
            "step(1)": self.step < self.last_step,
            "step(-1)": self.step > 0,
            "place(1)": self.point is not None and self.place + 1 < len(self.point.positions),
            "place(-1)": self.point is not None and self.place > 0,
        }
        self._keys.show([(key, tuple(can.get(action, True) for action in key.actions)) for key in PAGE_KEYS])

    def _where(self) -> str:
        if self.point and self._position:
            at = f"round {self._position.round}, draft {self._position.row + 1}"
            return f"{at}   tested position {self.place + 1} of {len(self.point.positions)}"
        if self._lost:
            return "this is a toy pair"
        if self._ran is not None and not self._ran.rule.lossless:
            return f"the rule {self._ran.rule.name} does not keep p; this is a toy pair under the exact rule"
        if self._ran is not None:
            return "no token was tested up to this round: this is a toy pair of six ids"
        return "no run: this is a toy pair of six ids"

    def action_step(self, steps: int) -> None:
        self.step = max(0, min(self.step + steps, self.last_step))
        self._update()

    def action_place(self, steps: int) -> None:
        if self.point:
            place = max(0, min(self.place + steps, len(self.point.positions) - 1))
            self._lost = ""
            if position := self._read(place):
                self.place, self._position = place, position
                self.step = min(self.step, self.last_step)
            self._update()

    def action_back(self) -> None:
        self.dismiss()
