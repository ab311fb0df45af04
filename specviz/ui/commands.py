"""The command palette: every key of the table by name, and the prepared prompts."""

from collections.abc import Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rich.text import Text
from textual.command import DiscoveryHit, Hit, Hits, Provider

from specviz.render.screen_text import literal
from specviz.ui.shared.keys import EVERYWHERE, KEYS

if TYPE_CHECKING:
    from specviz.ui.app import SpecvizApp


class Command(NamedTuple):
    name: str
    action: str
    help: str


class KeyCommands(Provider):
    """Offers what can be done now; what cannot is left out."""

    @property
    def _app(self) -> "SpecvizApp":
        return cast("SpecvizApp", self.app)

    def _commands(self) -> Iterator[Command]:
        main = self._app.main
        for key in KEYS:
            if key.id not in (*EVERYWHERE, "prompt") and main.is_enabled(key.id):
                yield Command(f"{key.label}  {key.shown}", key.id, key.tooltip)
        if main.is_enabled("prompt(1)"):
            options = self._app.options
            what = "prompt" if options.live else "run"
            for number, name in enumerate(options.prepared[:9], start=1):
                yield Command(f"{what} {number}: {literal(name)}", f"prompt({number})", "")

    async def discover(self) -> Hits:
        for command in self._commands():
            yield DiscoveryHit(Text(command.name), self._run(command), text=command.name, help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self._commands():
            if (score := matcher.match(command.name)) > 0:
                yield Hit(score, Text(command.name), self._run(command), text=command.name, help=command.help)

    def _run(self, command: Command) -> "partial[Coroutine[Any, Any, bool]]":
        return partial(self._app.run_action, command.action, self._app.main)
