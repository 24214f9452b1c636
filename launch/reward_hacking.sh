#!/usr/bin/env bash
# A reward model in the loop: an agent's traces, a reward model of them, then PPO whose only reward it is, beside PPO on
# the environment's own verdict; one figure over all seeds. docs/reward_models.md says what came of it.
#   ./launch/reward_hacking.sh [FOLDER [SEED ...]]                   # five seeds unless told otherwise
#   VERDICTS=300 ./launch/reward_hacking.sh                          # a better reward model; 30 is the report's F1
#   START=random ./launch/reward_hacking.sh                          # PPO from random weights, as the traces' agent
# What is there already is not made again: the same command goes on where it was stopped.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$root/runs/reward_hacking}
[ $# -eq 0 ] || shift
seeds=("$@")
[ $# -gt 0 ] || seeds=(0 1 2 3 4)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
verdicts=${VERDICTS:-30}
start=${START:-demonstrations}
orm=$folder/orm-$verdicts

loop=(--config.ppo.updates=16)
case $start in
    random) ;;
    demonstrations) # of a player that errs in half of its words, in all ways alike
        loop+=(--config.demonstrations.episodes=300 --config.demonstrations.skill=0.2)
        loop+=(--config.supervised.updates=60 --config.ppo.entropy_bonus=0.01)
        ;;
    *) echo "START must be random or demonstrations; got $start" >&2 && exit 2 ;;
esac

run() { # experiment, run directory, flags
    local experiment=$1 into=$2
    shift 2
    [ -f "$into/result.json" ] || "$root/launch/local.sh" "$experiment" --config.run="$into" "$@"
}
train() {
    run train "$@" --config=echo_small
}

train "$folder/traces"
run reward_model "$orm" --config=reward_model_small --config.held_out=0.25 \
    --config.model.preset="$folder/traces/policy" --config.trajectories="$folder/traces/trajectories/ppo," \
    --config.annotated.verdicts="$verdicts"

runs=()
for seed in "${seeds[@]}"; do
    train "$folder/orm-$verdicts-$start-$seed" "${loop[@]}" --config.seed="$seed" --config.task.judge=orm \
        --config.task.judge_options="{\"checkpoint\": \"$orm/policy\", \"reward\": \"verdict\"}"
    runs+=("$folder/orm-$verdicts-$start-$seed")
done
for seed in "${seeds[@]}"; do
    train "$folder/own-$start-$seed" "${loop[@]}" --config.seed="$seed" --config.task.judge=environment
    runs+=("$folder/own-$start-$seed")
done
list=$(IFS=, && echo "${runs[*]}")
exec "$root/launch/local.sh" compare --config.runs="$list" --config.output="$folder/reward_hacking-$verdicts-$start.svg"
