"""The positions of a round's chips: the largest form that fits, the same for every round."""

from dataclasses import dataclass

MAX_CELLS = 28
"""Largest width of a chip."""
SMALLEST_BOX = 3
"""Lines; a drop of more begins with an empty one."""


@dataclass(frozen=True, slots=True)
class ChipForm:
    """How a place is built, in lines from above: the token's box, its test as a bar, its verdict, what takes its place.
    ``sign`` 0: the verdict is in the box. ``least``: cells of a chip below which the form is too narrow; ``gap`` and
    ``apart``: cells between chips and lines between rows of chips."""

    box: int
    bar: int
    sign: int
    drop: int
    least: int
    gap: int
    apart: int

    @property
    def last_box(self) -> int:
        """Lines of the last token's box; 1: it has none."""
        return max(1, self.drop - (self.drop > SMALLEST_BOX))

    @property
    def height(self) -> int:
        return self.box + self.bar + self.sign + self.drop


CHIP_FORMS = (
    ChipForm(box=7, bar=2, sign=4, drop=6, least=15, gap=3, apart=2),
    ChipForm(box=5, bar=2, sign=4, drop=4, least=13, gap=3, apart=2),
    ChipForm(box=3, bar=1, sign=1, drop=3, least=11, gap=2, apart=1),
    ChipForm(box=3, bar=0, sign=0, drop=1, least=10, gap=1, apart=0),
    ChipForm(box=1, bar=0, sign=0, drop=1, least=9, gap=1, apart=0),
    ChipForm(box=1, bar=0, sign=0, drop=0, least=9, gap=1, apart=0),
)
"""From the largest to the smallest; in the last one nothing is below a token, and its replacement covers it."""


@dataclass(frozen=True, slots=True)
class ChipGrid:
    """``rows`` of ``columns`` places, each ``cells`` wide."""

    form: ChipForm
    columns: int
    rows: int
    cells: int

    @property
    def height(self) -> int:
        return self.rows * self.form.height + (self.rows - 1) * self.form.apart

    @property
    def width(self) -> int:
        return self.columns * self.cells + (self.columns - 1) * self.form.gap


def grid(places: int, width: int, height: int) -> ChipGrid:
    """The grid of the largest form in which ``places`` chips fit into ``width`` cells and ``height`` lines. Where none
    fits the smallest form is given, higher than ``height``."""
    for form in CHIP_FORMS:
        made = _grid(places, width, form)
        if made.height <= height and made.cells >= form.least:
            return made
    return made


def _grid(places: int, width: int, form: ChipForm) -> ChipGrid:
    most = max(1, (width + form.gap) // (form.least + form.gap))
    rows = -(-places // most)
    columns = -(-places // rows)
    cells = (width - form.gap * (columns - 1)) // columns
    return ChipGrid(form, columns, rows, max(1, min(MAX_CELLS, cells)))
