#!/usr/bin/env bash
# The flywheel beside both controls, training on the first cycle's data alone and no routing, over seeds: runs, a table
# and a figure with 95% intervals. The docstring of configs/flywheel_text.py says what came of it.
#   ./launch/flywheel_controls.sh [FOLDER [SEED ...]]                # three seeds unless told otherwise
# What is there already is not made again: the same command goes on where it was stopped.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/runs/flywheel_controls}
[ $# -eq 0 ] || shift
seeds=("$@")
[ $# -gt 0 ] || seeds=(0 1 2)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

runs=()
for seed in "${seeds[@]}"; do
    for control in none first_cycle no_routing; do
        into=$folder/$control-$seed
        [ -f "$into/result.json" ] || "$root/launch/local.sh" flywheel --config="$root/configs/flywheel_text.py" \
            --config.run="$into" --config.seed="$seed" --config.control="$control"
        runs+=("$into")
    done
done
list=$(IFS=, && echo "${runs[*]}")
exec "$root/launch/local.sh" compare_flywheels --config.runs="$list" --config.output="$folder/flywheel_controls.svg"
