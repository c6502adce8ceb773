"""`docker info` as it prints for people. On a host its JSON is asked for."""

from __future__ import annotations

import re

from inventory.facts.base import Maybe, Unknown, Why
from inventory.facts.containers import DENIED, parse_info
from inventory.facts.host import Docker
from inventory.facts.jsontext import Fields, parse_object

NAMES = {
    "Docker Root Dir": "DockerRootDir",
    "Storage Driver": "Driver",
    "Cgroup Driver": "CgroupDriver",
    "Cgroup Version": "CgroupVersion",
}
LINE = re.compile(r"(?m)^\s*([A-Z][\w ]*?):[ \t]*(\S.*?)?\s*$")
REFUSED = re.compile(r"(?im)^.*(?:permission denied|cannot connect to the docker daemon|command not found|error).*$")


def parse_docker_info(text: str) -> Maybe[Docker]:
    """Of the text or the JSON; Unknown with docker's own words where no daemon answered."""
    told = parse_object(text)
    if told is None:
        told = Fields({NAMES[name]: value for name, value in LINE.findall(text) if name in NAMES})
    errors = told.members.get("ServerErrors")
    refusal = " ".join(map(str, errors)) if isinstance(errors, list) else ""
    said = REFUSED.search(text)
    if refusal or (said and not told.members):
        words = refusal or (said[0].strip() if said else "")
        why = Why.MISSING_TOOL if "not found" in words else Why.REFUSED if DENIED.search(words) else Why.UNREADABLE
        return Unknown(why, words[:160])
    return parse_info(told)
