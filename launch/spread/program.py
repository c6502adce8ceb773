"""What runs on the hosts, as one file that their Python runs."""

from __future__ import annotations

import io
import zipfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOST = Path(__file__).parent / "host"
MAIN = "import sys\nfrom launch.spread.host.main import main\nsys.exit(main())\n"
OLDEST_PYTHON = (3, 8)
LONG_AGO = (1980, 1, 1, 0, 0, 0)


@cache
def program() -> bytes:
    """A zip that Python runs: `host/` at its own place, every package above it empty. The same bytes each time."""
    texts = {"__main__.py": MAIN, "launch/__init__.py": "", "launch/spread/__init__.py": ""}
    texts |= {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in sorted(HOST.glob("*.py"))}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), text, zipfile.ZIP_DEFLATED)
    return out.getvalue()
