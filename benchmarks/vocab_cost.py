"""What sampling and verdicts cost at a vocabulary of 151,936: their share of a round beside its forwards.

    OMP_NUM_THREADS=1 python -m benchmarks.vocab_cost [--rounds 7] [--layers 24,28] [--device cpu] [--dtype bfloat16]

The pair has the shapes of Qwen2.5 0.5B and 1.5B and random weights, so nothing is downloaded; logits are normal with a
standard deviation of 3, flatter than a trained model's: top-p 0.9 keeps thousands of ids at temperature 1, more than
the 1,024 that are tried first, and some hundred at 0.6. Rounds run as ``specviz run --no-inspect`` runs them, on a
CPU by the time of the process. Time inside the models' forwards is taken off by hooks, so what is left is in situ, with
caches as cold as forwards leave them: draws, top-p, the rule, the numbers of the record, rolling back. Medians of
rounds that drafted K, without the first.
"""

import time
from statistics import median
from typing import Any

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from benchmarks.options import parser
from specviz.core.events import Round, Settings
from specviz.decoder.drafters.model import ModelDrafter
from specviz.decoder.models.causal_model import CausalModel
from specviz.decoder.pairing.vocabulary import Vocabulary
from specviz.decoder.rounds.speculative import SpeculativeDecoder
from specviz.decoder.rounds.stopping import StoppingCriteria

V = 151_936
SHAPES: dict[str, dict[str, int]] = {
    "draft": {"hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14, "num_key_value_heads": 2},
    "target": {"hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_key_value_heads": 2},
}
SPREAD = 3.0
"""Standard deviation of the logits."""
SETTINGS = {
    "plain": {},
    "top-p 0.9": {"top_p": 0.9},
    "temperature 0.6, top-p 0.9": {"temperature": 0.6, "draft_temperature": 0.6, "top_p": 0.9},
    "greedy": {"temperature": 0.0, "draft_temperature": 0.0},
}


class Forwards:
    """Seconds spent inside the forwards of models."""

    def __init__(self, device: str, *models: torch.nn.Module) -> None:
        self.seconds = 0.0
        self._begun = 0.0
        self.clock = time.process_time if device == "cpu" else self._settled
        for model in models:
            model.register_forward_pre_hook(self._begin)
            model.register_forward_hook(self._end)

    def _settled(self) -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    def _begin(self, *_: Any) -> None:
        self._begun = self.clock()

    def _end(self, *_: Any) -> None:
        self.seconds += self.clock() - self._begun


def model(role: str, layers: int, device: str, dtype: torch.dtype) -> CausalModel:
    shape = SHAPES[role]
    config = Qwen2Config(
        vocab_size=V, num_hidden_layers=layers, max_position_embeddings=4096, tie_word_embeddings=False, **shape
    )
    with torch.device("meta"):
        built = Qwen2ForCausalLM(config)
    built = built.to(dtype).to_empty(device=device).eval().requires_grad_(False)
    generator = torch.Generator(device).manual_seed(1)
    for name, weight in built.named_parameters():
        if "norm" in name:
            weight.fill_(1.0)
        else:
            scale = SPREAD if "lm_head" in name else 1.0
            weight.uniform_(-1.0, 1.0, generator=generator).mul_(scale * (3 / weight.shape[-1]) ** 0.5)
    built.model.rotary_emb = type(built.model.rotary_emb)(config).to(device)
    return CausalModel(built, role=role, name=role, vocab_size=V, context=4096)


def rounds(
    draft: CausalModel, target: CausalModel, settings: Settings, n: int, forwards: Forwards
) -> list[list[float]]:
    """[ms of the round, ms outside forwards] of ``n`` rounds that drafted K, after a first."""
    vocabulary = Vocabulary([b"x"] * V, frozenset())
    drafters = {"model": ModelDrafter(draft, keep_logits=False)}
    ending = StoppingCriteria(frozenset(), (), 4000, 4096)
    run = SpeculativeDecoder(target, drafters, vocabulary, list(range(1000, 1064)), 0, ending, inspect=False)
    run.prefill("model")
    found: list[list[float]] = []
    forwards.seconds, begun = 0.0, forwards.clock()
    for round_ in run.rounds(lambda: settings, lambda: False):
        assert isinstance(round_, Round)
        now = forwards.clock()
        found.append([(now - begun) * 1e3, (now - begun - forwards.seconds) * 1e3])
        if len(found) > n:
            break
        forwards.seconds, begun = 0.0, forwards.clock()
    return found[1:]


def main() -> None:
    arguments = parser(__doc__, device="cpu", dtype="bfloat16")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--layers", default="24,28", help="of draft and target; fewer only make the share larger")
    options = arguments.parse_args()
    draft_layers, target_layers = map(int, options.layers.split(","))
    dtype = getattr(torch, options.dtype)
    draft = model("draft", draft_layers, options.device, dtype)
    target = model("target", target_layers, options.device, dtype)
    forwards = Forwards(options.device, draft.model, target.model)
    print(f"V {V}, {options.device}, {options.dtype}, layers {options.layers}, threads {torch.get_num_threads()}")
    for name, changes in SETTINGS.items():
        for k in (4, 8):
            settings = Settings(k=k, **changes)  # type: ignore[arg-type]
            seen = rounds(draft, target, settings, options.rounds, forwards)
            whole, outside = (median(each) for each in zip(*seen, strict=True))
            print(f"{name}, K {k}: round {whole:.1f} ms, outside forwards {outside:.2f} ms, {outside / whole:.1%}")


if __name__ == "__main__":
    main()
