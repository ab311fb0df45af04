"""Errors of the hub as a sentence or two that name the model, the reason and what to do."""

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
from specviz.decoder.checkpoints.download import TransferError, is_network_error
from specviz.decoder.checkpoints.location import HubUnavailable

LOGIN = "hf auth login, or HF_TOKEN"
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
REFUSALS = (401, 403, 404, 410)


@dataclass(frozen=True, slots=True)
class HubRequest:
    """A model on the hub: its name on the command line, and its id there."""

    role: Role
    name: str
    id: str
    revision: str | None


def unavailable_from(error: Exception) -> HubUnavailable | None:
    """Why only the cache can be used after ``error``; None for an error of this machine or of specviz."""
    if isinstance(error, HfHubHTTPError):
        if is_hub_refusal(error):
            return HubUnavailable("the hub refuses access to it", f"It may be private or gated: log in ({LOGIN}).")
        status = error.response.status_code
        return HubUnavailable(f"the hub answers with error {status}", "Try again later, or use a local folder.")
    if is_network_error(error) or isinstance(error, json.JSONDecodeError):
        reason = f"the hub ({constants.ENDPOINT}) cannot be reached"
        return HubUnavailable(reason, "Check the network, or use a local folder.")
    return None


def is_hub_refusal(error: Exception) -> bool:
    """Whether the hub answered and refused."""
    return isinstance(error, HfHubHTTPError) and error.response.status_code in REFUSALS


def describe(request: HubRequest, error: Exception, progress: str = "") -> str:
    """The message for ``error``. It quotes nothing from it: some errors of the client contain the token."""
    model = f"--{request.role} {request.name}"
    number = getattr(error, "errno", None)
    match error:
        case TransferError():
            return f"{model} {error.problem.what}. {error.problem.suggestion}"
        case GatedRepoError():
            page = f"{constants.ENDPOINT}/{request.id}"
            return f"{model} is gated: request access at {page} and log in ({LOGIN})."
        case DisabledRepoError():
            return f"{model} has been disabled on the hub. Choose another model."
        case RevisionNotFoundError():
            return f"{model} has no revision {request.revision} on the hub. Check --{request.role}-revision."
        case RepositoryNotFoundError():
            return f"{model}: the hub has no such model, or it is private. Check the name, or log in ({LOGIN})."
        case HfHubHTTPError() if error.response.status_code in (401, 403):
            return f"{model} is not accessible with this login. Log in again, or with another account ({LOGIN})."
        case OSError() if number in DISK_FULL:
            return (
                f"{model}: the disk of the cache ({constants.HF_HUB_CACHE}) is full. Free some space, or set HF_HOME "
                "to a folder on another disk."
            )
        case OSError() if number in NOT_WRITABLE:
            return f"{model}: the cache ({constants.HF_HUB_CACHE}) is not writable. Set HF_HOME to a writable folder."
    unavailable = unavailable_from(error)
    if unavailable is None:
        return f"{model} cannot be downloaded from the hub ({type(error).__name__}). Try again, or use a local folder."
    if progress and not isinstance(error, HfHubHTTPError):
        return (
            f"The connection to the hub broke at {progress} of {model}. "
            "The partial download is kept; run again to resume it."
        )
    return f"{model} is not in the cache, and {unavailable.reason}. {unavailable.suggestion}"
