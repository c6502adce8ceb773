"""Ask hosts what they hold, compare it with its manifests, and take away what nothing needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inventory.errors import BringupError, ChangeFailed
from inventory.quoting import quote_all
from inventory.transport.exchange import in_time
from launch.weights.holdings import Held, Holding, holdings_script, judged, read_holdings, remove_script
from playbooks import jobs
from playbooks.joblist import read_jobs

if TYPE_CHECKING:
    from inventory.fleet import Fleet
    from inventory.transport.base import Transport

PROGRAM = Path(__file__).parent / "on_host.py"
LIST_S, SIZES_S, REMOVE_S = 120.0, 600.0, 1800.0
DIGESTS_S = 7 * 24 * 3600.0
JOB = "verify-weights"


@dataclass(frozen=True, slots=True)
class Compared:
    """What is wrong with one folder: (path, what), at most 50, and how many `more`. `bytes`: of its manifest."""

    host: str
    folder: str
    files: int
    bytes: int
    more: int
    wrong: tuple[tuple[str, str], ...]
    simulated: bool = False


def held_by(fleet: Fleet, hosts: Sequence[str]) -> dict[str, Held | BringupError]:
    """What every host holds, or why it did not tell."""

    def one(transport: Transport) -> Held:
        script = holdings_script(state_dir=fleet.state_dirs[transport.host])
        answer = in_time(transport.run(script, timeout=LIST_S), transport.host)
        try:
            return read_holdings(transport.host, answer.text)
        except ValueError as error:
            raise _unreadable(transport.host, str(error)) from None

    return fleet.each(one, hosts)


def compared(
    fleet: Fleet, folders: Mapping[str, Sequence[str]], *, digests: bool, run: str, says: Callable[[str], None]
) -> dict[str, tuple[Compared, ...] | BringupError]:
    """Compare folders, by host, with their manifests: sizes, or every byte as a detached job that outlives this run."""

    def one(transport: Transport) -> tuple[Compared, ...]:
        state_dir = fleet.state_dirs[transport.host]
        script = compare_script(folders[transport.host], digests=digests, state_dir=state_dir)
        if not digests:
            return read_compared(transport.host, in_time(transport.run(script, timeout=SIZES_S), transport.host).text)
        job = _followed(transport, script, run, state_dir, says)
        return read_compared(transport.host, transport.get(f"{state_dir}/jobs/{job}/output").decode(errors="replace"))

    return fleet.each(one, tuple(folders))


def _followed(transport: Transport, script: str, run: str, state_dir: str, says: Callable[[str], None]) -> str:
    """The job that reads everything, to its end. One that an earlier run left is followed, and no second one begun."""
    listed = transport.run(jobs.listed_jobs_script(state_dir=state_dir), timeout=LIST_S).text
    running = [one for one in read_jobs(transport.host, listed) if one.id.startswith(JOB) and one.state == "running"]
    job = running[-1].id if running else f"{JOB}-{run}"
    about = json.dumps({"why": "weights.verify --digests", "changes": ["read all weights and compare their sums"]})
    text = (
        jobs.follow_script(job, state_dir=state_dir)
        if running
        else jobs.start_script(job, script, state_dir=state_dir, about=about)
    )
    says(f"{transport.host}: job {job} reads everything, also without this run: invoke jobs --hosts {transport.host}")
    done = transport.run(text, timeout=DIGESTS_S)
    if done.exit_status != 0:
        raise _unreadable(transport.host, done.stderr.decode(errors="replace").strip()[-300:])
    return job


def compare_script(folders: Sequence[str], *, digests: bool, state_dir: str) -> str:
    """The first Python that runs on the host does it."""
    words = quote_all(["digests" if digests else "sizes", *folders])
    return f"""cd / || exit 1
for python in {quote_all([state_dir])}/envs/*/bin/python python3; do
  "$python" -I -S -B -c 'import json' 2>/dev/null || continue
  "$python" -I -S -B - {words} <<'END_OF_PROGRAM'
{PROGRAM.read_text(encoding="utf-8")}
END_OF_PROGRAM
  exit
done
echo 'no Python is here: neither python3 nor an environment of bringup' >&2
exit 1
"""


def read_compared(host: str, answer: str) -> tuple[Compared, ...]:
    """Read what `on_host.py` printed; other lines of a job's output are passed over. Raises `ChangeFailed` for none."""
    found = []
    for line in answer.splitlines():
        try:
            told = json.loads(line)
            wrong = tuple((str(path), str(what)) for path, what in told["wrong"])
            files, size, more = (int(told[name]) for name in ("files", "bytes", "more"))
            one = Compared(host, str(told["folder"]), files, size, more, wrong, bool(told["simulated"]))
            found.append(one)
        except (ValueError, KeyError, TypeError):
            continue
    if not found:
        raise _unreadable(host, answer.strip()[-300:] or "no answer")
    return tuple(found)


def removed(fleet: Fleet, chosen: Mapping[str, Sequence[Holding]]) -> dict[str, tuple[str, ...]]:
    """Remove folders, under the caller's locks: each host tells anew what may go, and only that goes.

    Returns the paths that are gone, by host.
    """

    def one(transport: Transport) -> tuple[str, ...]:
        state_dir = fleet.state_dirs[transport.host]
        answer = in_time(transport.run(holdings_script(state_dir=state_dir), timeout=LIST_S), transport.host).text
        still = {one.holding.path for one in judged(read_holdings(transport.host, answer)) if one.may_go}
        paths = [holding.path for holding in chosen[transport.host] if holding.path in still]
        done = transport.run(remove_script(paths, state_dir=state_dir), timeout=REMOVE_S)
        gone = tuple(line.removeprefix("gone ") for line in done.text.splitlines() if line.startswith("gone "))
        if len(gone) != len(paths):
            raise _not_gone(transport.host, paths, gone, done.stderr.decode(errors="replace"))
        return gone

    return fleet.all(one, tuple(chosen))


def _not_gone(host: str, paths: Sequence[str], gone: Sequence[str], said: str) -> ChangeFailed:
    left = [path for path in paths if path not in gone]
    return ChangeFailed(
        "weights could not be removed",
        id="weights-not-removed",
        observed=f"{left[0]}: {said.strip()[-200:] or 'no words'}",
        required="folders that the login user may remove",
        next_command=f"on {host}: ls -ld {left[0]}",
        host=host,
    )


def _unreadable(host: str, observed: str) -> ChangeFailed:
    return ChangeFailed(
        "the host does not tell about its weights",
        id="weights-unreadable",
        observed=observed,
        required="a line for each folder of weights",
        next_command=f"invoke probe --hosts {host} --host-detail",
        host=host,
    )
