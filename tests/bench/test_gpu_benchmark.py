"""What benchmarks/gpu.py does on a GPU, in small on a CPU: its pairs, its rows, and how it counts waits."""

import re
import warnings

import pytest
import torch

from benchmarks import gpu
from benchmarks.random_pairs import NOISY, SHAPES, Made, make
from specviz.decoder.tensors.sampling import to_probs

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def made() -> Made:
    return make(SHAPES["tiny"](), CPU, torch.float32)


@torch.inference_mode()
def overlap(made: Made) -> tuple[float, float]:
    """(mean overlap of p and q, share of places where both are largest at the same id) behind 100 tokens."""
    ids = torch.arange(100).unsqueeze(0)
    p, q = (to_probs(model(input_ids=ids).logits[0].float(), 1.0, None, None) for model in (made.target, made.draft))
    alike = p.argmax(-1) == q.argmax(-1)
    return torch.minimum(p, q).sum(-1).mean().item(), alike.float().mean().item()


def test_a_draft_of_another_shape_is_the_targets_twin(made: Made) -> None:
    kinds = {type(made.draft).__name__, type(made.target).__name__}
    assert kinds == {"GPT2LMHeadModel", "Qwen2ForCausalLM"}
    assert overlap(made) == pytest.approx((1.0, 1.0), abs=1e-3)
    made.disturb(NOISY)
    noisy, alike = overlap(made)
    assert 0.65 < noisy < 0.85 and 0.4 < alike < 0.9
    made.disturb(0.0)
    assert overlap(made) == pytest.approx((1.0, 1.0), abs=1e-3)


def test_the_shapes_are_those_of_the_models_they_are_called_by() -> None:
    """Untied output layers, which gpt2 and the 0.5B do not have, come on top."""
    gpt2, qwen = SHAPES["gpt2"](), SHAPES["qwen"]()
    untied = 50_257 * (768 + 1280)
    assert gpt2.weight_bytes(torch.float32) / 4 == pytest.approx(124_439_808 + 774_030_080 + untied)
    untied = 151_936 * 896
    unused = 2 * 128 * 3584
    assert qwen.weight_bytes(torch.bfloat16) / 2 == pytest.approx(494_032_768 + 7_615_616_512 - unused + untied)


def test_every_mode_has_a_row() -> None:
    lines = list(gpu.report(["tiny"], CPU, torch.float32, 2, 1, 16, 60.0, temperatures=(0.0,)))
    twin, noisy = (lines[start : start + 8] for start in (0, 8))
    assert len(lines) == 16
    assert twin[0] == "tiny, twin, K 2, T 0: alpha tested 1.000, 3.00 tokens/round, medians of 1"
    assert re.match(r"tiny, noisy twin, K 2, T 0: alpha tested 0\.\d{3}, [12]\.\d\d tokens/round", noisy[0])
    for rows in (twin, noisy):
        names = [line[2:16].strip() for line in rows[2:]]
        assert names == ["target alone", "eager", "inspected", "compiled", "assisted", "bare forwards"]
        assert "not measured" in rows[5]
        for line in (*rows[2:5], *rows[6:]):
            speed, times, round_ms, over_bare, waits = line[16:].split()
            assert min(map(float, (speed, times, round_ms, over_bare))) > 0 and waits == "-"


def test_what_does_not_fit_is_left_out_in_words() -> None:
    (line,) = gpu.report(["tiny"], CPU, torch.float32, 2, 1, 16, 60.0, free_bytes=lambda _: 1_000_000)
    assert line == "tiny: not measured, 2.2 MB of weights do not fit 1.0 MB of free memory"


def test_without_a_gpu_it_says_so_and_exits_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main([]) == 2
    assert capsys.readouterr().out.startswith("not measured: no CUDA device")


def test_waits_are_torchs_warnings_since_they_were_last_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[str] = []
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    with gpu.waits(torch.device("cuda")) as since:
        warnings.warn("called a synchronizing CUDA operation (Triggered internally at x.cpp:1.)", stacklevel=1)
        warnings.warn("called a synchronizing CUDA operation", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
        assert (since(), since()) == (2, 0)
        warnings.warn("called a synchronizing CUDA operation", stacklevel=1)
        assert since() == 1
    assert modes == ["warn", "default"]
    with gpu.waits(CPU) as since:
        assert since() is None
