"""Detached work on a host: a script in its own session, with an event file, its output and an exit record.

The control machine only follows. Killed or cut off, it loses nothing: the job goes on, and `listed_jobs_script`
finds it again. Layout: `<state_dir>/jobs/<id>/{script,events,output,record,exit,about}`; `record` is
`pid start-time boot-id`, so that a reused pid or a reboot is never taken for the job; `about` is a line of JSON that
says whose it is and what its changes are.
"""

from __future__ import annotations

import base64

from inventory.quoting import quote
from inventory.recorded import PROCESS_FUNCTIONS, on_record

LOST = "lost"
SAYS = "says"

_ON_RECORD = on_record("$JOB/record").replace("'", '"').rstrip()
"""For a script between single quotes."""

# Behind each line comes an empty one: a transport keeps the last line break back until it knows that no marker follows.
# What a long change says is shown too, every few seconds, so that nobody has to guess whether it moves.
_FOLLOW = r"""
sent=0
looks=0
said=
while :; do
  looks=$((looks + 1))
  if [ -e "$job/exit" ]; then ended=yes; else ended=no; fi
  lines=$(wc -l <"$job/events")
  if [ "$lines" -gt "$sent" ]; then sed -n "$((sent + 1)),${lines}p" "$job/events"; echo; sent=$lines; fi
  if [ "$ended" = yes ]; then break; fi
  if ! recorded_alive "$job/record" && [ ! -e "$job/exit" ]; then
    printf 'lost\t\t\n'; tail -n 5 "$job/output" >&2; df -Ph "$job" >&2; exit 6
  fi
  if [ "$((looks % 50))" = 0 ]; then
    says=$(tail -c 400 "$job/output" | tr '\r\t' '\n ' | grep -v '^ *$' | tail -n 1 | cut -c 1-160)
    if [ "$says" != "$said" ]; then printf 'says\t\t%s\n\n' "$says"; said=$says; fi
  fi
  sleep 0.1
done
if [ "$(cat "$job/exit")" != 0 ]; then tail -n 20 "$job/output" >&2; fi
exit "$(cat "$job/exit")"
"""


def start_script(job_id: str, script: str, *, state_dir: str, about: str = "", follow: bool = True) -> str:
    """Start `script` detached as job `job_id` and follow it: event lines on stdout, last output on stderr.

    Without `follow` the text ends when the job is on record; `$job` is its folder for what comes behind.
    """
    job = f"{state_dir}/jobs/{job_id}"
    body = base64.encodebytes(script.encode()).decode()
    return f"""{_enter(job)}
# For us alone: a script may hold the address of a mirror with its password.
mkdir -p {quote(state_dir)}/jobs && mkdir -m 0700 "$job" && : >"$job/events" && : >"$job/output" || exit 1
# All of the script or none: what a full disk cuts off could end in the middle of a path.
base64 -d >"$job/script" <<'END' || exit 1
{body}END
printf '%s\\n' {quote(about)} >"$job/about" || exit 1
export EVENTS="$job/events" JOB="$job"
# The record is written by the job itself before it does anything, and awaited: there is no moment in which a
# running job is not on record. Where it cannot be written, nothing is done.
setsid /bin/sh -c '
  {_ON_RECORD} || exit 1
  /bin/sh "$JOB/script"
  printf "%s" "$?" >"$JOB/exit.new" && mv "$JOB/exit.new" "$JOB/exit"
' >"$job/output" 2>&1 </dev/null &
leader=$!
while [ ! -e "$job/record" ]; do
  if is_over "$leader" && [ ! -e "$job/record" ]; then cat "$job/output" >&2; df -Ph "$job" >&2; exit 1; fi
  sleep 0.02
done
{_FOLLOW if follow else ""}"""


def follow_script(job_id: str, *, state_dir: str) -> str:
    """Follow a job that was started before, from its first event."""
    return f"{_enter(f'{state_dir}/jobs/{job_id}')}\n{_FOLLOW}"


def listed_jobs_script(*, state_dir: str) -> str:
    """Print a line for every job: id, running, ended or lost, exit status, began, ended, now (Unix seconds), about."""
    return rf"""{PROCESS_FUNCTIONS}
now=$(date +%s)
for job in {quote(state_dir)}/jobs/*/; do
  job=${{job%/}}
  [ -d "$job" ] || continue
  ended='' status=''
  if [ -e "$job/exit" ]; then state=ended status=$(cat "$job/exit") ended=$(stat -c %Y "$job/exit")
  elif recorded_alive "$job/record"; then state=running
  else state=lost; fi
  began=$(stat -c %Y "$job/record" 2>/dev/null || stat -c %Y "$job")
  about=$(head -n 1 "$job/about" 2>/dev/null | tr -d '\t')
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "${{job##*/}}" "$state" "$status" "$began" "$ended" "$now" "$about"
done
"""


def _enter(job: str) -> str:
    return f"{PROCESS_FUNCTIONS}\njob={quote(job)}"
