#!/usr/bin/env bash
# Sets up what is missing and runs an experiment on this machine:
#   ./launch/local.sh EXPERIMENT [--config=FILE] [--config.FIELD=VALUE ...]
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/launch/setup.sh"

# Somebody else's checkout, which is set up and cannot be written, serves without a cache.
! [ -w "$root/.cache" ] || export JAX_COMPILATION_CACHE_DIR=${JAX_COMPILATION_CACHE_DIR:-$root/.cache/jax}
# Small programs too: a run starts with a hundred of them, and each would be compiled again.
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=${JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS:-0}
export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2} # XLA's notes on its own state, below errors
export PYTHONUNBUFFERED=1                              # progress lines reach a pipe when they are printed
exec "$python" -P -m experiments "$@"
