#!/usr/bin/env bash
# Installs the data that the encyclopedia of tars_jax/tasks/browsing is made of, and what reads ZIM files (45 MB):
#   ./launch/encyclopedia.sh
#
# The factbook, GeoNames and mendeleev by launch/encyclopedia.lock, without what else they ask for: their data alone is
# read. Nothing of requirements.lock moves. FOLDOC comes by ./launch/websites.sh foldoc.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. "$root/launch/setup.sh"

step "installing the data of the encyclopedia" locked_pip --no-deps -r "$root/launch/encyclopedia.lock" ||
    fail "The packages of launch/encyclopedia.lock could not be installed; $work/log says why."
