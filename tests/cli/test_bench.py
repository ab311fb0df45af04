"""`specviz bench` through the command line."""

import io
import json
import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from rich.cells import cell_len

from specviz.bench.plan import Task
from specviz.bench.report import report
from specviz.bench.samples import Spread
from specviz.cli.commands.bench.command import BENCH_OPTIONS, DrafterVariants, read_prompts, with_prompts
from specviz.cli.commands.bench.tables import factor_rows, heading, measured_rows, speedup_rows, stacked
from specviz.cli.main import main
from specviz.cli.shared.run_options import RUN_OPTIONS
from specviz.core.events import Settings
from specviz.core.options import PairOptions, RunOptions
from specviz.decoder.measuring.runner import Bench, Measured
from tests.bench.test_report import PLAN, one_repeat
from tests.decoder.models import Shelf, text_of, words

TINY = "--k", "1,2", "--repeats", "1", "--max-new-tokens", "16"


@pytest.fixture
def two_prompts(tmp_path: Path) -> str:
    path = tmp_path / "prompts.txt"
    path.write_text("Once upon a time there was a king who\n\nROMEO:\\nMy lord, \n")
    return str(path)


@pytest.fixture
def tiny(shelf: Shelf) -> list[str]:
    return ["--draft", shelf.noisy(1, 0.3), "--target", shelf.random(1), "--prompt", text_of([1, 2, 3])]


