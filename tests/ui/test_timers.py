"""What is to be done a little later is done, however little later that is."""

from specviz.ui.shared.shell import later
from tests.ui.conftest import make_app, ready, until


async def test_it_comes_after_any_delay() -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        come: list[float] = []
        for delay in (0.0, 1e-12, 1e-9, 1e-6, 1e-4):
            later(app, delay, lambda delay=delay: come.append(delay))  # type: ignore[misc]
        await until(pilot, lambda: len(come) == 5, "all five")


async def test_it_can_be_prevented_and_its_errors_are_the_apps() -> None:
    app = make_app()
    come: list[int] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        later(app, 0.001, lambda: come.append(1)).cancel()
        later(app, 0.002, lambda: come.append(2))
        await until(pilot, lambda: come, "the second")
    assert come == [2]


async def test_what_has_gone_does_nothing_any_more() -> None:
    app = make_app()
    come: list[int] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        gone = app.main.plots
        later(gone, 0.001, lambda: come.append(1))
        await gone.remove()
        later(app, 0.002, lambda: come.append(2))
        await until(pilot, lambda: come, "the app's")
    assert come == [2]
