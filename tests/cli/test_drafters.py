"""Drafters and rules through the command line: `run`, `check`, and what does not go together."""

from pathlib import Path

import pytest

from specviz.cli.commands import app
from specviz.cli.main import main
from specviz.cli.shared.loading import DeferredSource
from specviz.core.options import BUNDLED_DRAFT, BUNDLED_TARGET, RunOptions
from specviz.ui.shared.app_options import AppOptions
from tests.cli.test_run import run_json
from tests.decoder.models import Shelf, everywhere, text_of
from tests.decoder.run_helpers import greedy

PROMPT = [3, 5, 8, 3, 5]


def target(shelf: Shelf) -> str:
    return shelf.random(2, layers=3, vocab=24)


@pytest.mark.parametrize("rule", ["exact", "equality"])
@pytest.mark.parametrize("drafter", ["ngram", "layers"])
def test_a_target_alone_runs(shelf: Shelf, capfd: pytest.CaptureFixture[str], drafter: str, rule: str) -> None:
    folder = target(shelf)
    common = ["--target", folder, "--prompt", text_of(PROMPT), "--temperature", "0", "--max-new-tokens", "24"]
    summary = run_json(capfd, *common, "--drafter", drafter, "--rule", rule)
    assert summary["ids"] == greedy(folder, PROMPT, 24)
    config = summary["config"]
    assert (config["draft"], config["drafter"], config["rule"]) == (None, drafter, rule)
    assert config["drafters"] == ["ngram", "layers"]
    assert (config["ngram_max"], config["ngram_min"], config["exit_layer"]) == (4, 1, 1)
    assert (summary["timing"]["c"] is None) == (drafter == "ngram")
    assert [part["settings"]["drafter"] for part in summary["segments"]] == [drafter]


def test_the_equality_rule_has_its_own_rate(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    p, q = shelf.scripted(everywhere([0.1, 0.2, 0.3, 0.4], 160)), shelf.scripted(everywhere([0.4, 0.3, 0.2, 0.1], 160))
    args = ["--target", p, "--draft", q, "--prompt", "w0", "--max-new-tokens", "120", "--calibrate", "0"]
    for rule, rate in (("exact", 0.6), ("equality", 0.2)):
        alpha = run_json(capfd, *args, "--rule", rule)["alpha"]
        assert alpha["mean_overlap"] == pytest.approx(rate, abs=1e-6)
        assert abs(alpha["agreement_z"]) < 3.3


def test_a_named_draft_is_there_to_switch_to(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    pair = ["--target", target(shelf), "--draft", shelf.random(3, vocab=24)]
    config = run_json(capfd, *pair, "--drafter", "ngram", "--prompt", "w3", "--max-new-tokens", "2")["config"]
    assert config["drafters"] == ["model", "ngram", "layers"]


@pytest.mark.parametrize(
    ("args", "draft"),
    [
        ([], BUNDLED_DRAFT),
        (["--drafter", "ngram"], BUNDLED_DRAFT),
        (["--drafter", "layers", "--target", BUNDLED_TARGET], BUNDLED_DRAFT),
        (["--drafter", "ngram", "--target", "gpt2"], None),
        (["--drafter", "ngram", "--target", "gpt2", "--draft", "distilgpt2"], "distilgpt2"),
    ],
)
def test_the_app_has_the_bundled_draft_to_switch_to(
    args: list[str], draft: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[RunOptions, AppOptions]] = []

    def show(source: DeferredSource, display: AppOptions) -> int:
        opened.append((source._options, display))
        return 0

    monkeypatch.setattr(app, "_show", show)
    monkeypatch.setattr(app, "require_terminal", lambda *_, **__: None)
    assert main([*args, "--no-record"]) == 0
    ((options, display),) = opened
    assert options.pair.draft == draft and display.draft == (draft or "")
    assert options.settings.drafter == (args[1] if args else "model")


def test_the_summary_of_a_run_calls_the_rate_by_its_name(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    args = ["run", "--rule", "equality", "--max-new-tokens", "4", "--calibrate", "0", "--record", str(trace)]
    assert main(args) == 0
    out = capfd.readouterr().out
    assert "· α match 0." in out and "at α match" in out and "overlap" not in out
    assert main(["stats", str(trace)]) == 0
    out = capfd.readouterr().out
    assert "α match" in out and "formula at α match" in out and "overlap" not in out
    assert "rule" in out and "equality" in out
    assert main(["stats", str(trace), "bundled:demo"]) == 0
    assert "α match / overlap" in capfd.readouterr().out


def test_a_corpus_of_ones_own(shelf: Shelf, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("w7 w9 w11\n")
    args = ["--target", target(shelf), "--drafter", "ngram", "--prompt", "w7", "--max-new-tokens", "3"]
    assert run_json(capfd, *args, "--k", "1")["plain_rounds"] > 0
    with_corpus = run_json(capfd, *args, "--k", "1", "--ngram-corpus", str(corpus))
    assert with_corpus["drafted"] > 0 and with_corpus["config"]["ngram_corpus"] == str(corpus)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--target", "x"], "--drafter ngram and --drafter layers need no draft"),
        (["--draft", "x", "--drafter", "ngram"], "--draft needs --target"),
        (["--drafter", "ngram", "--ngram-min", "5"], "--ngram-min 5 is above --ngram-max 4"),
        (["--drafter", "ngram", "--ngram-max", "17"], "--ngram-max: '17' is not a whole number from 1 to 16"),
        (["--drafter", "ngram", "--ngram-corpus", "/no/such"], "--ngram-corpus /no/such: no such file"),
        (["--exit-layer", "0"], "--exit-layer: '0' is not a whole number of at least 1"),
        (["--drafter", "copy"], "--drafter: 'copy' is not one of 'model', 'ngram', 'layers'"),
        (["--rule", "best"], "--rule: 'best' is not one of 'exact', 'equality'"),
    ],
)
@pytest.mark.parametrize("command", ["run", "check"])
def test_what_does_not_go_together(capfd: pytest.CaptureFixture[str], command: str, args: list[str], said: str) -> None:
    assert main([command, *args]) == 2
    assert said in capfd.readouterr().err


def test_check_lists_the_layers_and_the_cost(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--drafter", "layers"]) == 0
    out = " ".join(capfd.readouterr().out.split())
    assert "the draft exits after layer 4 of 8; c of each layer by number of parameters, 1: 4.1, 2: 2.9" in out
    assert "This target can run." in out
    assert main(["check", "--drafter", "ngram", "--target", shelf.random(1)]) == 0
    assert "(drafter ngram)" in capfd.readouterr().out


def test_check_and_run_refuse_a_layer_that_is_not_there(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    args = ["--drafter", "layers", "--exit-layer", "3", "--target", target(shelf)]
    said = f"--exit-layer must be from 1 to 2 with --target {target(shelf)}, which has 3 layers."
    assert main(["run", *args]) == 2
    assert said in capfd.readouterr().err
    assert main(["check", *args]) == 2
    out = capfd.readouterr().out
    assert said in out and "This target is refused." in out
