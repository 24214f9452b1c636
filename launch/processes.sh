#!/usr/bin/env bash
# Runs one experiment in several processes of this machine, as the hosts of a pod would, for trying:
#   ./launch/processes.sh 2 quickstart --config.mesh.fsdp=2 [--config.FIELD=VALUE ...]
#
# Each has its own devices (one, on processors, unless JAX_NUM_CPU_DEVICES says more) and its own browsers. When one of them fails,
# the others are ended.
set -euo pipefail
launch=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
count=${1:-}
if ! [[ $count =~ ^[1-9][0-9]*$ ]] || [ $# -lt 2 ]; then
    echo "usage: ./launch/processes.sh PROCESSES EXPERIMENT [--config.FIELD=VALUE ...]" >&2
    exit 2
fi
shift

"$launch/pod.sh" --help >/dev/null # sets up once, before all of them would
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("localhost", 0)); print(s.getsockname()[1])')
export JAX_COORDINATOR_ADDRESS=localhost:$port JAX_NUM_PROCESSES=$count
pids=()
end() { kill "${pids[@]}" 2>/dev/null && wait || true; }
trap end EXIT
trap 'exit 130' INT TERM
for ((number = 0; number < count; number++)); do
    JAX_PROCESS_ID=$number "$launch/pod.sh" "$@" &
    pids+=($!)
done
for _ in "${pids[@]}"; do
    wait -n # the first that fails ends this script with its status
done
trap - EXIT
