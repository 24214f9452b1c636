#!/usr/bin/env bash
# One experiment on the nodes of a Slurm cluster, a process on each:
#   sbatch --nodes=4 [--gres=gpu:8] [--time=...] launch/slurm.sh EXPERIMENT --config.run=RUN --config.mesh.fsdp=32 [...]
#
# Submitted from the repository, which lies on a file system that all nodes share, as RUN does. A job that is requeued
# goes on where it was, because --config.run names its directory.
#SBATCH --job-name=tars_jax
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --output=tars_jax-%j.log
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:?is set by sbatch, which starts this script from the repository}"

srun --nodes=1 --ntasks=1 ./launch/pod.sh --help >/dev/null # sets up once, before all nodes would
# Left alone, jax gives the task of a node with several GPUs one of them.
if [ -n "${SLURM_GPUS_ON_NODE:-}" ]; then
    JAX_LOCAL_DEVICE_IDS=$(seq -s, 0 $((SLURM_GPUS_ON_NODE - 1)))
    export JAX_LOCAL_DEVICE_IDS
fi
exec srun --kill-on-bad-exit=1 ./launch/pod.sh "$@"
