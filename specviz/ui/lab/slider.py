"""A slider in one line; the mouse is handled here, keys by the screen."""

from textual import events
from textual.message import Message
from textual.strip import Strip

from specviz.render.cells import Part, fit
from specviz.ui.widgets.cell_widget import CellWidget

_LABEL, _VALUE, _NOTE = 8, 5, 26
_MIN_TRACK = 10
_KNOB, _ASCII_KNOB = "█", "#"


class Slider(CellWidget):
    """Shows a value; a press on the track, a drag or the wheel posts the requested one."""

    PREFIX = "slider"
    DEFAULT_CSS = """
    Slider { height: 1; padding: 0 1; }
    Slider > .slider--label { color: $foreground; }
    Slider > .slider--on { color: $accent; text-style: bold; }
    Slider > .slider--track { color: $border; }
    Slider > .slider--done { color: $secondary; }
    Slider > .slider--knob { color: $accent; text-style: bold; }
    Slider > .slider--measured { color: $plot-measured; text-style: bold; }
    Slider > .slider--note { color: $secondary; }
    """

    class Slid(Message):
        """``share`` (0 to 1) of the way was pointed at."""

        def __init__(self, slider: "Slider", share: float) -> None:
            super().__init__()
            self.slider = slider
            self.share = share

        @property
        def control(self) -> "Slider":
            return self.slider

    class Nudged(Message):
        """The wheel was turned by ``steps``."""

        def __init__(self, slider: "Slider", steps: int) -> None:
            super().__init__()
            self.slider = slider
            self.steps = steps

        @property
        def control(self) -> "Slider":
            return self.slider

    def __init__(self, label: str, *, id: str, ascii: bool = False) -> None:
        super().__init__(id=id, ascii=ascii)
        self._label = label
        self._shown: tuple[float, str, float | None, str, bool] = (0.0, "", None, "", False)
        self._dragged = False

    def show(self, share: float, value: str, *, measured: float | None, note: str, selected: bool) -> None:
        """``share`` and ``measured`` say how far along the knob and the mark of the measured value are."""
        shown = (share, value, measured, note, selected)
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        return self.strip(self._parts(width), width)

    def _parts(self, width: int) -> list[Part]:
        share, value, measured, note, selected = self._shown
        signs, track = self._glyphs, self._track(width)
        mark = signs.cursor if selected else " "
        name = "on" if selected else "label"
        parts: list[Part] = [(fit(f"{mark} {self._label}", _LABEL), name), (fit(value, _VALUE, right=True) + " ", name)]
        knob = round(share * (track - 1))
        line = "-" if signs.ascii else signs.line
        cells: list[Part] = [(line, "done" if x < knob else "track") for x in range(track)]
        if measured is not None:
            cells[round(measured * (track - 1))] = (signs.test, "measured")
        if track:
            cells[knob] = (_ASCII_KNOB if signs.ascii else _KNOB, "knob")
        parts += cells
        if width - _LABEL - _VALUE - 1 - track > 1:
            parts.append(("  " + fit(note, _NOTE, ascii=signs.ascii), "note"))
        return parts

    def _track(self, width: int) -> int:
        room = width - _LABEL - _VALUE - 1
        with_note = room - _NOTE - 2
        return max(0, with_note if with_note >= _MIN_TRACK else room)

    # -- the mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if not 0 <= self._cell(event) < self._track(self.content_size.width):
            return
        self._dragged = True
        self.capture_mouse()
        self._point(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged:
            self._point(event)

    def on_mouse_up(self) -> None:
        self._dragged = False
        self.release_mouse()

    def on_mouse_scroll_up(self) -> None:
        self.post_message(self.Nudged(self, 1))

    def on_mouse_scroll_down(self) -> None:
        self.post_message(self.Nudged(self, -1))

    def _point(self, event: events.MouseEvent) -> None:
        track = self._track(self.content_size.width)
        if track > 1:
            self.post_message(self.Slid(self, max(0.0, min(1.0, self._cell(event) / (track - 1)))))

    def _cell(self, event: events.MouseEvent) -> int:
        """Of the track, which the pointer may be left or right of."""
        return event.x - self.gutter.left - _LABEL - _VALUE - 1
