"""Draws docs/app.svg, the picture in the README: python docs/picture.py"""

import asyncio
from pathlib import Path

from specviz.core.events import Settings
from specviz.core.options import PREPARED_PROMPTS, PairOptions, RunOptions, RunRequest
from specviz.decoder.source import LiveSource
from specviz.ui.app import SpecvizApp
from specviz.ui.shared.app_options import AppOptions
from specviz.ui.shared.screenshot import Picture

ROUNDS = 40
REQUEST = RunRequest(PREPARED_PROMPTS[0][1], 0, Settings())
OPTIONS = AppOptions(REQUEST, prompts=PREPARED_PROMPTS, pace=0.0, paused=True)


async def main() -> None:
    source = LiveSource(RunOptions(PairOptions(), Settings()))
    app = SpecvizApp(source, OPTIONS)
    async with app.run_test(size=(120, 36)) as pilot:
        while not app.timeline.ready:
            await pilot.pause(0.1)
        for index in range(1, ROUNDS + 1):
            await pilot.press("n")
            while app.timeline.total < index:
                await pilot.pause(0.05)
        while not (app.timeline.round and app.timeline.round.n_accepted >= 2 and app.timeline.round.n_rejected):
            await pilot.press("p")
            await pilot.pause(0.05)
        await pilot.pause(1.0)
        Path(__file__).with_name("app.svg").write_text(Picture.of(app).svg, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
