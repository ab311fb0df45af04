"""Choosing a theme with a live preview."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from specviz.render.glyphs import TokenKind, glyphs
from specviz.theming.loader import Themes
from specviz.theming.theme_file import ThemeFile
from specviz.ui.dialogs.dialog import ModalDialog

SAMPLED: tuple[TokenKind, ...] = ("accepted", "rejected", "resampled", "bonus")
"""Kinds of tokens whose marks are shown next to a theme's name, in its colours."""


class ThemeScreen(ModalDialog[str]):
    """Previews the theme under the cursor. Enter keeps it and returns its name; escape restores the previous one. The
    dialog is at the right edge, so that the screen stays visible."""

    DEFAULT_CSS = """
    ThemeScreen {
        align: right top; background: transparent;
        & > .panel { width: 38; max-width: 100%; padding: 0 1; }
        OptionList, OptionList:focus {
            height: auto; max-height: 1fr; padding: 0; border: none; background: $surface; background-tint: transparent;
            text-wrap: nowrap; text-overflow: ellipsis;
            & > .option-list--option { padding: 0; }
        }
        Static { color: $secondary; margin: 1 0 0 0; }
        #left-out { color: $warning; text-style: bold; }
    }
    """
    BINDINGS = [("t", "next", "next theme"), ("q", "close", "close")]  # noqa: RUF012

    def __init__(self, themes: Themes, *, ascii: bool = False) -> None:
        super().__init__(ascii=ascii)
        self._themes = tuple(themes.named.values())
        self._left_out = len(themes.bad)
        self._glyphs = glyphs(ascii)

    def compose(self) -> ComposeResult:
        self._before = self.app.theme
        with Vertical(classes="panel") as panel:
            panel.border_title = Content("Theme")
            panel.border_subtitle = Content("enter: keep   esc: back")
            yield OptionList(*(Option(self._line(theme), id=theme.name) for theme in self._themes), compact=True)
            if self._left_out:
                files = f"{self._left_out} file{'s' if self._left_out > 1 else ''}"
                yield Static(Content(f"{files} skipped: see specviz themes"), id="left-out")

    def _line(self, theme: ThemeFile, *, chosen: bool = False) -> Content:
        """A theme's name with sample marks; those of an ANSI theme have the terminal's colours."""
        ground = "" if theme.ansi else f"on {theme.background}"
        colors = {kind: "" if theme.ansi else theme.variables[f"token-{kind}"] for kind in SAMPLED}
        signs = ((self._glyphs.mark(kind), f"{color} {ground}") for kind, color in colors.items())
        cursor = self._glyphs.cursor if chosen else " "
        owner = "" if theme.shipped else ", yours"
        return Content.assemble(f"{cursor} ", (" ", ground), *signs, (" ", ground), f" {theme.name}{owner}")

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        names = [theme.name for theme in self._themes]
        options.highlighted = names.index(self._before) if self._before in names else None
        options.focus()
        # Not its message, which may arrive after this dialog has closed.
        self.watch(options, "highlighted", self._put_on)

    def _put_on(self, chosen: int | None) -> None:
        options = self.query_one(OptionList)
        for index, theme in enumerate(self._themes):
            options.replace_option_prompt_at_index(index, self._line(theme, chosen=index == chosen))
        if chosen is not None:
            self.app.theme = self._themes[chosen].name

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)

    def action_next(self) -> None:
        self.query_one(OptionList).action_cursor_down()

    def action_close(self) -> None:
        self.app.theme = self._before
        super().action_close()
