"""What went wrong with the hub, in a sentence that names the model and the way out."""

import errno
import json
from dataclasses import dataclass

from huggingface_hub import constants
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from specviz.core.options import Role
from specviz.decoder.checkpoints.download import TransferError, of_the_network
from specviz.decoder.checkpoints.location import HubUnavailable

LOGIN = "hf auth login, or HF_TOKEN"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS)
REFUSALS = (401, 403, 404, 410)


@dataclass(frozen=True, slots=True)
class HubRequest:
    """A model of the hub, as the user names it and as the hub does."""

    role: Role
    name: str
    id: str
    revision: str | None


def unavailable_from(error: Exception) -> HubUnavailable | None:
    """Why the cache is all there is after ``error`` of the hub; None for an error of this machine or of our own."""
    if isinstance(error, HfHubHTTPError):
        if is_hub_refusal(error):
            return HubUnavailable("the hub does not give it out", f"It may be private or gated: log in ({LOGIN}).")
        status = error.response.status_code
        return HubUnavailable(f"the hub answers with error {status}", "Try again later, or name a local folder.")
    if of_the_network(error) or isinstance(error, json.JSONDecodeError):
        reason = f"the hub ({constants.ENDPOINT}) cannot be reached"
        return HubUnavailable(reason, "Check the network, or name a local folder.")
    return None


def is_hub_refusal(error: Exception) -> bool:
    """Whether the hub works and said no."""
    return isinstance(error, HfHubHTTPError) and error.response.status_code in REFUSALS


def describe(asked: HubRequest, error: Exception, progress: str = "") -> str:
    """What a person is told of ``error``. Nothing is quoted from it: some errors of the client quote the token."""
    model = f"--{asked.role} {asked.name}"
    number = getattr(error, "errno", None)
    match error:
        case TransferError():
            return f"{model} {error.problem.what}. {error.problem.suggestion}"
        case GatedRepoError():
            page = f"{constants.ENDPOINT}/{asked.id}"
            return f"{model} is gated: access must be granted at {page}, and a login is needed ({LOGIN})."
        case DisabledRepoError():
            return f"{model} has been disabled on the hub. Choose another model."
        case RevisionNotFoundError():
            return f"{model} has no revision {asked.revision} on the hub. Check --{asked.role}-revision."
        case RepositoryNotFoundError():
            return f"{model}: the hub has no such model, or it is private. Check the name, or log in ({LOGIN})."
        case HfHubHTTPError() if error.response.status_code in (401, 403):
            return f"{model} is not given out by the hub to this login. Log in again, or as somebody else ({LOGIN})."
        case OSError() if number in NO_ROOM:
            return (
                f"{model}: the disk of the cache ({constants.HF_HUB_CACHE}) is full. Free some, or set HF_HOME to a "
                "folder elsewhere."
            )
        case OSError() if number in NOT_OURS:
            return (
                f"{model}: the cache ({constants.HF_HUB_CACHE}) cannot be written to. Set HF_HOME to a folder that can."
            )
    unavailable = unavailable_from(error)
    if unavailable is None:
        return f"{model} cannot be fetched from the hub ({type(error).__name__}). Try again, or name a local folder."
    if progress and not isinstance(error, HfHubHTTPError):
        return (
            f"The connection to the hub broke at {progress} of {model}. "
            "What has come is kept: start again to go on from there."
        )
    return f"{model} is not in the cache, and {unavailable.reason}. {unavailable.suggestion}"
