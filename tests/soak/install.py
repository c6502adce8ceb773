"""A run of `install` is struck at a moment by chance; afterwards the same command converges, and nothing half done was
called done.

    sudo .venv/bin/python -m tests.soak.install --rounds 200

Two lab hosts. A round: begin anew, start the run, strike it (its process killed, sshd's sessions killed, the power cut,
the disk full), put that right, strike the next run, up to four times; then type the same command again. After every run
that says done all is looked at by other means than bringup's. Blows that come too late do not count.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from inventory.lab import lifecycle
from inventory.lab.lifecycle import Equipment
from inventory.lab.state import Lab
from tests.lab.trial_environment import SAYS
from tests.soak.blows import BLOWS, FILES, Struck, after_full, before_full, moment, on
from tests.soak.run import STATE, environment
from tests.unit.playbooks.wheel import make_uv_wheel, make_wheel, real_uv

ROOT = Path(__file__).resolve().parents[2]
ENGINE = "import helper\ndef main():\n    print(helper.VERSION)\n"
BIG = "0123456789abcdef" * 4096  # 64 kB: a file that a full disk can cut off
BLOWS_AT_MOST = 4
LINES = 12
"""Of which a run says at most so many."""

SLOW = f"sleep 0.4 && echo $0 >>{FILES}/log && : >{FILES}/$0"
BOOK = f"""\
about: what the soak makes and breaks
steps:
  - {{id: folder, kind: directory, why: w, path: {FILES}/d, mode: "0750", phase: prepare}}
  - {{id: small, kind: file, why: w, path: {FILES}/d/small, content: "one\\ntwo\\n", mode: "0600"}}
  - {{id: big, kind: file, why: w, path: {FILES}/d/big, content: "{BIG}"}}
  - {{id: odd, kind: file, why: w, path: "{FILES}/d/it's $odd", content: "a 'b' $c\\n"}}
  - {{id: first, kind: command, why: w, run: [sh, -c, "{SLOW}", "1"], creates: {FILES}/1}}
  - {{id: second, kind: command, why: w, run: [sh, -c, "{SLOW}", "2"], creates: {FILES}/2}}
  - {{id: link, kind: symlink, why: w, path: {FILES}/current, target: {FILES}/d, phase: services}}
"""
HOLDS = f"""cd {FILES} && cat log && stat -c '%a %s' d d/small d/big && cat "d/it's \\$odd" && readlink current &&
  sha256sum d/big | cut -c 1-16 && ls 1 2 >/dev/null && env -i {STATE}/envs/*/bin/vllm --version &&
  cat {STATE}/envs/*/bringup-env.json >/dev/null && test -z "$(find . -name '*.new*' -o -name '.*.tmp*')"
