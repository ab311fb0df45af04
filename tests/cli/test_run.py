"""`specviz run` and `specviz stats` through the command line."""

import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2LMHeadModel

from specviz.cli.commands.run import Printer
from specviz.cli.main import main
from specviz.core.events import Progress
from specviz.core.options import MAX_COUNT, MAX_K, MAX_SEED, MAX_TEMPERATURE
from tests.builders import make_header, make_round
from tests.cli.conftest import Specviz
from tests.decoder import models
from tests.decoder.models import Shelf

SUMMARY_KEYS: dict[str, type | set[str]] = {
    "text": str,
    "ids": list,
    "reason": str,
    "tokens": int,
    "rounds": int,
    "plain_rounds": int,
    "drafted": int,
    "accepted": int,
    "rejected": int,
    "untested": int,
    "ignored": int,
    "tested": int,
    "alpha": {
        "accepted_over_tested",
        "ci95",
        "mean_overlap",
        "mean_overlap_ci95",
        "mean_match",
        "accepted_over_drafted",
        "agreement_z",
    },
    "per_position": list,
    "tokens_per_round": {"mean", "half_width95", "se"},
    "histogram_n": dict,
    "formula": {"at_accepted_over_tested", "at_mean_overlap"},
    "timing": {
        "draft_ms",
        "verify_ms",
        "decide_ms",
        "inspect_ms",
        "target_step_ms",
        "draft_step_ms",
        "at_length",
        "c",
        "tokens_per_s",
    },
    "speedup": {"measured_cost", "at_measured_cost", "model", "best_k", "break_even_alpha", "ceiling"},
    "segments": list,
    "config": dict,
}


def run_json(capfd: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert main(["run", "--json", *args]) == 0
    out = capfd.readouterr().out
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))  # type: ignore[no-any-return]


def test_no_stage_breaks_into_the_text_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    said = {}
    for as_json in (False, True):
        printer = Printer(as_json)
        for event in (Progress("draft"), make_header("Once upon"), Progress("calibrating"), make_round(1)):
            printer.add(event)
        said[as_json] = capsys.readouterr()
    assert (said[False].err, said[True].err) == ("draft …\n", "draft …\ncalibrating …\n")
    assert said[False].out.startswith("Once upon") and not said[True].out


def test_json_has_every_key_of_the_contract_and_repeats(capfd: pytest.CaptureFixture[str]) -> None:
    args = "--seed", "7", "--max-new-tokens", "64"
    first, second = run_json(capfd, *args), run_json(capfd, *args)
    assert set(first) == set(SUMMARY_KEYS)
    for key, kind in SUMMARY_KEYS.items():
        if isinstance(kind, set):
            assert set(first[key]) == kind
        else:
            assert isinstance(first[key], kind)
    assert set(first["per_position"][0]) == {"position", "conditional", "unconditional", "tested", "drafted"}
    assert first["tokens"] == len(first["ids"]) == 64
    assert 0.4 < first["alpha"]["accepted_over_tested"] < 0.95
    assert first["alpha"]["accepted_over_tested"] == first["accepted"] / first["tested"]
    assert first["drafted"] == first["accepted"] + first["rejected"] + first["untested"] + first["ignored"]
    for measured in ("timing", "speedup"):
        del first[measured], second[measured]
    assert first == second


def test_prepared_prompts_differ_in_alpha(capfd: pytest.CaptureFixture[str]) -> None:
    from specviz.core.options import PREPARED_PROMPTS

    run = "--max-new-tokens", "64", "--no-inspect", "--calibrate", "0"
    overlaps = {
        name: run_json(capfd, "--prompt", text, *run)["alpha"]["mean_overlap"] for name, text in PREPARED_PROMPTS
    }
    assert set(overlaps) == {"tale", "code", "verse"}
    assert max(overlaps.values()) - min(overlaps.values()) > 0.03


def test_text_then_summary_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    run = "--max-new-tokens", "12", "--seed", "7"
    assert main(["run", *run]) == 0
    out = capfd.readouterr().out
    text, _, summary = out.partition("\n\n")
    assert "\x1b" not in out
    assert "α tested" in summary and "tokens/round" in summary and "accepted/drafted" in summary
    assert text == run_json(capfd, *run)["text"]


