#!/usr/bin/env bash
# Resolves pyproject.toml anew into requirements.lock: every platform, Python 3.11 and later, with hashes.
# `git diff requirements.lock` then shows what changed.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"

tools="$root/.cache/lock"
[ -x "$tools/bin/uv" ] || { "$python" -m venv "$tools" && "$tools/bin/pip" install --quiet uv; }
"$tools/bin/uv" pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
    --no-header --no-emit-index-url --no-emit-find-links --upgrade --quiet --output-file requirements.lock
