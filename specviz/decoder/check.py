"""What `specviz check` says of the models beside what they are to each other: files, code, layers, template, prompt."""

from collections.abc import Iterator, Mapping, Sequence

from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions, Role, RunOptions
from specviz.core.units import bytes_in_words
from specviz.decoder.checkpoints.files import Problem, Weights
from specviz.decoder.checkpoints.location import CheckpointLocation
from specviz.decoder.drafters.protocol import drafter_factories
from specviz.decoder.loading.compiling import missing_toolchain, why_not_of
from specviz.decoder.models.cache_support import unsupported_reason
from specviz.decoder.pairing.compatibility import check_pair
from specviz.decoder.pairing.finding import Finding, refused_finding
from specviz.decoder.pairing.model_info import ModelFacts, read_files, read_model
from specviz.decoder.pairing.placement import Placement, placements, quantisation
from specviz.decoder.pairing.prompt import has_template, no_template, read_prompt


def look_over(options: RunOptions, locations: Mapping[Role, CheckpointLocation]) -> list[Finding]:
    """Every line about the models at ``locations``; what takes all of them only where all can be read."""
    models: dict[Role, ModelFacts] = {}
    findings: list[Finding] = []
    for role, location in locations.items():
        try:
            models[role] = read_model(read_files(location, options.pair))
        except SpecvizError as error:
            findings.append(refused_finding("model", role, error))
    findings += _files(locations, models, options.pair)
    findings += _code(models)
    draft, target = models.get("draft"), models.get("target")
    if target and len(models) == len(options.pair.roles):
        findings += check_pair(draft, target).findings
        findings += _placement(draft, target, options.pair)
    if target:
        for factory in drafter_factories(options.drafting, options.settings.drafter).values():
            findings += factory.findings(target)
        findings += _template(target, options)
    return findings


def _files(
    locations: Mapping[Role, CheckpointLocation], models: Mapping[Role, ModelFacts], asked: PairOptions
) -> Iterator[Finding]:
    columns = {role: _where(location, models.get(role)) for role, location in locations.items()}
    coming = [text for role, model in models.items() if (text := _to_come(model))]
    shown = columns.get("draft", ""), columns.get("target", "")
    if coming or len(locations) == len(asked.roles):
        yield Finding("files", "note" if coming else "pass", "; ".join(coming) or "nothing is to be downloaded", shown)


def _where(location: CheckpointLocation, model: ModelFacts | None) -> str:
    if location.unavailable:
        return "cache"
    if location.repository is None:
        return "this machine"
    missing = location.missing(model.weights.files) if model and isinstance(model.stored, Weights) else {}
    return f"hub, {bytes_in_words(sum(missing.values()))} to come" if missing else "hub, all in the cache"


def _to_come(model: ModelFacts) -> str | None:
    missing = model.location.missing(model.weights.files) if isinstance(model.stored, Weights) else {}
    if not missing:
        return None
    files = "1 file" if len(missing) == 1 else f"{len(missing)} files"
    return f"a run downloads {files} of the {model.role} {model.name}, {bytes_in_words(sum(missing.values()))}"


def _code(models: Mapping[Role, ModelFacts]) -> Iterator[Finding]:
    if not models:
        return
    own = {role: ", ".join(sorted({at.split(".")[0] + ".py" for at in m.code.values()})) for role, m in models.items()}
    run = [role for role, model in models.items() if model.code and model.trusted]
    columns = own.get("draft") or _none("draft", models), own.get("target") or _none("target", models)
    if run:
        yield Finding("own code", "note", f"Python of the {' and the '.join(run)} is run: --trust-remote-code", columns)
    else:
        yield Finding("own code", "pass", "none is run", columns)


def _none(role: Role, models: Mapping[Role, ModelFacts]) -> str:
    return "none" if role in models else ""


def _placement(draft: ModelFacts | None, target: ModelFacts, asked: PairOptions) -> Iterator[Finding]:
    if any(model and isinstance(model.stored, Problem) for model in (draft, target)):
        return
    try:
        locations = placements(asked, draft, target)
    except SpecvizError as error:
        yield Finding("device", "refuse", str(error), ("", ""))
        return
    rows = list(zip((draft, target), locations, strict=True))
    at_draft, at_target = (_device(at) for _, at in rows)
    yield Finding("device", "pass", "where they would run" if draft else "where it would run", (at_draft, at_target))
    of_draft, of_target = (_dtype(model, at) for model, at in rows)
    yield Finding("dtype", "pass", "of the weights", (of_draft, of_target))
    if asked.compile:
        yield _compiled([(model, at) for model, at in rows if model and at])


def _compiled(rows: Sequence[tuple[ModelFacts, Placement]]) -> Finding:
    """What --compile would come to, as far as it shows without weights."""
    devices = dict.fromkeys(at.device for _, at in rows)
    reasons = [f"nothing is compiled for {device}: {why}" for device in devices if (why := missing_toolchain(device))]
    reasons += [
        f"the {model.role} is not compiled: {why}"
        for model, _ in rows
        if not unsupported_reason(model.config) and (why := why_not_of(model.config))
    ]
    text = " ".join(reasons) or "tried when it is loaded"
    return Finding("compiled", "note" if reasons else "pass", text, ("", ""))


def _device(at: Placement | None) -> str:
    return "" if at is None else f"{at.device} and more" if at.spread else str(at.device)


def _dtype(model: ModelFacts | None, at: Placement | None) -> str:
    if model is None or at is None:
        return ""
    return quantisation(model.config) or str(at.dtype).removeprefix("torch.")


def _template(target: ModelFacts, options: RunOptions) -> Iterator[Finding]:
    columns = "", "yes" if has_template(target) else "no"
    if options.chat and not has_template(target):
        yield Finding("chat template", "refuse", str(target.location.error_for(no_template())), columns)
        return
    yield Finding("chat template", "pass", "used by --chat", columns)
    try:
        prompt = read_prompt(target, options.prompts[0][1], target.vocab_size, chat=options.chat)
    except SpecvizError as error:
        yield Finding("prompt", "refuse", str(error), ("", "refused"))
    else:
        yield Finding("prompt", "pass", "read by the target's tokenizer", ("", f"{len(prompt.ids)} tokens"))
