folder='/var/lib/it'"'"'s bringup/images/x' incoming='/var/lib/it'"'"'s bringup/incoming/x' digest=66c2057949044cbf
umask 077
mkdir -p -- "$incoming"
cd -- "$incoming"
manifest=$incoming.manifest
trap 'rm -f -- "$manifest"' EXIT
base64 -d >"$manifest" <<'END'
Y2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj
Y2NjY2NjYyAgaW1hZ2UudGFyCg==
END
if [ -e .source ]; then
  python3 - "$manifest" <<'END_OF_PROGRAM'
"""Fetch the files of a manifest from another host: `python3 - MANIFEST < fetch.py` in the folder that takes them.

Runs on a host, with its own Python. `.source` holds the address to fetch from; sizes and sums are verified by the step
that this is a part of. Goes on where it was cut off; prints a line every few seconds.
"""

from __future__ import annotations

import pathlib
import sys
import time
import urllib.error
import urllib.request

PIECE = 1 << 20
TRIES = 5
TIMEOUT_S = 30
TOLD_EVERY_S = 4

# Never by a proxy: the other host is next door.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Progress:
    def __init__(self) -> None:
        self.bytes, self.began, self.told = 0, time.monotonic(), time.monotonic()

    def came(self, size: int) -> None:
        self.bytes += size
        now = time.monotonic()
        if now - self.told > TOLD_EVERY_S:
            self.told = now
            print(f"{self.bytes / 1e9:.2f} GB fetched, {self.bytes / 1e6 / (now - self.began):.0f} MB/s", flush=True)  # noqa: T201


def pull(base: str, path: pathlib.Path, progress: Progress) -> None:
    there = path.stat().st_size if path.exists() else 0
    headers = {"Range": f"bytes={there}-"} if there else {}
    request = urllib.request.Request(base + path.name, headers=headers)  # noqa: S310  (http, written by us)
    with OPENER.open(request, timeout=TIMEOUT_S) as answer:
        begins = answer.headers.get("Content-Range", "").startswith(f"bytes {there}-")
        if there and not begins and answer.length == there:
            return  # it is whole: a range behind its end is answered with all of it
        with path.open("ab" if there and begins else "wb") as out:
            while piece := answer.read(PIECE):
                out.write(piece)
                progress.came(len(piece))
        if answer.length:
            raise OSError(f"{answer.length} bytes of {path.name} did not come")


def fetch(manifest: str) -> None:
    base = pathlib.Path(".source").read_text().strip()
    progress = Progress()
    for line in manifest.splitlines():
        name = line[66:]
        for number in range(1, TRIES + 1):
            try:
                pull(base, pathlib.Path(name), progress)
                break
            except OSError as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)  # noqa: T201
                if number == TRIES:
                    sys.exit(f"the other host does not give {name}")
                time.sleep(number)


if __name__ == "__main__":
    fetch(pathlib.Path(sys.argv[1]).read_text())

END_OF_PROGRAM
  rm -f .source
fi
# What nobody listed is nobody's.
ls -A | while read -r name; do
  cut -c 67- "$manifest" | grep -qxF -- "$name" || rm -rf -- "./$name"
done
bad=$(LC_ALL=C sha256sum -c "$manifest" 2>/dev/null | sed -n 's/: FAILED.*//p')
if [ -n "$bad" ]; then
  for name in $bad; do rm -rf -- "./$name"; done
  printf 'outcome\tchecksum-mismatch %s\n' "$(printf '%s ' $bad | cut -c 1-200)"
  exit 1
fi
cp -- "$manifest" MANIFEST
printf '%s' "$digest" >.bringup-cargo
chmod 0755 . && chmod 0644 -- *
mkdir -p -- "$(dirname -- "$folder")"
rm -rf -- "$folder"
mv -T -- "$incoming" "$folder"

said=$(podman load -i '/var/lib/it'"'"'s bringup/images/x'/image.tar)
printf '%s\n' "$said"
loaded=$(printf '%s\n' "$said" | sed -n 's/^Loaded image\(s\)\{0,1\}\( ID\)\{0,1\}: *//p' | tail -n 1)
if [ "$(podman image inspect --format '{{json .RootFS.Layers}}' "$loaded")" != '["sha256:eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"]' ]; then
  printf 'outcome\timage-mismatch %s\n' "$loaded"
  exit 1
fi
podman tag "$loaded" bringup/vllm-openai:260ae2ccbb4e
rm -rf -- '/var/lib/it'"'"'s bringup/images/x'
