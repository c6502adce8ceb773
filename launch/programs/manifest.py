"""List a downloaded model folder: `python - FOLDER REPO COMMIT`. The manifest is written last, by rename.

Runs on the host with the engine's own Python; standard library only.
"""

import hashlib
import json
import sys
from pathlib import Path

MANIFEST = ".bringup-manifest.json"


def listed(folder: Path) -> list[dict[str, object]]:
    """Every file below `folder` with size and sha256; what the download tool keeps for itself is left out."""
    files = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and relative.parts[0] != ".cache" and path.name != MANIFEST:
            with path.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            files.append({"path": str(relative), "size": path.stat().st_size, "sha256": sha256})
    return files


def main() -> None:
    folder, repo, commit = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    files = listed(folder)
    if not files:
        sys.exit(f"{folder} holds no file")
    document = {"format_version": 1, "repo": repo, "commit": commit, "simulated": False, "files": files}
    new = folder / (MANIFEST + ".new")
    new.write_text(json.dumps(document))
    new.rename(folder / MANIFEST)


if __name__ == "__main__":
    main()
