"""A download on the loading screen: bytes, rate and time left from the events and a clock."""

import pytest

from specviz.core.events import Progress
from specviz.core.units import bytes_in_words, seconds_in_words
from specviz.render.download_rate import DownloadRate
from specviz.ui.widgets.bars import LoadingPanel
from tests.ui.conftest import Script, make_app, until
from tests.ui.test_shell_run import on_screen

GB = 10**9
FILE = "model-00002-of-00002.safetensors (2 of 2)"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def seen(*steps: tuple[float, int], total: int = 3 * GB) -> DownloadRate:
    """A transfer that was told of (second, bytes done) each."""
    clock = Clock()
    transfer = DownloadRate(clock)
    for second, done in steps:
        clock.now = 100.0 + second
        transfer.see(Progress("target", done, total, "bytes", FILE))
    return transfer


def test_rate_and_time_left() -> None:
    transfer = seen((0, 0), (1, 5_000_000), (2, 10_000_000))
    assert transfer.rate == 5_000_000
    assert transfer.words() == f"5.0 MB/s, 10 min left, {FILE}"


def test_the_rate_is_that_of_the_last_seconds() -> None:
    steps = [(second, 1_000_000 * second) for second in range(20)]
    slower = [(20 + second, 19_000_000 + 100_000 * second) for second in range(1, 12)]
    assert seen(*steps, *slower).rate == pytest.approx(100_000)


def test_what_is_not_known_is_not_said() -> None:
    assert seen((0, 0)).words() == FILE
    assert seen((0, 0), (0.1, 5_000_000)).words() == FILE
    assert seen((0, GB), (5, GB)).words() == FILE
    assert seen((0, 0), (5, 3 * GB)).words() == FILE
    assert DownloadRate().words() == ""


def test_another_stage_and_a_fresh_start_begin_the_rate_anew() -> None:
    clock = Clock()
    transfer = DownloadRate(clock)
    for second, progress in enumerate(
        (
            Progress("draft", 0, GB, "bytes"),
            Progress("draft", GB, GB, "bytes"),
            Progress("target", 10, GB, "bytes"),
            Progress("target", 1010, GB, "bytes"),
        )
    ):
        clock.now = 100.0 + second
        transfer.see(progress)
    assert transfer.rate == 1000
    clock.now += 1
    transfer.see(Progress("target", 5, GB, "bytes"))
    assert transfer.rate is None


def test_a_screen_drawn_again_is_no_news() -> None:
    clock = Clock()
    transfer = DownloadRate(clock)
    progress = Progress("draft", 0, GB, "bytes")
    transfer.see(progress)
    clock.now += 5
    transfer.see(progress)
    clock.now += 5
    transfer.see(Progress("draft", 1000, GB, "bytes"))
    assert transfer.rate == 100


@pytest.mark.parametrize(
    ("n", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (548_105_171, "548 MB"), (3_087_467_144, "3.1 GB")],
)
def test_bytes_in_words(n: int, words: str) -> None:
    assert bytes_in_words(n) == words


@pytest.mark.parametrize(("s", "words"), [(0.4, "0 s"), (59.4, "59 s"), (90, "2 min"), (7500, "2 h 05 min")])
def test_seconds_in_words(s: float, words: str) -> None:
    assert seconds_in_words(s) == words


@pytest.mark.parametrize("ascii", [False, True])
async def test_the_loading_screen_tells_of_a_download(ascii: bool) -> None:
    progress = Progress("target", 1_200_000_000, 3_087_467_144, "bytes", FILE)
    script = Script(opening=(Progress("files", detail="gpt2"), Progress("import"), progress))
    script.loading.clear()
    app = make_app(script, ascii=ascii)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.timeline.progress == progress and "GB" in on_screen(app))
        shown = on_screen(app)
        assert "1.2 GB of 3.1 GB" in shown and FILE in shown
        assert ("v model files" if ascii else "✓ model files") in shown
        assert app.main.query_one(LoadingPanel).display
        script.loading.set()
