"""Where a target can be left early, and what that costs: known from its configuration, before a weight is read."""

from dataclasses import dataclass

from specviz.core.errors import SpecvizError
from specviz.decoder.models.layer_stack import exit_shares, find_layers, skeleton
from specviz.decoder.pairing.model_info import ModelFacts


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit behind layer ``n``. ``costs``: c for N = 1, 2, ... up to the last layer, by numbers of parameters."""

    n: int
    costs: tuple[float, ...]


def plan_exit(target: ModelFacts, asked: int | None) -> Exit:
    """The exit that ``--drafter layers`` takes. Raises SpecvizError where the target has none like it."""
    try:
        model = skeleton(target.config, trusted=target.trusted)
    except Exception as error:  # a configuration fails in a way of its own
        raise SpecvizError(
            f"--drafter layers cannot be used with --target {target.name}: its layers cannot be told from its "
            f"configuration ({type(error).__name__}). Choose another drafter."
        ) from error
    layers = find_layers(model, target.config)
    if layers is None:
        raise SpecvizError(no_stack(target.name, target.config.model_type))
    count = len(layers)
    n = exit_layer(asked, count)
    if n is None:
        raise SpecvizError(no_exit(target.name, count))
    return Exit(n, tuple(1 / share for share in exit_shares(model, layers)))


def exit_layer(asked: int | None, layers: int) -> int | None:
    """The layer to leave a model of so many after: half way where nothing is asked for; None where there is none."""
    n = layers // 2 if asked is None else asked
    return n if 0 < n < layers else None


def no_stack(name: str, kind: str) -> str:
    """The refusal of a model whose layers are not to be had, in two sentences."""
    return (
        f"--drafter layers cannot be used with --target {name} ({kind}): its layers are not one list. "
        "Choose another drafter, or a target of another family."
    )


def no_exit(name: str, layers: int) -> str:
    """The refusal of an exit that is not there."""
    if layers < 2:
        return f"--drafter layers cannot be used with --target {name}: it has one layer. Choose another drafter."
    return f"--exit-layer is from 1 to {layers - 1} with --target {name}, which has {layers} layers."
