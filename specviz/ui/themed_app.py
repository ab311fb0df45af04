"""An app with themes from files: it reads and registers them, and reports bad files."""

from collections.abc import Sequence

from textual.app import App
from textual.filter import DimFilter, LineFilter, Monochrome, NoColor

from specviz.render.screen_text import literal, literal_lines
from specviz.theming import loader
from specviz.theming.loader import Themes
from specviz.theming.readability import NoColorFilter
from specviz.theming.theme_file import BadTheme

READING_TIME = 15
"""Seconds that the message about bad theme files stays on screen."""


class Themed(App[None]):
    """Call ``use_theme`` before the first frame and ``tell_bad_themes`` after it."""

    def __init__(self) -> None:
        super().__init__()
        self.themes = Themes({}, ())
        self._unknown_theme: str | None = None
        self._told: Sequence[BadTheme] = ()
        self._filters: list[LineFilter] = self._filters_that_know_the_terminals_colors()

    def _filters_that_know_the_terminals_colors(self) -> list[LineFilter]:
        """Textual's filters for NO_COLOR and dim text fail on the terminal's own colours: one blacks them out, the
        other raises. Text is dimmed without them."""
        kept = [each for each in self._filters if not isinstance(each, (DimFilter, Monochrome, NoColor))]
        return [*kept, NoColorFilter()] if self.no_color else kept

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(loader.variable_defaults())

    def use_theme(self, wanted: str | None) -> None:
        """Read the themes and apply one, or the default if none has that name."""
        named = self.read_themes().named
        self._unknown_theme = None if wanted in (None, *named) else wanted
        self.theme = wanted if wanted is not None and wanted in named else loader.DEFAULT

    def read_themes(self) -> Themes:
        """Read the files again. The current theme changes with its file, and stays if the file was removed."""
        known = self.themes.named
        self.themes = loader.load_themes()
        for name in known.keys() - self.themes.named.keys() - {self.theme}:
            self.unregister_theme(name)
        for theme in self.themes.named.values():
            self.register_theme(theme)
        if self.theme in known and known[self.theme] != self.current_theme:
            self.mutate_reactive(App.theme)
        return self.themes

    def tell_bad_themes(self) -> None:
        """Show one notification about all bad files, again only after they have changed."""
        if self.themes.bad and self.themes.bad != self._told:
            words = literal_lines(loader.describe_problems(self.themes.bad))
            self.notify(words, title="Themes skipped", severity="error", timeout=READING_TIME, markup=False)
        self._told = self.themes.bad
        if self._unknown_theme is not None:
            words = literal(f'No theme "{self._unknown_theme}": using "{self.theme}". `specviz themes` lists them.')
            self.notify(words, severity="error", markup=False)
            self._unknown_theme = None
