#!/usr/bin/env bash
# Measures this machine's NVIDIA GPU; arguments are fields of configs/gpu_bench.py. What gpu.sh says holds here:
#   ./launch/gpu_bench.sh [--config.minutes=9] [--config.run=RUN] [--config.FIELD=VALUE ...]
exec "$(dirname "${BASH_SOURCE[0]}")/gpu.sh" gpu_bench "$@"
