#!/usr/bin/env bash
# Installs agent frameworks of others, whose programs play episodes against the policy server, into .cache/harnesses/NAME:
#   ./launch/harnesses.sh                            # all of launch/harnesses/
#   ./launch/harnesses.sh openai-agents smolagents   # some of them
#
# Each has an environment of its own, by launch/harnesses/NAME.lock, with hashes, made with the Python that runs programs in
# computers, so that it runs inside one as well. Their locks leave out what the programs here never import: of mini-swe-agent
# what its benchmarks and its terminal pages ask for (datasets, textual), half a gigabyte; of browser-use the clients of other
# clouds (Google's, Groq's, Ollama's) and what writes PDFs. browser-use takes a Chromium that is there.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"
. "$root/launch/guest_packages.sh"
. "$root/launch/own_environment.sh"

locks="$root/launch/harnesses"
known=()
for lock in "$locks"/*.lock; do known+=("$(basename "$lock" .lock)"); done
[ $# -gt 0 ] || set -- "${known[@]}"
for name; do
    [ -f "$locks/$name.lock" ] || fail "The names must be of ${known[*]}; got '$name'."
done

guest=$(guest_python)
for name; do
    own_environment "$guest" "$root/.cache/harnesses/$name" "$locks/$name.lock" "installing $name"
done