def test_the_bundled_pair_in_json(two_prompts: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--json", "--prompts", two_prompts, *TINY]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    told = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert (told["predicting"], told["measuring"], told["repeats"]) == ([1, 1], [2, 2], 1)
    assert told["config"]["k"] == [1, 2] and told["config"]["max_new_tokens"] == 16
    assert told["calibration"]["c"]["median"] > 1
    assert told["target"]["tokens_per_round"]["median"] == 1
    assert [row["k"] for row in told["k"]] == [1, 2]
    for row in told["k"]:
        measured = row["speedup"]["measured"]["median"]
        assert 0 < measured < 3
        own = told["target"]["token_ms"]["median"] / row["measuring"]["token_ms"]["median"]
        assert measured == pytest.approx(own)
        for name in ("model", "measured_cost"):
            predicted = row["speedup"][name]
            assert predicted["off"] == pytest.approx(predicted["speedup"] / measured)
            assert math.prod(predicted["factors"].values()) == pytest.approx(predicted["off"])
            assert (predicted["why"] is None) == (abs(predicted["off"] - 1) <= 0.15)
    (best,) = told["best_k"]
    for name in ("measured", "measured_cost"):
        speedups = [row["speedup"][name] for row in told["k"]]
        assert best[name]["speedup"] == max(1, *(each.get("median", each.get("speedup")) for each in speedups))
    for cost in (told["target_cost"], *(row["cost"] for row in told["k"])):
        round_, forwards = cost["round_ms"]["median"], cost["forwards_ms"]["median"]
        assert cost["outside"]["median"] == pytest.approx(1 - forwards / round_)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_tables_fit_the_terminal(
    columns: int, tiny: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["bench", *tiny, "--k", "1..8", "--repeats", "2", "--max-new-tokens", "16", "--plot"]) == 0
    out = capfd.readouterr().out
    assert max(cell_len(line) for line in out.splitlines()) <= columns
    assert "…" not in out and "\x1b" not in out
    assert "α: acceptance differs" in out or "Predicted / measured" not in out
    assert "1 prompt × 16 tokens × 2 repeats, interleaved. Predicted and measured on the same" in " ".join(out.split())
    assert re.search(r"^K 8 +\d", out, re.MULTILINE) and re.search(r"^8 +\d", out, re.MULTILINE)
    assert "× the target alone." in " ".join(out.split())
    assert re.search(r"^model +(≥ )?\d+ \(\d\.\d\d×\) .+ \.\d{3} +\d+\.\d\d$", out, re.MULTILINE), "best K"
    _, _, drawn = out.partition("speedup over K")
    assert re.search(r"^    ? ?0 +1 +2 +3 +4 +5 +6 +7 +8$", drawn, re.MULTILINE)
    assert sum(line.count("o") for line in drawn.split("  o  measured")[0].splitlines()[1:]) == 8, "a mark a K"


def test_c81_a_legacy_encoding_shows_every_figure(tiny: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    streams = {name: io.TextIOWrapper(io.BytesIO(), "cp1252", "strict") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    assert main(["bench", *tiny, "--k", "8", "--repeats", "2", "--plot"]) == 0
    streams["stdout"].seek(0)
    out = streams["stdout"].read()
    assert out.isascii() and "?" not in out
    assert re.search(r"^K 8( +\d*\.?\d+){7}$", out, re.MULTILINE), out


def test_rows_by_hand() -> None:
    done = report(PLAN, one_repeat())
    target, draft, two = measured_rows(done)
    assert target == ["target", "80", "–", "12.0", "0.50", "–", "–", "1.00"]
    assert draft == ["draft", "200", "–", "4.0", "1.00", "–", "–", "1.00"]
    assert two == ["K 2", "80", "4.00", "15.0", "2.00", ".800", ".750", "2.00"]
    reason = "model: drafting 2 tokens took 2.00 × 2 calibrated steps (×1.29)"
    assert speedup_rows(done) == [["2", "1.00", "1.25", "+25 %", "0.97", "-3 %", reason]]
    factors = ["0.72", "1.00", "1.22", "1.29", "1.28", "1.09", "0.80", "1.00", "1.00"]
    assert factor_rows(done) == [["K 2 model", "1.25", *factors]]


@pytest.mark.parametrize("columns", [80, 120])
def test_drafters_side_by_side(
    columns: int, shelf: Shelf, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    target = shelf.random(2, layers=3, vocab=24)
    common = ["--target", target, "--prompt", text_of([3, 5, 8, 3, 5]), "--max-new-tokens", "16", "--repeats", "2"]
    assert main(["bench", *common, "--drafter", "ngram,layers:1,layers:2", "--k", "2,8"]) == 0
    out = capfd.readouterr().out
    assert max(cell_len(line) for line in out.splitlines()) <= columns and "…" not in out
    first = " ".join(out.split())
    assert first.startswith("ngram, layers:1, layers:2 > ") and " > None" not in first
    assert re.search(r"^layers:2 K 8( +\.\d\d| +1\.00| +–){4}", out, re.MULTILINE)
    assert re.search(r"^ngram K 8 .* – +\d+/\d+ ", out, re.MULTILINE), "no c, and its plain rounds counted"
    for line in out.splitlines():
        if line.startswith(("K 2 ", "K 8 ", "target")):
            assert not re.search(r"–\d*\.?$", line), "no figure is cut off"


def test_drafters_in_json(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    target = shelf.random(2, layers=3, vocab=24)
    common = ["--target", target, "--prompt", text_of([3, 5, 8, 3, 5]), "--max-new-tokens", "16", "--repeats", "1"]
    assert main(["bench", *common, "--drafter", "layers,ngram", "--k", "2", "--json", "--rule", "equality"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert [row["drafter"] for row in told["k"]] == ["layers:1", "ngram"]
    assert told["config"]["rule"] == "equality" and told["draft"]["token_ms"] is None
    assert told["calibration"]["drafters"]["layers:1"]["c"]["median"] > 0


def test_the_equality_rules_rate_is_called_match(tiny: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *tiny, *TINY, "--rule", "equality"]) == 0
    out = capfd.readouterr().out
    assert re.search(r"tested +match +/round", out) and "overlap" not in out


@pytest.mark.parametrize(
    ("text", "drafters"),
    [
        ("model", ["model"]),
        ("model,ngram,layers", ["model", "ngram", "layers"]),
        ("layers:1,layers:2,layers:1", ["layers:1", "layers:2"]),
        ("ngram,ngram", ["ngram"]),
    ],
)
def test_lists_of_drafters(text: str, drafters: list[str]) -> None:
    assert list(map(str, DrafterVariants().convert(text, None, None))) == drafters


@pytest.mark.parametrize(
    "text", ["", "copy", "model,", "layers:0", "layers:", "ngram:2", "model ngram", "layers:99999"]
)
def test_what_is_no_list_of_drafters_is_refused_in_words(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not a list of model, ngram, layers or layers:N"):
        DrafterVariants().convert(text, None, None)


def test_a_slowdown_is_named() -> None:
    done = report(PLAN, one_repeat())
    slow = replace(done.rows[0], speedup=Spread(0.8, 0.7, 0.9))
    assert speedup_rows(replace(done, rows=(slow,)))[0][-1].startswith("slower than the target alone\n")


def test_names_of_models_cannot_write_to_the_terminal() -> None:
    config = {"draft": "\x1b[31mbad", "target": "[b]", "device": "cuda:0", "dtype": "float32", "threads": 1}
    first = heading(
        report(PLAN, one_repeat()),
        {**config, "draft_device": "cpu", "temperature": 1.0, "seed": 0, "max_new_tokens": 4},
    )[0]
    assert "\x1b" not in first and "> [b] · cuda:0 float32 · 1 thread · draft cpu · T 1.00 · seed 0" in first


def test_cells_of_a_column_share_their_decimals() -> None:
    column = [Spread(9.0, 8.0, 9.5), None, Spread(0.126, 0.1, 0.2)]
    assert stacked(column) == ["9.00\n8.00–9.50", "–", "0.13\n0.10–0.20"]
    assert stacked([Spread(9.0, 8.0, 10.5), Spread(1.0, 1.0, 1.0)], quartiles=False) == ["9.0", "1.0"]
    assert stacked([Spread(1.0, 0.5, 1.0)], is_rate=True) == ["1.000\n.500–1.000"]


def test_prompts_are_lines_with_escapes() -> None:
    assert read_prompts('a\\nb\n\n  \nsay \\"c:\\\\new\\" \r\n\\t\\d') == ("a\nb", 'say \\"c:\\new\\" ', "\t\\d")


def test_the_mark_before_a_file_of_prompts_is_no_part_of_one(tmp_path: Path) -> None:
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfOnce\nTwice\n")
    options = with_prompts(RunOptions(PairOptions(), Settings()), str(tmp_path / "marked"), one_given=False)
    assert [text for _, text in options.prompts] == ["Once", "Twice"]


def test_prompts_come_from_standard_input(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Once\nup\\non\n"), "utf-8"))
    options = with_prompts(RunOptions(PairOptions(), Settings()), "-", one_given=False)
    assert [text for _, text in options.prompts] == ["Once", "up\non"]
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xe9"), "utf-8"))
    with pytest.raises(click.UsageError, match="--prompts - is not UTF-8"):
        with_prompts(RunOptions(PairOptions(), Settings()), "-", one_given=False)


def test_twenty_prompts_come_with_specviz() -> None:
    options = with_prompts(RunOptions(PairOptions(), Settings()), None, one_given=False)
    texts = [text for _, text in options.prompts]
    assert len(texts) == len(set(texts)) == 20
    assert all(text.isascii() and text == text.rstrip(" ") for text in texts)
    halves = texts[:10], texts[10:]
    for half in halves:  # as many of each kind in the half that predicts as in the other
        assert sum("def " in text or "class " in text for text in half) == 2
        assert sum(bool(re.match("[A-Z ]+:\n", text)) for text in half) == 2


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("--k", "0"), "--k"),
        (("--k", "1..33"), "--k"),
        (("--repeats", "0"), "--repeats"),
        (("--record", "x.jsonl"), "--record"),
        (("--plot", "--json"), "--plot and --json cannot be combined"),
        (("--prompts", "no such file"), "no such file"),
        (("--prompts", "{empty}"), "contains no prompts"),
        (("--prompts", "{latin}"), "not UTF-8"),
        (("--prompts", "{latin}", "--prompt", "x"), "--prompts"),
        (("--prompt", "x", "--prompt", "y"), "takes one"),
        (("--drafter", "model,copy"), "--drafter"),
        (("--drafter", "ngram,model", "--target", "x"), "--draft"),
    ],
)
def test_usage_errors(args: tuple[str, ...], named: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_text("\n \n")
    (tmp_path / "latin").write_bytes(b"\xe9")
    assert main(["bench", *(arg.format(empty=tmp_path / "empty", latin=tmp_path / "latin") for arg in args)]) == 2
    err = capfd.readouterr().err
    assert named in err and "Traceback" not in err and len(err.splitlines()) <= 3


def test_every_option_of_a_run_but_three_is_taken_and_none_twice() -> None:
    def names(options: list[Any]) -> list[str]:
        made: list[click.Parameter] = [option(lambda: None).__click_params__[0] for option in options]
        return [name for param in made for name in param.opts]

    mine = names(BENCH_OPTIONS)
    assert len(mine) == len(set(mine))
    assert set(names(RUN_OPTIONS)) - set(mine) == {"--record"}
    assert set(mine) - set(names(RUN_OPTIONS)) == {"--repeats", "--prompts", "--plot", "--json", "--baseline"}


def test_an_interruption_ends_with_what_is_complete(
    tiny: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Bench.measure

    def stopped_in(repeat: int) -> None:
        def measure(self: Bench, tasks: Iterable[Task], forward_only_tasks: Collection[Task]) -> Iterator[Measured]:
            for measured in real(self, tasks, forward_only_tasks):
                if measured.task.repeat == repeat:
                    raise KeyboardInterrupt
                yield measured

        monkeypatch.setattr(Bench, "measure", measure)

    stopped_in(2)
    args = ["bench", *tiny, "--json", "--k", "2", "--repeats", "4", "--max-new-tokens", "8"]
    assert main(args) == 130
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert (told["repeats"], told["config"]["repeats"], told["complete"]) == (2, 4, False)
    assert err.endswith("\nStopped: 2 of 4 repeats complete.\n")
    stopped_in(0)
    assert main(args) == 130
    out, err = capfd.readouterr()
    assert out == "" and err.endswith("\nStopped: 0 of 4 repeats complete, nothing to show.\n")


def test_without_calibration_predictions_are_dashes(tiny: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *tiny, *TINY, "--calibrate", "0"]) == 0
    out = capfd.readouterr().out
    assert "T_p – · T_q – · c –" in out
    words = " ".join(out.split())
    assert re.search(r"A plain token takes \d+\.\d\d ms\. With specviz inspecting every round, it takes", words)
    assert re.search(r"^2 +\d\.\d\d +– +– +– +–", out, re.MULTILINE)


def test_the_baseline_stands_beside_it(two_prompts: str, capfd: pytest.CaptureFixture[str]) -> None:
    asked = [
        "bench",
        "--json",
        "--prompts",
        two_prompts,
        *TINY,
        "--temperature",
        "0",
        "--baseline",
        "hf",
        "--no-inspect",
    ]
    assert main(asked) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["config"]["inspect"] is False
    assert told["target_cost"]["outside"] is None, "the share is the baseline's"
    assert (told["baseline"]["engine"], [row["k"] for row in told["baseline"]["k"]]) == ("hf", [1, 2])
    assert told["baseline"]["version"] == told["config"]["versions"]["transformers"]
    for row in told["baseline"]["k"]:
        assert row["same_text"] is True
        assert row["ratio"]["median"] == pytest.approx(
            row["tokens_per_s"]["median"] / row["baseline_tokens_per_s"]["median"]
        )
        assert row["outside"]["median"] == pytest.approx(1 - row["forwards_ms"]["median"] / row["round_ms"]["median"])


def test_the_baseline_has_a_table_that_fits(
    tiny: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["bench", *tiny, *TINY, "--baseline", "hf"]) == 0
    out = capfd.readouterr().out
    assert max(cell_len(line) for line in out.splitlines()) <= 80
    assert "assisted" in out and "The texts are sampled, so they differ." in out
    assert main(["bench", *tiny, *TINY]) == 0
    assert "assisted" not in capfd.readouterr().out


def test_the_baseline_takes_models_of_one_vocabulary_size(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    padded = shelf.random(1, vocab=72, saving={"vocabulary": words(64)})
    pair = ["--draft", shelf.random(1), "--target", padded, "--prompt", text_of([1, 2, 3])]
    assert main(["bench", *pair, *TINY, "--baseline", "hf"]) == 2
    assert "these have 64 (draft) and 72 (target). Omit --baseline." in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--drafter", "ngram"], "--drafter"),
        (["--drafter", "model,layers"], "--drafter"),
        (["--rule", "equality", "--top-p", "0.9"], "--rule, --top-p"),
        (["--draft-temperature", "0.5", "--stop", "x"], "--draft-temperature, --stop"),
    ],
)
def test_the_baseline_refuses_what_it_does_otherwise(
    options: list[str], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--baseline", "hf", *options]) == 2
    assert f"without top-k or top-p: remove {named}." in " ".join(capfd.readouterr().err.split())
