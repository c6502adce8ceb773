"""From a verb to an exit code: the one place where an error becomes what the operator reads."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

from inventory.errors import BadInput, BringupError, ExitCode
from launch.console.outlet import opened

ENDED_BY = (signal.SIGTERM, signal.SIGHUP)
"""Ends as Ctrl-C does: `timeout`, or a terminal that was closed, must leave no lock."""
GARBAGE_AFTER = 50_000
"""New objects until garbage is looked for."""


def run_verb(name: str, options: Mapping[str, Any]) -> NoReturn:
    """Run the function `name` of `launch.verbs` and exit with its code; never shows a traceback."""
    # Modules and facts live to the end: looking at them for garbage at every 700 objects is a fifth of a short verb.
    gc.set_threshold(GARBAGE_AFTER)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it reads every installed package's metadata
    for number in ENDED_BY:
        if signal.getsignal(number) is signal.SIG_DFL:  # not under nohup
            signal.signal(number, _interrupt)
    out, _ = opened()
    code = _outcome(name, options)
    out.flush()
    sys.exit(int(_told_nobody(code, out.lost)))


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _outcome(name: str, options: Mapping[str, Any]) -> int:
    try:
        from launch import verbs
        from launch.console.nextcommand import remember

        remember(options)
        return verbs.of(name)(**options)
    except BringupError as error:
        return _tell(error)
    except KeyboardInterrupt:
        sys.stderr.write(
            "\ninterrupted: work that was started on the hosts goes on there; "
            "type the same command again to pick it up\n"
        )
        return ExitCode.INTERRUPTED
    except Exception:  # noqa: BLE001  (a bug becomes a sentence and a file, never a traceback)
        return _bug()


def _told_nobody(code: int, lost: OSError | None) -> int:
    """What was found and could not be written is not done; a reader that has had enough, `| head`, lost nothing."""
    if lost is None or isinstance(lost, BrokenPipeError):
        return code
    told = _tell(
        BadInput(
            "what was found could not be written",
            id="output-lost",
            observed=f"stdout: {lost.strerror}",
            required="a file on a disk with room, a pipe or a terminal",
            next_command="the same command with its output somewhere else",
        )
    )
    return code or told


def _tell(error: BringupError) -> ExitCode:
    from launch.console.report import Report

    Report().error(error)
    return error.exit_code


def _bug() -> ExitCode:
    told = traceback.format_exc()
    try:
        with tempfile.NamedTemporaryFile("w", prefix="bringup-bug-", suffix=".txt", delete=False) as file:
            file.write(told)
        where = file.name
    except OSError:  # a full disk is where bugs come to light
        where = "what follows\n" + told
    sys.stderr.write(f"this is a bug in bringup: {told.strip().splitlines()[-1]}\n  next: report it with {where}\n")
    return ExitCode.BUG
