"""The findings of `specviz check` beyond compatibility: files, custom code, devices, drafters, template, prompt."""

from collections.abc import Iterator, Mapping, Sequence

from specviz.core.errors import SpecvizError
from specviz.core.options import PairOptions, Role, RunOptions
from specviz.core.units import bytes_in_words
from specviz.decoder.checkpoints.files import Problem, Weights
from specviz.decoder.checkpoints.location import CheckpointLocation
from specviz.decoder.drafters.protocol import drafter_factories
from specviz.decoder.loading.compiling import config_uncompilable_reason, missing_toolchain
from specviz.decoder.models.cache_support import unsupported_reason
from specviz.decoder.pairing.compatibility import check_pair
from specviz.decoder.pairing.finding import Finding, refused_finding
from specviz.decoder.pairing.model_info import ModelFacts, read_files, read_model
from specviz.decoder.pairing.placement import Placement, placements, quantisation
from specviz.decoder.pairing.prompt import has_template, no_template, read_prompt


def check_models(options: RunOptions, locations: Mapping[Role, CheckpointLocation]) -> list[Finding]:
    """All findings about the models at ``locations``; those that compare models only if every model can be read."""
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
    locations: Mapping[Role, CheckpointLocation], models: Mapping[Role, ModelFacts], options: PairOptions
) -> Iterator[Finding]:
    values = {role: _where(location, models.get(role)) for role, location in locations.items()}
    downloads = [text for role, model in models.items() if (text := _download(model))]
    columns = values.get("draft", ""), values.get("target", "")
    if downloads or len(locations) == len(options.roles):
        yield Finding("files", "note" if downloads else "pass", "; ".join(downloads) or "nothing to download", columns)


def _where(location: CheckpointLocation, model: ModelFacts | None) -> str:
    if location.unavailable:
        return "cache"
    if location.repository is None:
        return "this machine"
    missing = location.missing(model.weights.files) if model and isinstance(model.stored, Weights) else {}
    return f"hub, {bytes_in_words(sum(missing.values()))} to download" if missing else "hub, all in the cache"


def _download(model: ModelFacts) -> str | None:
    missing = model.location.missing(model.weights.files) if isinstance(model.stored, Weights) else {}
    if not missing:
        return None
    files = "1 file" if len(missing) == 1 else f"{len(missing)} files"
    return f"a run will download {files} of the {model.role} {model.name}, {bytes_in_words(sum(missing.values()))}"


def _code(models: Mapping[Role, ModelFacts]) -> Iterator[Finding]:
    if not models:
        return
    files = {
        role: ", ".join(sorted({reference.split(".")[0] + ".py" for reference in model.code.values()}))
        for role, model in models.items()
    }
    trusted = [role for role, model in models.items() if model.code and model.trusted]
    columns = files.get("draft") or _none("draft", models), files.get("target") or _none("target", models)
    if trusted:
        text = f"--trust-remote-code runs Python files of the {' and the '.join(trusted)}"
        yield Finding("custom code", "note", text, columns)
    else:
        yield Finding("custom code", "pass", "none runs", columns)


def _none(role: Role, models: Mapping[Role, ModelFacts]) -> str:
    return "none" if role in models else ""


def _placement(draft: ModelFacts | None, target: ModelFacts, options: PairOptions) -> Iterator[Finding]:
    if any(model and isinstance(model.stored, Problem) for model in (draft, target)):
        return
    try:
        places = placements(options, draft, target)
    except SpecvizError as error:
        yield Finding("device", "refuse", str(error), ("", ""))
        return
    rows = list(zip((draft, target), places, strict=True))
    draft_device, target_device = (_device(place) for _, place in rows)
    text = "where they would run" if draft else "where it would run"
    yield Finding("device", "pass", text, (draft_device, target_device))
    draft_dtype, target_dtype = (_dtype(model, place) for model, place in rows)
    yield Finding("dtype", "pass", "of the weights", (draft_dtype, target_dtype))
    if options.compile:
        yield _compiled([(model, place) for model, place in rows if model and place])


def _compiled(rows: Sequence[tuple[ModelFacts, Placement]]) -> Finding:
    """What --compile would do, as far as that is known without the weights."""
    devices = dict.fromkeys(place.device for _, place in rows)
    reasons = [
        f"nothing is compiled for {device}: {reason}" for device in devices if (reason := missing_toolchain(device))
    ]
    reasons += [
        f"the {model.role} is not compiled: {reason}"
        for model, _ in rows
        if not unsupported_reason(model.config) and (reason := config_uncompilable_reason(model.config))
    ]
    text = " ".join(reasons) or "tried after loading"
    return Finding("compiled", "note" if reasons else "pass", text, ("", ""))


def _device(place: Placement | None) -> str:
    return "" if place is None else f"{place.device} and more" if place.spread else str(place.device)


def _dtype(model: ModelFacts | None, place: Placement | None) -> str:
    if model is None or place is None:
        return ""
    return quantisation(model.config) or str(place.dtype).removeprefix("torch.")


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
        yield Finding("prompt", "pass", "encoded by the target's tokenizer", ("", f"{len(prompt.ids)} tokens"))
