"""The exact rule in torch: which drafts are kept, and what comes behind them. The reference is ``specviz.rules``."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from specviz.decoder.sampling import accept_probs, draw, residual
from specviz.events import Origin


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rule says of one block, before anything ends the text.

    ``accept_probs``: min(1, p(x)/q(x)) of all K drafted ids, tested or not. ``residuals``: float64 [K, V], what
    each position would be resampled from; ``fell_back`` [K]: where that is p itself. ``last_id`` stands behind
    the ``n_accepted`` kept drafts, drawn from ``last_u``.
    """

    n_accepted: int
    accept_probs: Sequence[float]
    residuals: Tensor | None
    fell_back: Sequence[bool]
    last_id: int
    last_u: float
    origin: Origin
    redraws: int


def decide(
    p: Tensor,
    q: Tensor | None,
    drafted: Sequence[int],
    test_us: Sequence[float],
    last_u: float,
    spare: Callable[[], Iterator[float]],
) -> Decision:
    """Accept draft i iff u_i < min(1, p_i(x_i)/q_i(x_i)), left to right, up to the first rejection.

    Leviathan et al. 2023, Algorithm 1.

    ``p`` float32 [K + 1, V], ``q`` float32 [K, V] or None for K = 0. Behind the kept drafts comes one token:
    from the residual after a rejection, from p's last row (the bonus) otherwise; without a draft it is plain.
    """
    if q is None or not drafted:
        last = draw(p[0], last_u, spare)
        return Decision(0, (), None, (), last.id, last.u, "plain", last.redraws)
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
