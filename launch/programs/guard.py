"""The guard of one deployment on one host: answers the head's guard; on the head it also watches the whole group.

Runs on hosts with the engine's own Python, standard library only: `python guard.py FOLDER`, FOLDER being that of a
generation. Beside it lie guard.json (who belongs to the group), guard.key (what they know each other by), guard.sh (the
product's own functions that look, stop and start) and complete.py (the completion that proves).

It never acts on a lone rank. A group that is down is captured, stopped on every host and started on every host, once
within `window_s`; the next time it is stopped, and the operator's command is told. What an operator stopped stays so.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import socket
import socketserver
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

VERBS = ("state", "stop", "start", "keep", "capture", "lock", "unlock", "history")
TIMES = {"state": 15, "stop": 240, "start": 60, "keep": 20, "capture": 60, "lock": 20, "unlock": 20, "history": 20}
LINE = 65536
SURE = 2  # looks in a row that must fail where nothing is gone
RUNNING, STOPPED = "running", "stopped"
UNSIGNED = 3  # what `lock` ends with where a lock cannot be written: the disk is full


class Guard:
    """What is known of the group, and the words with its members."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.told: dict[str, Any] = json.loads((self.folder / "guard.json").read_text(encoding="utf-8"))
        self.key = (self.folder / "guard.key").read_text(encoding="ascii").strip().encode()

    def sign(self, *parts: str) -> str:
        return hmac.new(self.key, "\0".join(parts).encode(), hashlib.sha256).hexdigest()

    def do(self, verb: str, argument: str = "") -> tuple[int, str]:
        """Run one of the product's own functions here: exit status and what it said."""
        words = ["/bin/sh", str(self.folder / "guard.sh"), verb, argument]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=TIMES[verb], check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return 124, "no end in time"
        return done.returncode, (done.stdout or done.stderr).strip()[: LINE // 2]

    def ask(self, member: dict[str, Any], verb: str, argument: str = "") -> tuple[int, str]:
        """The same on another host. Raises `OSError` when it does not answer, or is not one of ours."""
        if member["host"] == self.told["host"]:
            return self.do(verb, argument)
        with socket.create_connection((member["address"], self.told["port"]), timeout=5) as connection:
            connection.settimeout(TIMES[verb] + 10)
            stream = connection.makefile("rwb")
            nonce = stream.readline(LINE).decode().strip()
            own = secrets.token_hex(16)
            request = {
                "verb": verb,
                "argument": argument,
                "nonce": own,
                "mac": self.sign("ask", nonce, own, verb, argument),
            }
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            answer = json.loads(stream.readline(LINE) or b"{}")
        if not hmac.compare_digest(
            str(answer.get("mac")), self.sign("told", own, str(answer.get("status")), str(answer.get("said")))
        ):
            raise OSError("the answer is not signed by this group")
        return int(answer["status"]), str(answer["said"])

    def each(self, verb: str, argument: str = "") -> dict[str, tuple[int, str] | None]:
        """Every member at once: (status, words), or None for one that does not answer."""

        def one(member: dict[str, Any]) -> tuple[int, str] | None:
            try:
                return self.ask(member, verb, argument)
            except (OSError, ValueError, KeyError):
                return None

        members = self.told["members"]
        with ThreadPoolExecutor(max(1, len(members))) as pool:
            return dict(zip([one["host"] for one in members], pool.map(one, members), strict=True))

    def log(self, text: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with contextlib.suppress(OSError), (self.folder / "guard.log").open("a", encoding="utf-8") as file:
            file.write(f"{stamp} {text}\n")


class Answers(socketserver.StreamRequestHandler):
    """One question of the head's guard: a fresh nonce, so that no old question can be asked again."""

    timeout = 30

    def handle(self) -> None:
        guard: Guard = self.server.guard  # type: ignore[attr-defined]
        nonce = secrets.token_hex(16)
        self.wfile.write(f"{nonce}\n".encode())
        try:
            asked = json.loads(self.rfile.readline(LINE))
            verb, argument, own = str(asked["verb"]), str(asked["argument"]), str(asked["nonce"])
            known = hmac.compare_digest(str(asked["mac"]), guard.sign("ask", nonce, own, verb, argument))
        except (ValueError, KeyError, TypeError, OSError):
            return
        if not known or verb not in VERBS:
            return
        status, said = guard.do(verb, argument)
        answer = {"status": status, "said": said, "mac": guard.sign("told", own, str(status), said)}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    guard: Guard


def proof(guard: Guard) -> str:
    """What a completion from every rank of every endpoint said: empty when all came, else the first error."""
    told = guard.told
    program = (guard.folder / "complete.py").read_text(encoding="utf-8")
    for endpoint in told["endpoints"]:
        words = [sys.executable, "-", endpoint["urls"], told["model"], told["prompt"], str(told["max_tokens"])]
        words += [str(endpoint["ranks"]), str(told["canary_s"]), told["key_file"]]
        try:
            done = subprocess.run(
                words, input=program, capture_output=True, text=True, timeout=told["canary_s"] + 10, check=False
            )
            failed = [one for one in json.loads(done.stdout) if not one["ok"]]
        except (subprocess.TimeoutExpired, ValueError, KeyError):
            return f"{endpoint['urls']}: no answer"
        if failed:
            return f"{endpoint['urls']}: {failed[0].get('error', 'no token')}"
    return ""


def look(guard: Guard, *, stopped_by_us: bool = False) -> tuple[str, list[str], list[str], list[str]]:
    """(what is wrong, in words; hosts that are gone; hosts that are silent; hosts that somebody stopped).

    `stopped_by_us`: a recovery broke off, and ranks that are stopped are gone.
    """
    states = guard.each("state")
    silent = [host for host, told in states.items() if told is None]
    words = {host: told[1].split() for host, told in states.items() if told}
    wanted = guard.told["generation"]
    left = [host for host, one in words.items() if one[:1] != [wanted] or (one[1:] == [STOPPED] and not stopped_by_us)]
    gone = [host for host, one in words.items() if one[-1:] != [RUNNING] and host not in left]
    if gone:
        return f"ranks are gone on {', '.join(gone)}", gone, silent, left
    if left or silent:
        return f"no answer from {', '.join(silent)}" if silent else "", gone, silent, left
    return proof(guard), gone, silent, left


class Memory:
    """What must outlive the guard, which may lose its power in the middle: a file of the generation.

    Whoever starts or stops the group by hand removes it. `restarts`: when the group was restarted, by the clock of this
    host. `begun`: what was wrong when a recovery began that is not over. `locks`: runs of which a host may have a lock.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "guard-memory"
        kept: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            kept = dict(json.loads(self.path.read_text(encoding="utf-8")))
        self.restarts: list[float] = kept.get("restarts", [])
        self.locks: list[str] = kept.get("locks", [])
        self.begun: str = kept.get("begun", "")

    def keep(self) -> None:
        """A disk that is full takes nothing: then it is known as long as this process lives."""
        kept = {"restarts": self.restarts[-8:], "locks": self.locks, "begun": self.begun}
        new = self.path.with_suffix(".new")
        with contextlib.suppress(OSError):
            new.write_text(json.dumps(kept), encoding="utf-8")
            new.replace(self.path)


class Watcher:
    """The head's part."""

    def __init__(self, guard: Guard) -> None:
        self.guard, self.failed, self.alerted, self.logged = guard, 0, "", ""
        self.memory = Memory(guard.folder)

    def once(self) -> bool:
        """One look, and what follows from it. False when there is nothing left to guard."""
        for run in list(self.memory.locks):  # one that a host lost its power with
            self.unlock(run)
        if Path(self.guard.told["lock"]).exists():  # somebody works on the group
            self.failed = 0
            return True
        begun = self.memory.begun
        wrong, gone, silent, left = look(self.guard, stopped_by_us=bool(begun))
        if left:
            self.guard.log(f"stopped on {', '.join(left)}: the guard stands down")
            return False
        if not wrong and not begun:
            self.failed, self.alerted, self.logged = 0, "", ""
            return True
        self.failed += 1
        if wrong != self.logged or self.failed <= SURE:
            self.guard.log(f"{wrong or begun} (look {self.failed})")
            self.logged = wrong
        if not gone and not begun and self.failed < SURE:
            return True
        if silent:
            # A host that does not answer can neither be stopped nor started: the rest alone would be a lone rank.
            self.alert(f"{wrong}: the group is left as it is until every host answers")
            return True
        return self.recover(begun or wrong, started=bool(begun) and not gone)

    def recover(self, wrong: str, *, started: bool = False) -> bool:
        """Under the locks of all hosts. `started`: by the recovery that broke off; the ranks are on their way."""
        run = secrets.token_hex(4)
        self.memory.locks.append(run)
        self.memory.keep()
        try:
            locked = self.guard.each("lock", run)
            if any(told is None or told[0] not in {0, UNSIGNED} for told in locked.values()):
                return True  # somebody else has it; they know better
            if full := [host for host, told in locked.items() if told and told[0] == UNSIGNED]:
                self.alert(f"{wrong}: no lock can be written on {', '.join(full)}: the group is left as it is")
                return True
            self.memory.begun = wrong
            self.memory.keep()
            over, goes_on = self.conclude(run, wrong, self.ready()) if started else self.restart(run, wrong)
            if over:
                self.memory.begun = ""
                self.memory.keep()
            return goes_on
        finally:
            self.unlock(run)

    def restart(self, run: str, wrong: str) -> tuple[bool, bool]:
        """(whether the recovery is over, whether there is still something to guard)."""
        guard, now = self.guard, time.time()
        captured = guard.each("capture", time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
        guard.log(f"captured: {', '.join(host for host, told in captured.items() if told and not told[0])}")
        again = [at for at in self.memory.restarts if now - at < guard.told["window_s"]]
        stopped = self.all_said("stop")
        if not all(stopped.values()):
            self.alert(f"{wrong}: it could not be stopped on every host")
            return None not in stopped.values(), True  # a host that was silent is stopped when it is back
        if again:
            guard.each("history", self.entry(run, "gave-up", wrong))
            self.alert(f"{wrong}: it was restarted once already; it is stopped now, on all hosts")
            return True, False
        self.memory.restarts.append(now)
        self.memory.keep()
        return self.conclude(run, wrong, all(self.all_said("start").values()) and self.ready())

    def conclude(self, run: str, wrong: str, serves: bool) -> tuple[bool, bool]:  # noqa: FBT001
        """The same, of what was started."""
        if serves:
            self.guard.each("keep")
            self.guard.each("history", self.entry(run, "serving", wrong))
            self.alert(f"{wrong}: it was restarted as a group and serves again", known=False)
            self.failed = 0
            return True, True
        stopped = all(self.all_said("stop").values())
        self.guard.each("history", self.entry(run, "never-ready", wrong))
        now = "it is stopped now, on all hosts" if stopped else "it could not be stopped on every host"
        self.alert(f"{wrong}: it was restarted and did not serve; {now}")
        return True, False

    def unlock(self, run: str) -> None:
        """Give the locks of `run` back; what a silent host still has is given back when it answers."""
        if all(self.guard.each("unlock", run).values()):
            self.memory.locks.remove(run)
            self.memory.keep()

    def all_said(self, verb: str) -> dict[str, bool | None]:
        """Whether it worked, by host; None: no answer."""
        told = self.guard.each(verb)
        self.guard.log(f"{verb}: {json.dumps(told)}")
        return {host: None if one is None else one[0] == 0 for host, one in told.items()}

    def ready(self) -> bool:
        """Wait until every rank completes; false when a rank is gone or the time is up."""
        until = time.monotonic() + self.guard.told["ready_s"]
        while time.monotonic() < until:
            time.sleep(self.guard.told["every_s"])
            wrong, gone, _, _ = look(self.guard, stopped_by_us=True)
            if gone:
                return False
            if not wrong:
                return True
        return False

    def entry(self, run: str, outcome: str, note: str) -> str:
        told = self.guard.told
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        entry = {"at": at, "who": f"guard@{told['host']}", "run": run, "verb": "supervise"}
        return json.dumps({**entry, "generation": told["generation"], "outcome": outcome, "note": note[:200]})

    def alert(self, text: str, *, known: bool = True) -> None:
        """Tell the operator's command, on its stdin, once for each new sentence."""
        self.guard.log(f"alert: {text}")
        if known and text == self.alerted:
            return
        self.alerted = text
        words = self.guard.told["alert"]
        if not words:
            return
        message = f"{self.guard.told['name']} on {self.guard.told['host']}: {text}\n"
        try:
            done = subprocess.run(words, input=message, text=True, timeout=60, check=False, capture_output=True)
            self.guard.log(f"the command of the alert ended with {done.returncode}")
        except (OSError, subprocess.TimeoutExpired) as error:
            self.guard.log(f"the command of the alert failed: {error}")


def main() -> None:
    guard = Guard(sys.argv[1])
    address = next(one["address"] for one in guard.told["members"] if one["host"] == guard.told["host"])
    with Server((address, guard.told["port"]), Answers) as server:
        server.guard = guard
        threading.Thread(target=server.serve_forever, daemon=True).start()
        guard.log(f"listening on {address}:{guard.told['port']}")
        if not guard.told["head"]:
            threading.Event().wait()
        watcher = Watcher(guard)
        time.sleep(guard.told["every_s"])
        while watcher.once():
            time.sleep(guard.told["every_s"])


if __name__ == "__main__":
    os.umask(0o077)
    main()
