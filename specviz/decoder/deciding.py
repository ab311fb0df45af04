"""The rules in torch: which drafts are kept, and what comes behind them. The references are in ``specviz.rules``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from specviz.decoder.sampling import accept_probs, draw, residual
from specviz.events import Origin


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rule says of one block, before anything ends the text.

    ``accept_probs``: min(1, p(x)/q(x)) of all K drafted ids, tested or not. ``residuals``: float64 [K, V], what
    each position would be resampled from; ``fell_back`` [K]: where that is p itself. ``target_samples``: what the
    target itself draws at each of the K positions. What the rule has not is empty, residuals None. ``last_id`` stands
    behind the ``n_accepted`` kept drafts, drawn from ``last_u``.
    """

    n_accepted: int
    last_id: int
    last_u: float
    origin: Origin
    redraws: int
    accept_probs: Sequence[float] = ()
    residuals: Tensor | None = None
    fell_back: Sequence[bool] = ()
    target_samples: Sequence[int] = ()


Spare = Callable[[], Iterator[float]]
"""Uniforms beyond every slot, for redraws."""
Decide = Callable[[Tensor, Tensor | None, Sequence[int], Sequence[float], float, Spare], Decision]


def decide_exact(
    p: Tensor,
    q: Tensor | None,
    drafted: Sequence[int],
    test_us: Sequence[float],
    last_u: float,
    spare: Spare,
) -> Decision:
    """Accept draft i iff u_i < min(1, p_i(x_i)/q_i(x_i)), left to right, up to the first rejection.

    Leviathan et al. 2023, Algorithm 1.

    ``p`` float32 [K + 1, V], ``q`` float32 [K, V] or None for K = 0. Behind the kept drafts comes one token:
    from the residual after a rejection, from p's last row (the bonus) otherwise; without a draft it is plain.
    """
    if q is None or not drafted:
        return _plain(p, last_u, spare)
    rows = range(len(drafted))
    chances = accept_probs(p[rows, drafted], q[rows, drafted]).tolist()
    n_accepted = next((i for i in rows if not test_us[i] < chances[i]), len(drafted))
    residuals, fell_back = residual(p[:-1], q)
    all_kept = n_accepted == len(drafted)
    last = draw(p[-1] if all_kept else residuals[n_accepted], last_u, spare)
    return Decision(
        n_accepted=n_accepted,
        accept_probs=chances,
        residuals=residuals,
        fell_back=fell_back.tolist(),
        last_id=last.id,
        last_u=last.u,
        origin="bonus" if all_kept else "resampled",
        redraws=last.redraws,
    )


def decide_equality(
    p: Tensor,
    q: Tensor | None,
    drafted: Sequence[int],
    test_us: Sequence[float],
    last_u: float,
    spare: Spare,
) -> Decision:
    """Accept draft i iff it is the target's own sample y_i, drawn from p_i by u_i, up to the first that differs.

    ``p`` float32 [K + 1, V]; q plays no part. Behind the kept drafts comes the sample that differed, with its own
    uniform, else the bonus from p's last row; without a draft the token is plain.
    """
    if q is None or not drafted:
        return _plain(p, last_u, spare)
    samples = [draw(row, u, spare) for row, u in zip(p[:-1], test_us, strict=True)]
    n_accepted = next((i for i, x in enumerate(drafted) if samples[i].id != x), len(drafted))
    all_kept = n_accepted == len(drafted)
    last = draw(p[-1], last_u, spare) if all_kept else samples[n_accepted]
    return Decision(
        n_accepted=n_accepted,
        last_id=last.id,
        last_u=last.u,
        origin="bonus" if all_kept else "resampled",
        redraws=sum(sample.redraws for sample in samples[: n_accepted + 1]) + (last.redraws if all_kept else 0),
        target_samples=[sample.id for sample in samples],
    )


RULES: Mapping[str, Decide] = {"exact": decide_exact, "equality": decide_equality}
"""By the name in ``Settings.rule``."""


def _plain(p: Tensor, last_u: float, spare: Spare) -> Decision:
    last = draw(p[0], last_u, spare)
    return Decision(0, last.id, last.u, "plain", last.redraws)
