"""A folder of files that the control machine gave: there only when every byte of it was read and has its sum."""

from __future__ import annotations

import base64
from pathlib import Path

from inventory.quoting import quote
from playbooks.cargo import Cargo
from playbooks.plan import ABSENT, Phase, Refusal, Step

MARKER = ".bringup-cargo"
SOURCE = ".source"
FETCH = Path(__file__).parents[1] / "ship" / "fetch.py"
SLOWEST = 5e6  # bytes a second of disk and network; what is slower is not waited for
LEAST_S = 600.0

BAD_SUM = Refusal(
    id="checksum-mismatch",
    message="a file that came to the host is not the one of the plan; it was thrown away",
    required="the size and sha256 of the plan",
    next_command="type the same command again: only what is missing is sent; if it stays so, look at the disk of HOST",
)
NOT_GIVEN = Refusal(
    id="ship-failed",
    message="files from another host did not arrive",
    required="every byte",
    next_command="type the same command again: it sends what is missing from here, or from a host that has it",
)

# Names are plain ones (see Cargo.manifest): no blank, no line end, no leading dash.
_RECEIVE = r"""umask 077
mkdir -p -- "$incoming"
cd -- "$incoming"
manifest=$incoming.manifest
trap 'rm -f -- "$manifest"' EXIT
base64 -d >"$manifest" <<'END'
%s
END
if [ -e .source ]; then
  if ! python3 - "$manifest" <<'END_OF_PROGRAM'
%s
END_OF_PROGRAM
  then
    printf 'outcome\tship-failed the other host stopped giving them\n'
    exit 1
  fi
  rm -f .source
fi
# What nobody listed is nobody's.
ls -A | while read -r name; do
  cut -c 67- "$manifest" | grep -qxF -- "$name" || rm -rf -- "./$name"
done
bad=$(LC_ALL=C sha256sum -c "$manifest" 2>/dev/null | sed -n 's/: FAILED.*//p')
if [ -n "$bad" ]; then
  for name in $bad; do rm -rf -- "./$name"; done
  printf 'outcome\tchecksum-mismatch %%s\n' "$(printf '%%s ' $bad | cut -c 1-200)"
  exit 1
fi
cp -- "$manifest" MANIFEST
printf '%%s' "$digest" >.bringup-cargo
chmod 0755 . && chmod 0644 -- *
mkdir -p -- "$(dirname -- "$folder")"
rm -rf -- "$folder"
mv -T -- "$incoming" "$folder"
"""
_ALONE = r"""for other in "$(dirname -- "$folder")"/*; do
  [ "$other" = "$folder" ] || rm -rf -- "$other"
done
"""


def shipped(cargo: Cargo, *, what: str, why: str, phase: Phase = Phase.PROVISION, alone: bool = False) -> Step:
    """The files of `cargo` in its folder. `alone`: earlier folders beside it are removed."""
    folder = quote(cargo.folder)
    manifest = base64.encodebytes(cargo.manifest.encode()).decode().rstrip()
    head = f"folder={folder} incoming={quote(cargo.incoming)} digest={cargo.digest}\n"
    receive = _RECEIVE % (manifest, FETCH.read_text(encoding="utf-8"))
    return Step(
        id=f"shipped {cargo.folder}",
        phase=phase,
        why=why,
        probe=(
            f"if [ -e {folder}/{MARKER} ]; then printf 'complete %s' \"$(cat {folder}/{MARKER})\"; "
            f"elif [ -e {folder} ]; then printf partial; else printf {ABSENT}; fi"
        ),
        wanted=f"complete {cargo.digest}",
        script=f"{head}{receive}{_ALONE if alone else ''}",
        summary=f"give {what}: {len(cargo.files)} files, {cargo.size / 1e9:.2f} GB",
        deadline_s=LEAST_S + cargo.size / SLOWEST,
        refusals=(BAD_SUM, NOT_GIVEN),
        cargo=cargo,
    )
