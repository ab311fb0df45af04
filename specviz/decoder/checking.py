"""What `specviz check` says of two models beside what they are to each other: files, code, template, prompt."""

from collections.abc import Iterator, Mapping

from specviz.config import PairOptions, Role, RunOptions
from specviz.decoder.devices import placements, quantisation
from specviz.decoder.files import Problem, Weights
from specviz.decoder.findings import Finding, refusal
from specviz.decoder.pair import judge
from specviz.decoder.places import Place
from specviz.decoder.prompts import has_template, no_template, read_prompt
from specviz.decoder.reading import ModelFacts, read_model
from specviz.errors import SpecvizError
from specviz.sizes import bytes_in_words


def look_over(options: RunOptions, places: Mapping[Role, Place]) -> list[Finding]:
    """Every line about the models at ``places``; what takes both of them only where both can be read."""
    models: dict[Role, ModelFacts] = {}
    findings: list[Finding] = []
    for role, place in places.items():
        try:
            models[role] = read_model(place, options.pair)
        except SpecvizError as error:
            findings.append(refusal("model", role, error))
    findings += _files(places, models)
    findings += _code(models)
    if "draft" in models and "target" in models:
        findings += judge(models["draft"], models["target"]).findings
        findings += _placement(models["draft"], models["target"], options.pair)
    if "target" in models:
        findings += _template(models["target"], options)
    return findings


def _files(places: Mapping[Role, Place], models: Mapping[Role, ModelFacts]) -> Iterator[Finding]:
    cells = {role: _where(place, models.get(role)) for role, place in places.items()}
    coming = [text for role, model in models.items() if (text := _to_come(model))]
    shown = cells.get("draft", ""), cells.get("target", "")
    if coming or len(places) == 2:
        yield Finding("files", "note" if coming else "pass", "; ".join(coming) or "nothing is to be downloaded", shown)


def _where(place: Place, model: ModelFacts | None) -> str:
    if place.closed:
        return "cache"
    if place.repository is None:
        return "this machine"
    lacking = place.lacking(model.weights.files) if model and isinstance(model.stored, Weights) else {}
    return f"hub, {bytes_in_words(sum(lacking.values()))} to come" if lacking else "hub, all in the cache"


def _to_come(model: ModelFacts) -> str | None:
    lacking = model.source.lacking(model.weights.files) if isinstance(model.stored, Weights) else {}
    if not lacking:
        return None
    files = "1 file" if len(lacking) == 1 else f"{len(lacking)} files"
    return f"a run downloads {files} of the {model.role} {model.name}, {bytes_in_words(sum(lacking.values()))}"


def _code(models: Mapping[Role, ModelFacts]) -> Iterator[Finding]:
    if not models:
        return
    own = {role: ", ".join(sorted({at.split(".")[0] + ".py" for at in m.code.values()})) for role, m in models.items()}
    run = [role for role, model in models.items() if model.code and model.trusted]
    cells = own.get("draft") or _none("draft", models), own.get("target") or _none("target", models)
    if run:
        yield Finding("own code", "note", f"Python of the {' and the '.join(run)} is run: --trust-remote-code", cells)
    else:
        yield Finding("own code", "pass", "none is run", cells)


def _none(role: Role, models: Mapping[Role, ModelFacts]) -> str:
    return "none" if role in models else ""


def _placement(draft: ModelFacts, target: ModelFacts, asked: PairOptions) -> Iterator[Finding]:
    if isinstance(draft.stored, Problem) or isinstance(target.stored, Problem):
        return
    try:
        places = placements(asked, draft, target)
    except SpecvizError as error:
        yield Finding("device", "refuse", str(error), ("", ""))
        return
    at_draft, at_target = (f"{at.device} and more" if at.spread else str(at.device) for at in places)
    yield Finding("device", "pass", "where they would run", (at_draft, at_target))
    of_draft, of_target = (
        quantisation(model.config) or str(at.dtype).removeprefix("torch.")
        for model, at in zip((draft, target), places, strict=True)
    )
    yield Finding("dtype", "pass", "of the weights", (of_draft, of_target))


def _template(target: ModelFacts, options: RunOptions) -> Iterator[Finding]:
    cells = "", "yes" if has_template(target) else "no"
    if options.chat and not has_template(target):
        yield Finding("chat template", "refuse", str(target.source.refusal(no_template())), cells)
        return
    yield Finding("chat template", "pass", "used by --chat", cells)
    try:
        prompt = read_prompt(target, options.prompts[0][1], target.vocab_size, chat=options.chat)
    except SpecvizError as error:
        yield Finding("prompt", "refuse", str(error), ("", "refused"))
    else:
        yield Finding("prompt", "pass", "read by the target's tokenizer", ("", f"{len(prompt.ids)} tokens"))