"""


class Soak:
    """One lab and what was seen in it. `half_done`: runs that said done where it was not; it must stay empty."""

    def __init__(self, lab: Lab, folder: Path, seed: int) -> None:
        self.lab = lab
        self.chance = random.Random(seed)  # noqa: S311  (which moments, not a secret)
        self.book, self.wheels = folder / "book.yaml", folder / "wheels"
        self.book.write_text(BOOK)
        self.struck: Counter[str] = Counter()
        self.missed = 0
        self.said: Counter[str] = Counter()
        self.half_done: list[str] = []
        self.not_converged: list[str] = []

    def begin(self, kind: str, host: str) -> None:
        """Everything as before the first run; what was shipped is left there every other time."""
        kept = self.chance.random() < 0.5
        for one in self.lab.hosts:
            left = f"find {STATE} -mindepth 1 -maxdepth 1 {'! -name wheelhouses' if kept else ''} -exec rm -rf {{}} +"
            on(self.lab, one.name, f"rm -rf {FILES}; mkdir -p {STATE} && {left}")
        if kind == "disk":
            before_full(self.lab, host)

    def started(self) -> subprocess.Popen[str]:
        words = ("tests.soak.run", str(self.lab.inventory), str(self.book), str(self.wheels))
        return subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def round(self, kind: str) -> None:
        """Up to `BLOWS_AT_MOST` blows of a kind, each upon what the one before has left; then the same command."""
        host = self.chance.choice([one.name for one in self.lab.hosts])
        self.begin(kind, host)
        try:
            said = [self.blow(kind, host) for _ in range(self.chance.randint(1, BLOWS_AT_MOST))]
            self.converges(f"{self.struck.total()} blows, {kind} on {host}", said)
        finally:
            if kind == "disk":
                after_full(self.lab, host)

    def blow(self, kind: str, host: str) -> str:
        with self.started() as run:
            hit = moment(self.chance, run, LINES)
            heal = BLOWS[kind](Struck(self.lab, host, run)) if hit else lambda: None
            _, said = run.communicate(timeout=240)
        heal()
        if not hit:
            self.missed += 1
        else:
            self.struck[kind] += 1
            self.said[f"{kind}: exit {run.returncode}"] += 1
        if run.returncode == 0:
            self.look(f"{self.struck.total()} blows, {kind} on {host}", f"the run that was struck said done\n{said}")
        return said

    def converges(self, where: str, said: Sequence[str]) -> None:
        with self.started() as again:
            _, told = again.communicate(timeout=300)
        if again.returncode != 0:
            struck = "\n--- struck\n".join(said)
            self.not_converged.append(f"{where}: exit {again.returncode}\n--- struck\n{struck}\n--- again\n{told}")
            sys.stderr.write(f"NOT CONVERGED {self.not_converged[-1]}\n")
            return
        self.look(where, told)
        with self.started() as third:
            _, told = third.communicate(timeout=120)
        if third.returncode != 0 or "nothing to change" not in told:
            self.not_converged.append(f"{where}: a further run: exit {third.returncode}\n{told}")

    def look(self, where: str, said: str) -> None:
        for one in self.lab.hosts:
            seen = on(self.lab, one.name, HOLDS)
            lines = seen.stdout.split("\n")
            log = [line for line in lines if line in {"1", "2"}]
            rest = [line for line in lines if line not in {"1", "2"}]
            wanted = ["750 " + str(_size(rest)), "600 8", "644 65536", "a 'b' $c", f"{FILES}/d", _digest(), SAYS, ""]
            if seen.returncode or rest != wanted or set(log) != {"1", "2"}:
                self.half_done.append(f"{where}: {one.name}: {seen}\n{said}")
                sys.stderr.write(f"HALF DONE {self.half_done[-1]}\n")

    def report(self) -> str:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(self.struck.items()))
        ended = ", ".join(f"{what} ({count})" for what, count in sorted(self.said.items()))
        return (
            f"{self.struck.total()} blows ({told}), {self.missed} that came too late\nruns that were struck: {ended}\n"
            f"half done and called done: {len(self.half_done)}; not converged: {len(self.not_converged)}\n"
        )


def _size(rest: Sequence[str]) -> int:
    """Of a folder: whatever its file system makes of it."""
    return int(rest[0].split()[1]) if rest and rest[0].startswith("750 ") else -1


def _digest() -> str:
    return hashlib.sha256(BIG.encode()).hexdigest()[:16]


def make_wheels(folder: Path, uv: Path) -> None:
    folder.mkdir()
    make_wheel(folder, "trial_engine", "1.0", module=ENGINE, program="vllm")
    make_wheel(folder, "helper", "2.0", module=f"VERSION = '{SAYS}'\n")
    make_uv_wheel(folder, uv)
    [stored] = folder.glob("uv-*.whl")
    with zipfile.ZipFile(stored) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    assert environment(folder).lock.count("--hash") == 2


def soak(rounds: int, seed: int, kinds: Sequence[str] = tuple(BLOWS)) -> Soak:
    """At least so many blows, each kind in turn. Needs root and uv."""
    uv = real_uv()
    assert uv is not None, "uv is not here as a program"
    name = f"soak-{os.getpid()}"
    lab = lifecycle.up(2, "cpu", name=name, equipment=Equipment())
    try:
        with tempfile.TemporaryDirectory(prefix="bringup-soak-") as folder:
            made = Soak(lab, Path(folder), seed)
            make_wheels(made.wheels, uv)
            began = time.monotonic()
            for number in range(rounds * 3):
                if made.struck.total() >= rounds:
                    break
                made.round(kinds[number % len(kinds)])
                if number % 5 == 4:
                    sys.stderr.write(f"{time.monotonic() - began:.0f} s: {made.report()}")
            return made
    finally:
        lifecycle.down(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--kinds", default=",".join(BLOWS))
    asked = parser.parse_args()
    done = soak(asked.rounds, asked.seed, asked.kinds.split(","))
    for line in (*done.half_done, *done.not_converged):
        sys.stdout.write(f"{line}\n\n")
    sys.stdout.write(done.report())
    return 1 if done.half_done or done.not_converged else 0


if __name__ == "__main__":
    sys.exit(main())
