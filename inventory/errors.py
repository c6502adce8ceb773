"""What can go wrong, as an operator sees it.

Every error that is not a bug in bringup is a `BringupError`. It says what was observed, what is required and
what to type next, and its class decides the exit code of the verb. `id` names the runbook: `docs/runbooks/<id>.md`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Exit codes of every verb. Scripts depend on them: never renumber."""

    DONE = 0
    BUG = 1
    BAD_INPUT = 2
    UNREACHABLE = 3
    CHECK_FAILED = 4
    CHANGE_FAILED = 5
    NOT_SERVING = 6
    LOCKED = 7
    CHANGES_PENDING = 8
    INTERRUPTED = 130


class BringupError(Exception):
    """An outcome that an operator can act on.

    `message` is one sentence without a full stop. `observed` and `required` are short facts; `next_command` is a
    command line that can be pasted. `host` is the inventory name of the host concerned, if it is one host.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.BUG

    def __init__(
        self,
        message: str,
        *,
        id: str,  # noqa: A002  (the word that operators and runbooks use)
        observed: str = "",
        required: str = "",
        next_command: str = "",
        host: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.id = id
        self.observed = observed
        self.required = required
        self.next_command = next_command
        self.host = host

    def __str__(self) -> str:
        where = f"{self.host}: " if self.host else ""
        lines = [f"{where}{self.message} [{self.id}]"]
        lines += [
            f"  {label}: {text}"
            for label, text in (
                ("observed", self.observed),
                ("required", self.required),
                ("next", self.next_command),
            )
            if text
        ]
        return "\n".join(lines)


class BadInput(BringupError):
    """What the operator typed or wrote in YAML cannot be used."""

    exit_code = ExitCode.BAD_INPUT


class HostUnreachable(BringupError):
    """A host did not answer, or its answer was cut off: its state is unknown."""

    exit_code = ExitCode.UNREACHABLE


class CheckFailed(BringupError):
    """A check failed or is unknown; nothing was changed."""

    exit_code = ExitCode.CHECK_FAILED


class ChangeFailed(BringupError):
    """A change was tried and failed, met drift, or did not converge."""

    exit_code = ExitCode.CHANGE_FAILED


class NotServing(BringupError):
    """The deployment is not serving: never ready, smoke failed, or degraded."""

    exit_code = ExitCode.NOT_SERVING


class Locked(BringupError):
    """Another run holds the lock of a host."""

    exit_code = ExitCode.LOCKED


class ChangesPending(BringupError):
    """What was asked for is not all done: the rest needs a word of the operator first."""

    exit_code = ExitCode.CHANGES_PENDING


class Several(BringupError):
    """More than one error of the same phase, reported together; the gravest exit code wins (see `GRAVITY`)."""

    GRAVITY: ClassVar[tuple[ExitCode, ...]] = (
        ExitCode.BUG,
        ExitCode.BAD_INPUT,
        ExitCode.CHANGE_FAILED,
        ExitCode.LOCKED,
        ExitCode.UNREACHABLE,
        ExitCode.CHECK_FAILED,
        ExitCode.NOT_SERVING,
        ExitCode.CHANGES_PENDING,
    )

    def __init__(self, errors: tuple[BringupError, ...]) -> None:
        super().__init__("; ".join(error.message for error in errors), id=errors[0].id)
        self.errors = errors
        self.exit_code = min((error.exit_code for error in errors), key=self.GRAVITY.index)  # type: ignore[misc]

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def raise_all(errors: list[BringupError]) -> None:
    """Raise nothing, the one error, or all of them, those of a `Several` too, as `Several`."""
    errors = [each for one in errors for each in (one.errors if isinstance(one, Several) else (one,))]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise Several(tuple(errors))
