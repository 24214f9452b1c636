#!/usr/bin/env bash
# Prints the Kubernetes objects of one experiment on several hosts, a pod on each:
#   NAME=run1 IMAGE=IMAGE HOSTS=16 VOLUME=CLAIM RESOURCE=google.com/tpu=4 \
#     NODES=cloud.google.com/gke-tpu-accelerator=tpu-v5p-slice,cloud.google.com/gke-tpu-topology=4x4x4 \
#     ./launch/gke.sh EXPERIMENT --config.run=/shared/RUN --config.mesh.fsdp=64 [...] | kubectl apply -f -
#
# IMAGE has this repository at /tars_jax, where ./launch/local.sh --help has set it up, or ./launch/gpu.sh --help for GPUs.
# VOLUME is a claim that all hosts may write, mounted at /shared. RESOURCE is what a host takes (nvidia.com/gpu=8), NODES
# the labels of such hosts. A pod that fails ends the others; the job starts all of them again, up to RESTARTS times (10),
# and --config.run goes on.
set -euo pipefail
: "${NAME:?}" "${IMAGE:?}" "${HOSTS:?}" "${VOLUME:?}"
[ $# -ge 1 ] || { echo "usage: NAME=... IMAGE=... HOSTS=... VOLUME=... ./launch/gke.sh EXPERIMENT [...]" >&2; exit 2; }
exec python3 - "$@" <<'PYTHON'
import json, os, sys

def pairs(name):
    return dict(pair.split("=", 1) for pair in os.environ.get(name, "").split(",") if pair)

name, hosts = os.environ["NAME"], int(os.environ["HOSTS"])
labels = {"app": name}
service = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": name},
    # The pods meet before any of them could be ready.
    "spec": {"clusterIP": "None", "selector": labels, "publishNotReadyAddresses": True},
}
index = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
container = {
    "name": "process",
    "image": os.environ["IMAGE"],
    "workingDir": "/tars_jax",
    "command": ["./launch/pod.sh", *sys.argv[1:]],
    "env": [
        {"name": "JAX_COORDINATOR_ADDRESS", "value": f"{name}-0.{name}:8476"},
        {"name": "JAX_NUM_PROCESSES", "value": str(hosts)},
        {"name": "JAX_PROCESS_ID", "valueFrom": {"fieldRef": {"fieldPath": index}}},
    ],
    "resources": {"limits": pairs("RESOURCE"), "requests": pairs("RESOURCE")},
    "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
}
pod = {
    "subdomain": name,
    "restartPolicy": "Never",
    "nodeSelector": pairs("NODES"),
    "containers": [container],
    "volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": os.environ["VOLUME"]}}],
}
job = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": name},
    "spec": {
        "completionMode": "Indexed",
        "completions": hosts,
        "parallelism": hosts,
        "backoffLimit": hosts * int(os.environ.get("RESTARTS", "10")),
        "template": {"metadata": {"labels": labels}, "spec": pod},
    },
}
print(json.dumps({"apiVersion": "v1", "kind": "List", "items": [service, job]}, indent=2))
PYTHON
