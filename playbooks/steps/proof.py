"""An environment is proved where it will be used: imported as ranks do, with kernels for the GPUs that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from inventory.quoting import quote, quote_all
from playbooks.environments import EnvironmentDefinition
from playbooks.plan import ABSENT, Phase, Refusal, Step, digest
from playbooks.steps.python_env import MARKER

PROGRAM = Path(__file__).with_name("proof_program.py")
PROVED = "proved"
DEADLINE_S = 600.0
UNPROVED = Refusal(
    id="environment-unproved",
    message="the environment is installed and does not work here",
    required="vLLM and torch that can be imported with the variables of the ranks, with kernels for these GPUs",
    next_command="invoke probe --hosts HOST --host-detail: driver, GPUs, glibc; then the same command again",
)

# The marker's time and inode: an environment that was made anew is proved anew. Nothing is to be proved of a simulated
# engine.
_STATE = r"""env_dir=%s proof=%s
made=$(stat -c '%%Y.%%i' "$env_dir/%s" 2>/dev/null) || { printf %s; exit 0; }
if grep -q '"simulated": *true' "$env_dir/%s"; then printf %s
elif [ "$(sed -n 's/.*"made": *"\([^"]*\)".*/\1/p' "$proof" 2>/dev/null)" = "$made" ]; then printf %s
else printf unproved; fi
"""
_PROVE = r"""mkdir -p -- "${proof%%/*}"
said=$(mktemp)
trap 'rm -f -- "$said"' EXIT
made=$(stat -c '%%Y.%%i' "$env_dir/%s")
status=0
cd / && env -i %s "$env_dir/bin/python" -B - %s >"$said" <<'END_OF_PROGRAM' || status=$?
%s
END_OF_PROGRAM
if [ "$status" != 0 ]; then
  why=$(sed -n 's/^unproved //p' "$said" | tail -n 1)
  why=${why:-the imports ended with status $status: $(tail -n 1 "$JOB/output")}
  printf 'outcome\tenvironment-unproved %%s\n' "$why"
  exit 1
fi
tail -n 1 "$said" | sed "s/^{/{\"format_version\": 1, \"made\": \"$made\", /" >"$proof.new"
mv -- "$proof.new" "$proof"
"""


def environment_proof(
    wanted: EnvironmentDefinition,
    *,
    folder: str,
    proofs: str,
    env: Mapping[str, str],
    capabilities: Sequence[str],
) -> Step:
    """Prove the environment in `folder` with the variables of the ranks. What was found is kept in `proofs`.

    `capabilities`: of the GPUs that are to run it: 10.0, gfx942; none: no GPU.
    """
    needed = sorted(set(capabilities))
    proof = f"{proofs}/{wanted.digest}-{digest(needed)}.json"
    state = _STATE % (quote(folder), quote(proof), MARKER, ABSENT, MARKER, PROVED, PROVED)
    variables = quote_all([f"{name}={value}" for name, value in env.items()])
    prove = _PROVE % (MARKER, variables, quote_all(needed), PROGRAM.read_text(encoding="utf-8"))
    return Step(
        id=f"proof of environment {wanted.name}",
        phase=Phase.PROVISION,
        why="a library that is missing, or has no kernels for the GPU, is found after minutes of a start otherwise",
        probe=state,
        wanted=PROVED,
        script=f"env_dir={quote(folder)} proof={quote(proof)}\n{prove}",
        summary=f"prove {wanted.name}: imports as ranks do" + (f", kernels for {', '.join(needed)}" if needed else ""),
        deadline_s=DEADLINE_S,
        refusals=(UNPROVED,),
        follows=(f"environment {wanted.name}",),
    )
