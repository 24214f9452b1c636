#!/usr/bin/env bash
# This host's process of a run that several hosts share; started on each of them with the same arguments:
#   ./launch/pod.sh EXPERIMENT --config.run=RUN --config.mesh.fsdp=DEVICES [--config.FIELD=VALUE ...]
#
# RUN lies on a file system that all hosts share, and the mesh takes the devices of all. Each process plays a part of the
# episodes in browsers of its own (--config.browser.pages of each) and samples on its own devices; all learn together.
# On TPU slices and under Slurm the processes find each other; elsewhere three variables say who they are:
#   JAX_COORDINATOR_ADDRESS=HOST:PORT of the first, JAX_NUM_PROCESSES, JAX_PROCESS_ID from 0
# slurm.sh, tpu.sh and gke.sh start it on all hosts of a job, processes.sh several times on this machine, for trying.
set -euo pipefail
launch=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export TARS_JAX_POD=1
if [ -e /dev/nvidia0 ]; then
    exec "$launch/gpu.sh" "$@"
fi
exec "$launch/local.sh" "$@"