@pytest.mark.parametrize(
    "args",
    [
        ("--k", "-1"),
        ("--k", "1.9"),
        ("--k", "abc"),
        ("--k", "33"),
        ("--temperature", "-1"),
        ("--temperature", "nan"),
        ("--temperature", "inf"),
        ("--top-p", "0"),
        ("--top-p", "1.5"),
        ("--top-p", "nan"),
        ("--top-k", "-3"),
        ("--top-k", "0"),
        ("--max-new-tokens", "0"),
        ("--seed", "-1"),
        ("--seed", str(2**64)),
        ("--calibrate", "-1"),
        ("--device", "cuda:x"),
        ("--dtype", "int8"),
        ("--stop", ""),
        ("--pace", "-1"),
        ("--draft", "bundled:draft"),
        ("--rule", "greedy"),
    ],
)
def test_c42_invalid_numbers_name_the_option(args: tuple[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    command = [] if args[0] == "--pace" else ["run"]
    assert main([*command, *args]) == 2
    err = capfd.readouterr().err
    assert args[0] in err and "Traceback" not in err and len(err.splitlines()) <= 3


def test_c42_usage_errors_load_no_model_library() -> None:
    code = (
        "import sys; from specviz.cli.main import main; assert main(['run', '--k', '1.9']) == 2;"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_c41_k_zero_is_plain_decoding(capfd: pytest.CaptureFixture[str]) -> None:
    summary = run_json(capfd, "--k", "0", "--max-new-tokens", "6")
    assert summary["rounds"] == summary["plain_rounds"] == 6
    assert summary["tokens_per_round"]["mean"] == 1
    assert summary["alpha"]["accepted_over_tested"] is None
    assert summary["formula"]["at_accepted_over_tested"] is None


def swapped_tokenizers(shelf: Shelf) -> tuple[str, str]:
    strings = models.words(64)
    strings[10], strings[11] = strings[11], strings[10]
    return shelf.random(2, saving={"vocabulary": strings}), shelf.random(1)


def test_c12_another_tokenizer_is_refused_and_can_be_forced(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    draft, target = swapped_tokenizers(shelf)
    pair = ["--draft", draft, "--target", target, "--prompt", "w1 w2"]
    assert main(["run", *pair]) == 2
    err = capfd.readouterr().err
    assert "2 ids have different text" in err and "id 10: 'w11' in the draft, 'w10' in the target" in err
    assert main(["check", *pair]) == 2
    assert "This pair is refused." in capfd.readouterr().out
    assert main(["run", *pair, "--force", "--max-new-tokens", "4"]) == 0
    assert "note: Forced: " in capfd.readouterr().err


def test_check_reads_no_weights(shelf: Shelf, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = Path(shelf.random(1))
    for file in source.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes() if file.suffix == ".json" else b"no weights at all")
    assert main(["check", "--draft", str(tmp_path), "--target", str(tmp_path)]) == 0
    out = capfd.readouterr().out
    assert "This pair can run." in out
    assert all(line in out for line in ("architecture", "cache", "tokenizer", "vocabulary", "context", "end ids"))


def test_c15_a_prompt_beyond_the_context_is_one_sentence(shelf: Shelf, capfd: pytest.CaptureFixture[str]) -> None:
    folder = shelf.random(1, context=32)
    assert main(["run", "--draft", folder, "--target", folder, "--prompt", models.text_of([1] * 40)]) == 2
    err = capfd.readouterr().err.strip().splitlines()
    errors = [line for line in err if not line.startswith("note: ")]
    assert len(errors) == 1 and "40 tokens, more than the target's context of 32" in errors[0]


def test_c65_escape_sequences_never_reach_stdout(shelf: Shelf, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    evil = [
        "\x1b[2J",
        "\x1b]0;t\x07",
        "\x1b]52;c;aGk=\x07",
        "\x1b[6n",
        "\x9b31m",
        "\x1bPx",
        "\x1b]",
        "\x07",
        "\x08",
        "\r",
    ]
    folder = shelf.scripted(models.everywhere([1 / 10] * 10, 64), vocabulary=evil)
    pair = ["--draft", folder, "--target", folder, "--prompt", "", "--max-new-tokens", "40"]
    with_start = [*pair[:-3], "\x1b[2J", *pair[-2:]]
    assert main(["run", *with_start]) == 0
    shown = capfdbinary.readouterr()
    for data in (shown.out, shown.err):
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", data)


def broken_pair(shelf: Shelf, tmp_path: Path) -> str:
    folder = tmp_path / "nan"
    model = models.random(1)
    assert isinstance(model, GPT2LMHeadModel)
    models.save_model(folder, model)
    with torch.no_grad():
        model.transformer.wpe.weight[6] = math.nan
    model.save_pretrained(folder)
    return str(folder)


def test_logits_that_are_not_finite_end_the_run(
    shelf: Shelf, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, trace = broken_pair(shelf, tmp_path), tmp_path / "t.jsonl"
    args = ["--draft", shelf.random(1), "--target", folder, "--prompt", "w1 w2 w3", "--k", "1", "--record", str(trace)]
    assert main(["run", *args, "--temperature", "0"]) == 2
    err = capfd.readouterr().err
    assert re.search(r"Round \d+: The logits of the target .* in float32 are not finite", err)
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert lines[-1]["type"] == "end" and lines[-1]["reason"] == "error" and "not finite" in lines[-1]["detail"]
    assert [line["type"] for line in lines[2:-1]] == ["round"] * (len(lines) - 3) and len(lines) > 3


def test_stats_of_a_trace_are_those_of_its_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.jsonl"
    summary = run_json(capfd, "--max-new-tokens", "40", "--record", str(trace))
    assert main(["stats", "--json", str(trace), str(trace)]) == 0
    both = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert both == [summary, summary]
    assert main(["stats", str(trace), str(trace)]) == 0
    out = capfd.readouterr().out
    assert out.count(f"{summary['alpha']['accepted_over_tested']:.3f}") >= 2


def test_a_recorded_file_is_not_overwritten_unasked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "kept.jsonl"
    trace.write_text("mine")
    assert main(["run", "--record", str(trace), "--max-new-tokens", "2"]) == 2
    assert "--force" in capfd.readouterr().err and trace.read_text() == "mine"
    assert main(["run", "--record", str(trace), "--max-new-tokens", "2", "--force"]) == 0
    assert json.loads(trace.read_text().splitlines()[-1])["type"] == "end"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_and_keeps_the_trace(number: int, code: int, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    command = [sys.executable, "-m", "specviz", "run", "--max-new-tokens", "900", "--record", str(trace)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    )
    deadline = time.monotonic() + 60
    while not (trace.exists() and trace.read_bytes().count(b"\n") > 4):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)  # polls a file another process writes
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert b"Traceback" not in err and "α tested" in out.decode()
    assert json.loads(trace.read_text().splitlines()[-1])["reason"] == "user"


IN_TURN = """
import json, sys
from specviz.cli.main import main
codes = [main(args) for args in json.loads(sys.argv[1])]
with open(sys.argv[2], "w") as file:
    json.dump(codes, file)
"""


def test_c81_a_strict_legacy_encoding_breaks_nothing(tmp_path: Path) -> None:
    commands = [["--help"], ["--version"], ["run", "--help"], ["check"], ["run", "--max-new-tokens", "4"]]
    refused = ["run", "--k", "→"]
    done = subprocess.run(
        [sys.executable, "-c", IN_TURN, json.dumps([*commands, refused]), str(tmp_path / "codes")],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "cp1252:strict"},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "codes").read_text()) == [*[0] * len(commands), 2]
    said = done.stdout + done.stderr
    assert b"Traceback" not in said and b"\\u" not in said and b"Error" not in said
    assert b"This pair can run." in said and b"alpha tested" in said and b"--k" in said


def test_c79_a_prompt_from_a_pipe(
    specviz: Specviz, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Once upon a time")))
    piped = run_json(capfd, "--prompt-file", "-", "--max-new-tokens", "4")
    typed = run_json(capfd, "--prompt", "Once upon a time", "--max-new-tokens", "4")
    assert piped["ids"] == typed["ids"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    assert main(["run", "--prompt-file", "-"]) == 2
    refused = specviz(stdin=b"hi\n")
    assert refused.returncode == 2 and b"`specviz run`" in refused.stderr


def test_options_before_a_command_are_not_lost_silently(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--k", "2", "run"]) == 2
    assert "--k must come after the command: specviz run --k ..." in capfd.readouterr().err


def test_models_that_cannot_be_read_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "gpt2"
    empty.mkdir()
    for name, words in (
        (str(empty), "no config.json"),
        (str(tmp_path / "none"), "this folder does not exist"),
        ("nobody/nothing", "is not in the cache, and HF_HUB_OFFLINE is set"),
    ):
        assert main(["run", "--draft", "bundled:draft", "--target", name]) == 2
        err = capfd.readouterr().err.strip()
        assert f"--target {name}" in err and words in err and len(err.splitlines()) == 1


def test_a_reader_that_leaves_early_is_no_error_message() -> None:
    read, write = os.pipe()
    command = [sys.executable, "-m", "specviz", "run", "--max-new-tokens", "40"]
    process = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    os.close(read)
    _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err and b"unexpected" not in err


def test_what_the_command_line_takes_a_recording_can_hold(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.jsonl"
    extremes = ["--seed", str(MAX_SEED), "--temperature", f"{MAX_TEMPERATURE:.0f}", "--top-k", str(MAX_COUNT)]
    extremes += ["--draft-temperature", f"{MAX_TEMPERATURE:.0f}", "--max-new-tokens", str(MAX_COUNT)]
    assert main(["run", *extremes, "--k", str(MAX_K), "--stop", "e", "--record", str(trace)]) == 0
    assert main(["stats", str(trace)]) == 0
    assert main(["run", "--seed", str(MAX_SEED + 1)]) == 2
    assert "--seed" in capfd.readouterr().err


def test_arguments_that_are_not_utf_8_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    for args in (["--prompt", "\udcff"], ["--stop", "\udcff"], ["--temperature", "1_0"]):
        assert main(["run", *args]) == 2
        err = capfd.readouterr().err
        assert args[0] in err and "unexpected" not in err


def test_the_stop_string_that_ended_the_text_is_named(
    shelf: Shelf, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, trace = shelf.scripted(models.one_hot([1, 2, 3, 4, 5, 6, 7], 8)), tmp_path / "t.jsonl"
    pair = ["--draft", folder, "--target", folder, "--prompt", "w0", "--stop", "w7", "--stop", "w3w"]
    assert main(["run", *pair, "--record", str(trace), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["text"] == "w1w2"
    end = json.loads(trace.read_text().splitlines()[-1])
    assert (end["reason"], end["detail"]) == ("stop_string", "'w3w'")


@pytest.mark.parametrize(("target_ms", "draft_ms"), [(1e9, 5e-324), (5e-324, 1e9), (1.0, 0.0)])
def test_calibrations_that_give_no_ratio_break_nothing(
    target_ms: float, draft_ms: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.jsonl"
    assert main(["run", "--max-new-tokens", "8", "--record", str(trace)]) == 0
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    lines[1] |= {"target_step_ms": target_ms, "draft_step_ms": draft_ms}
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    capfd.readouterr()
    assert main(["stats", "--json", str(trace)]) == 0
    summary = json.loads(capfd.readouterr().out)
    assert summary["timing"]["c"] is None and summary["speedup"]["model"] is None


@pytest.mark.parametrize(("option", "value"), [("--repetition-penalty", "1.3"), ("--min-p", "0.1")])
@pytest.mark.parametrize("command", [[], ["run"], ["check"]])
def test_c34_other_score_processors_are_refused_by_name(
    option: str, value: str, command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, option, value]) == 2
    assert f"{option} is not supported" in capfd.readouterr().err


def test_compile_without_a_compiler_says_so_and_runs(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._inductor.cpp_builder import cpp_compiler_search

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    told = {}
    for option in ("--compile", "--no-compile"):
        cpp_compiler_search.cache_clear()
        assert main(["run", "--json", "--max-new-tokens", "8", "--no-record", option]) == 0
        told[option] = capfd.readouterr()
    cpp_compiler_search.cache_clear()
    assert "note: Nothing is compiled for cpu: there is no C++ compiler. Install" in told["--compile"].err
    assert "compile" not in told["--no-compile"].err
    first, second = (json.loads(told[option].out) for option in told)
    assert first["ids"] == second["ids"]
    assert [run["config"][key] for run in (first, second) for key in ("compile", "compiled")] == [True, [], False, []]


def test_no_inspect_leaves_out_what_no_rate_needs(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = ["run", "--json", "--max-new-tokens", "20", "--prompt", "Once upon a time"]
    told = []
    for more in ([], ["--no-inspect"]):
        trace = tmp_path / f"{len(more)}.jsonl"
        assert main([*run, *more, "--record", str(trace)]) == 0
        told.append(json.loads(capfd.readouterr().out))
        lines = [json.loads(line) for line in trace.read_text().splitlines()]
        tokens = [token for line in lines if line["type"] == "round" for token in line["drafted"] + line["emitted"]]
        assert [token["entropy_p"] is None for token in tokens] == [bool(more)] * len(tokens)
        assert [token["p_top"] == [] for token in tokens] == [bool(more)] * len(tokens)
        assert main(["stats", str(trace)]) == 0
        capfd.readouterr()
    looked, blind = told
    assert [blind["config"]["inspect"], looked["config"]["inspect"]] == [False, True]
    assert [blind[key] for key in ("ids", "alpha", "per_position")] == [
        looked[key] for key in ("ids", "alpha", "per_position")
    ]
