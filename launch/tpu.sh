#!/usr/bin/env bash
# One experiment on all hosts of a Cloud TPU slice that stands, a process on each:
#   ./launch/tpu.sh NAME ZONE EXPERIMENT --config.run=RUN --config.mesh.fsdp=CHIPS [--config.FIELD=VALUE ...]
#
# Brings the last commit of this checkout to ~/tars_jax of every host, sets it up there and starts pod.sh. RUN is a path
# on a file system that all hosts have mounted, such as a Filestore share. Needs gcloud, logged in. Ctrl-C ends the run
# on the hosts; the same command goes on where it was.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ $# -lt 3 ]; then
    echo "usage: ./launch/tpu.sh NAME ZONE EXPERIMENT --config.run=RUN [--config.FIELD=VALUE ...]" >&2
    exit 2
fi
name=$1 zone=$2
shift 2
slice=(gcloud compute tpus tpu-vm)
bundle=$(mktemp --suffix=.bundle)
trap 'rm -f "$bundle"' EXIT

on_hosts() {
    "${slice[@]}" ssh "$name" --zone="$zone" --worker=all --command="$1"
}

git -C "$root" bundle create --quiet "$bundle" HEAD # a checkout, so that the run's record knows the commit
"${slice[@]}" scp "$bundle" "$name:tars_jax.bundle" --zone="$zone" --worker=all
on_hosts "{ [ -d tars_jax ] || git init -q tars_jax; } && cd tars_jax &&
    git fetch -q ../tars_jax.bundle HEAD && git checkout -q --detach FETCH_HEAD && ./launch/local.sh --help >/dev/null"
trap 'on_hosts "pkill -INT -f -- \"[-]m experiments\"" || true; exit 130' INT TERM
on_hosts "cd tars_jax && exec ./launch/pod.sh $(printf '%q ' "$@")"
