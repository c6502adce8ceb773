"""A parallel SSH library as an operator would script it: `peer.py KIND FOLDER LAB ADDRESS...`; no import of bringup."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path


def pssh(folder: Path, lab: Path, addresses: list[str], script: str) -> None:
    from pssh.clients import ParallelSSHClient  # type: ignore[import-not-found]

    key = str(lab / "id_ed25519")
    client = ParallelSSHClient(addresses, user="root", pkey=key, pool_size=len(addresses), identity_auth=False)
    for host in client.run_command(script):
        (folder / host.host).write_text("\n".join(host.stdout), encoding="utf-8")


def asyncssh(folder: Path, lab: Path, addresses: list[str], script: str) -> None:
    import asyncssh as library  # type: ignore[import-not-found]

    key = library.read_private_key(lab / "id_ed25519")
    options = {"username": "root", "client_keys": [key], "known_hosts": str(lab / "known_hosts"), "config": None}

    async def one(address: str) -> None:
        async with library.connect(address, agent_path=None, **options) as connection:
            done = await connection.run("/bin/sh -s", input=script, check=True)
            (folder / address).write_text(done.stdout, encoding="utf-8")

    async def every() -> None:
        await asyncio.gather(*map(one, addresses))

    asyncio.run(every())


if __name__ == "__main__":
    kind, place, lab_folder, *hosts = sys.argv[1:]
    text = (Path(place) / "script.sh").read_text(encoding="utf-8")
    {"pssh": pssh, "asyncssh": asyncssh}[kind](Path(place), Path(lab_folder), hosts, text)
