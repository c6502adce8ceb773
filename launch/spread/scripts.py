"""What hosts are told while a folder is spread: scripts as text. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inventory.quoting import quote, quote_all
from inventory.recorded import PROCESS_FUNCTIONS
from launch.spread.program import OLDEST_PYTHON, program
from playbooks.jobs import start_script

NO_PYTHON = "no-python"
GONE = "gone"
START_S = 15


@dataclass(frozen=True, slots=True)
class Post:
    """One host's part of a spread. `state_dir`, `run` and `folder` are absolute paths on it; `run` is ours alone."""

    host: str
    state_dir: str
    folder: str
    address: str
    parcel: str  # its digest

    @property
    def run(self) -> str:
        return f"{self.state_dir}/spread/{self.parcel[:16]}"


def begin_script(post: Post, plan: Mapping[str, Any], secret: str, job: str, about: str) -> str:
    """End what an earlier run left, start the program as a job, and print what it says of itself first.

    The secret is in the text, which goes through the login, and in a file for this user alone; in no list of processes.
    """
    files = {"spread.pyz": program(), "plan.json": json.dumps(plan).encode(), "secret": secret.encode()}
    run = quote(post.run)
    body = f"""umask 077
cd -- {run} || exit 1
umask 022
exec "$(cat python)" spread.pyz {run}
"""
    return f"""{PROCESS_FUNCTIONS}
{_end(run)}
umask 077
mkdir -p -- {run} && cd -- {run} || exit 1
rm -f -- state.json peers.json process
{"".join(_file(name, content) for name, content in files.items())}
{_find_python(post.state_dir)}
{start_script(job, body, state_dir=post.state_dir, about=about, follow=False)}
looks=0
while [ ! -s state.json ] && [ "$looks" -lt {START_S * 10} ]; do
  if [ -e "$job/exit" ]; then tail -n 5 "$job/output" >&2; exit 1; fi
  sleep 0.1; looks=$((looks + 1))
done
cat state.json
"""


def ring_script(post: Post, ring: Sequence[tuple[str, str, int]]) -> str:
    """Tell the program who else takes part, at which address and port."""
    return f"""umask 077
cd -- {quote(post.run)} && printf '%s\\n' {quote(json.dumps(ring))} >peers.new && mv peers.new peers.json
"""


def look_script(post: Post) -> str:
    """Print how it goes, and `gone` behind it when its process has ended."""
    return f"""{PROCESS_FUNCTIONS}
cd -- {quote(post.run)} 2>/dev/null || {{ echo {GONE}; exit 0; }}
if recorded_alive process; then alive=yes; else alive=no; fi
cat state.json 2>/dev/null && echo
if [ "$alive" = no ]; then echo {GONE}; fi
"""


def end_script(post: Post, *, forget: bool) -> str:
    """End the program and print its last words; `forget`: what it needed to go on later is removed too."""
    run = quote(post.run)
    last = f"cat {run}/state.json 2>/dev/null && echo\n"
    return f"{PROCESS_FUNCTIONS}\n{_end(run)}\n{last}" + (f"rm -rf -- {run}\n" if forget else "")


def _end(run: str) -> str:
    """End the recorded process, by force when it does not go by itself."""
    return f"""if recorded_alive {run}/process; then
  kill "$pid"
  looks=0
  while [ "$looks" -lt 30 ] && recorded_alive {run}/process; do sleep 0.1; looks=$((looks + 1)); done
  if recorded_alive {run}/process; then kill -9 "$pid"; fi
fi"""


def _find_python(state_dir: str) -> str:
    """The host's own, or that of an environment that was installed. Says where it lies in the file `python`."""
    major, minor = OLDEST_PYTHON
    test = f"import sys, hashlib, zlib; sys.exit(sys.version_info < ({major}, {minor}))"
    return f"""rm -f python
for one in python3 {quote_all([state_dir + "/envs"])}/*/bin/python3 /usr/libexec/platform-python; do
  one=$(command -v "$one") || continue
  if "$one" -c {quote(test)} 2>/dev/null; then printf '%s\\n' "$one" >python; break; fi
done
if [ ! -s python ]; then echo {NO_PYTHON}; exit 0; fi
"""


def _file(name: str, content: bytes) -> str:
    body = base64.encodebytes(content).decode()
    return f"base64 -d >{name}.new <<'END' && mv {name}.new {name} || exit 1\n{body}END\n"
