"""How long an n-gram lookup takes: in a text of 100 and of 100,000 tokens, and in a corpus that is read twice."""

import random
import tempfile
import time
from pathlib import Path
from statistics import median

import torch
from transformers import AutoTokenizer

from benchmarks.options import parser
from specviz import bundled
from specviz.core.events import Settings
from specviz.decoder.drafters.ngram import NgramDrafter
from specviz.decoder.drafters.ngram_corpus import corpora_folder, open_corpus
from specviz.decoder.tensors.sampling import RoundRandom

VOCAB = 4096
K = 4


def lookup_us(drafter: NgramDrafter, ids: list[int], repeats: int = 2_000) -> float:
    """Median microseconds of one draft after ``ids``."""
    uniforms, settings, times = RoundRandom(0, 1, K), Settings(k=K, drafter="ngram"), []
    for _ in range(repeats):
        begun = time.perf_counter()
        drafter.propose(ids, K, settings, uniforms, lambda: False)
        times.append((time.perf_counter() - begun) * 1e6)
    return median(times)


def text_of(n: int) -> list[int]:
    """Random ids that end as they begin."""
    ids = random.Random(0).choices(range(VOCAB), k=n - 4)
    return [*ids, *ids[:4]]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--corpus", type=Path, help="a text file; by default 20 MB of made-up words")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    for n in (100, 100_000, 100, 100_000):
        ids = text_of(n)
        drafter = NgramDrafter(VOCAB, torch.device("cpu"), longest=4, shortest=1)
        begun = time.perf_counter()
        drafter.prefill(ids)
        built = time.perf_counter() - begun
        print(f"text of {n} tokens: index {built * 1e3:.1f} ms, lookup {lookup_us(drafter, ids):.1f} us")
    tokenizer = AutoTokenizer.from_pretrained(bundled.folder("bundled:target"))
    with tempfile.TemporaryDirectory() as folder:
        path = options.corpus or made_up(Path(folder) / "corpus.txt", 20_000_000)
        for start in ("first", "second"):
            begun = time.perf_counter()
            corpus = open_corpus(str(path), tokenizer, lambda _: None)
            print(f"corpus, {start} start: {time.perf_counter() - begun:.2f} s, {len(corpus)} tokens")
        places = random.Random(1).choices(range(len(corpus) - 8), k=500)
        for n in (1, 2, 4):
            times = []
            for place in places:
                gram = tuple(corpus.read(place, n))
                begun = time.perf_counter()
                corpus.after(gram)
                times.append((time.perf_counter() - begun) * 1e6)
            print(f"corpus, {n}-gram: median {median(times):.0f} us, longest {max(times):.0f} us")
    size = sum(file.stat().st_size for file in corpora_folder().rglob("*.npy"))
    print(f"kept: {size / 1e6:.0f} MB in {corpora_folder()}")


def made_up(path: Path, size: int) -> Path:
    generator = random.Random(2)
    words = ["".join(generator.choices("etaoinshrdlu", k=generator.randint(2, 9))) for _ in range(20_000)]
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            file.write(" ".join(words[int(generator.paretovariate(0.7)) % len(words)] for _ in range(1_000)) + "\n")
    return path


if __name__ == "__main__":
    main()
