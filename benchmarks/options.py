"""The command line of a benchmark: its docstring, and the options that benchmarks share."""

import argparse

HELP = {
    "k": "drafted tokens per round",
    "tokens": "new tokens per run",
    "repeats": "repeats; medians are printed",
    "temperature": "sampling temperature, 0 for greedy",
    "dtype": "dtype of both models",
    "device": "device of both models",
    "columns": "width of the terminal",
    "lines": "height of the terminal",
    "inspect": "record ranks, entropies and top lists too",
    "wall": "wall-clock time instead of process time",
}


def parser(doc: str | None, **defaults: int | float | str) -> argparse.ArgumentParser:
    """A parser that prints ``doc`` as it is, with the shared options named in ``defaults``; False makes a switch."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        if default is False:
            made.add_argument(f"--{name}", action="store_true", help=HELP[name])
        else:
            made.add_argument(f"--{name}", type=type(default), default=default, help=f"{HELP[name]} ({default})")
    return made
