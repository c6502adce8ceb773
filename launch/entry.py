"""From a verb to an exit code: the one place where an error becomes what the operator reads."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

from inventory.errors import BringupError, ExitCode

GARBAGE_AFTER = 50_000
"""New objects until garbage is looked for."""


def run_verb(name: str, options: Mapping[str, Any]) -> NoReturn:
    """Run the function `name` of `launch.verbs` and exit with its code; never shows a traceback."""
    # Modules and facts live to the end: looking at them for garbage at every 700 objects is a fifth of a short verb.
    gc.set_threshold(GARBAGE_AFTER)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it reads every installed package's metadata
    sys.exit(int(_outcome(name, options)))


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
    except BrokenPipeError:
        # The reader of stdout has gone: nothing is left to say, also not at the interpreter's exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception:  # noqa: BLE001  (a bug becomes a sentence and a file, never a traceback)
        return _bug()


def _tell(error: BringupError) -> ExitCode:
    from launch.console.report import Report

    Report().error(error)
    return error.exit_code


def _bug() -> ExitCode:
    with tempfile.NamedTemporaryFile("w", prefix="bringup-bug-", suffix=".txt", delete=False) as file:
        file.write(traceback.format_exc())
    last = traceback.format_exc().strip().splitlines()[-1]
    sys.stderr.write(f"this is a bug in bringup: {last}\n  next: report it with {file.name}\n")
    return ExitCode.BUG
