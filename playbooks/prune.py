"""What bringup leaves on a host is bounded: old jobs, old generations, environments that no stored generation needs.

Text for a shell alone; it is run under the host's lock. Never removed: what runs, what ended without a record less than
a month ago, the current generation of a deployment, weights, images, and what bringup did not make. Caches are
launch/caches' own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from inventory.quoting import quote
from inventory.recorded import PROCESS_FUNCTIONS

JOBS = 50
GENERATIONS = 10
ENVIRONMENTS = 2
LOST_DAYS = 30
PRUNED = "pruned"

_PRUNE = r"""
cd -- "$state" 2>/dev/null || exit 0
pruned() { printf 'pruned\t%s\t%s\n' "$1" "$2"; }

# Folders of $1 by age, the newest first; names are those that bringup gives: letters, digits, dots and dashes.
newest_first() { ls -1td -- "$1"/*/ 2>/dev/null | sed 's,/$,,'; }

count=0
for job in $(newest_first jobs); do
  recorded_alive "$job/record" && continue
  if [ ! -e "$job/exit" ] && [ -z "$(find "$job" -maxdepth 0 -mtime "+$lost_days")" ]; then continue; fi
  count=$((count + 1))
  if [ "$count" -gt "$keep_jobs" ]; then rm -rf -- "$job" && pruned job "${job#jobs/}"; fi
done

for deployment in deployments/*/; do
  [ -L "${deployment}current" ] || continue
  current=$(basename -- "$(readlink "${deployment}current")")
  count=0
  for generation in $(newest_first "${deployment%/}"); do
    name=${generation##*/}
    if [ "$name" = "$current" ] || [ -L "$generation" ]; then continue; fi
    count=$((count + 1))
    if [ "$count" -ge "$keep_generations" ]; then
      rm -rf -- "$generation" && pruned generation "${deployment#deployments/}$name"
    fi
  done
done

# An environment is needed where any file of a stored generation names it.
count=0
for marker in $(ls -1t -- envs/*/bringup-env.json 2>/dev/null); do
  digest=${marker#envs/} digest=${digest%/bringup-env.json}
  case " $needed " in *" $digest "*) continue ;; esac
  if grep -rqsF -- "/envs/$digest" deployments; then continue; fi
  count=$((count + 1))
  if [ "$count" -gt "$keep_environments" ]; then
    # Away by one step: what is cut off in the middle is no environment any more.
    rm -f -- "$marker" && rm -rf -- "envs/$digest" proofs/"$digest"-*.json && pruned environment "$digest"
  fi
done
exit 0
"""


@dataclass(frozen=True, slots=True)
class Pruned:
    """One thing that was removed: `kind` job, generation or environment."""

    kind: str
    name: str


def prune_script(
    *,
    state_dir: str,
    needed: Iterable[str],
    jobs: int = JOBS,
    generations: int = GENERATIONS,
    environments: int = ENVIRONMENTS,
) -> str:
    """Print a line for each thing that is removed.

    `needed`: digests of environments that stay, whatever the stored generations say. Kept are so many jobs that have
    ended, generations of each deployment (the current one among them), and environments that nothing needs.
    """
    return f"""{PROCESS_FUNCTIONS}
state={quote(state_dir)} needed={quote(" ".join(needed))} lost_days={LOST_DAYS}
keep_jobs={jobs} keep_generations={generations} keep_environments={environments}
{_PRUNE}"""


def read_pruned(answer: str) -> tuple[Pruned, ...]:
    rows = (line.split("\t") for line in answer.splitlines())
    return tuple(Pruned(row[1], row[2]) for row in rows if len(row) == 3 and row[0] == PRUNED)
