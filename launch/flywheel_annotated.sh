#!/usr/bin/env bash
# Two cycles of the flywheel with annotation of each cycle's newest model by a simulated annotator, beside two without:
# runs, a table and a figure.
# docs/annotation_proof.md says what came of it.
#   ./launch/flywheel_annotated.sh [FOLDER [SEED ...]]                # three seeds unless told otherwise
# What is there already is not made again: the same command goes on where it was stopped.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/runs/flywheel_annotated}
[ $# -eq 0 ] || shift
seeds=("$@")
[ $# -gt 0 ] || seeds=(0 1 2)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
environment=tars_jax.envs.examples.alphabet:Alphabet
steps=64 # that a person decides in each cycle

runs=() names=()
for seed in "${seeds[@]}"; do
    for kind in annotated none; do
        into=$folder/$kind-$seed
        fly=("$root/launch/local.sh" flywheel --config="$root/configs/flywheel_text.py" --config.run="$into" --config.seed="$seed")
        if [ "$kind" != none ]; then
            fly+=("--config.annotation.datasets=$into-{cycle}/trajectories,")
            for cycle in 1 2; do # each annotates the model that the cycle before has left
                [ -f "$into-$cycle/result.json" ] && continue
                "${fly[@]}" --config.cycles="$((cycle - 1))"
                "$root/launch/local.sh" annotate_simulated --config.checkpoint="$into/cycles/000$((cycle - 1))/model" \
                    --config.environment="$environment" --config.human_steps="$steps" \
                    --config.first_task="$((2000 + 200 * cycle))" --config.seed="$seed" --config.run="$into-$cycle"
            done
        fi
        grep -qs '"number": 2' "$into/result.json" || "${fly[@]}" --config.cycles=2
        runs+=("$into") names+=("$kind")
    done
done
list() { local IFS=, && echo "$*"; }
exec "$root/launch/local.sh" compare_flywheels --config.runs="$(list "${runs[@]}")" \
    --config.names="$(list "${names[@]}")" --config.output="$folder/flywheel_annotated.svg"
