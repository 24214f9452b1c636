"""How good a judge is: its verdicts beside people's labels, the benchmark's own rules and always saying yes.

Command:  ./launch/local.sh judge_agreement --config.labels=agent_reward_bench --config.source=FOLDER

With no options, the embedded rules of `webjudge` (seconds, deterministic, blind to pixels). With a model:
--config.judge_options='{"endpoint": {"address": "https://HOST/v1", "model": "NAME", "api_key_file": "FILE"}}'.
A reward model on recorded episodes whose verifier's verdicts are known: --config.labels=recorded
--config.source=RUN/trajectories/ppo --config.judge=orm --config.judge_options='{"checkpoint": "RUN/policy"}'.

Any judge on traces of several domains whose truth is hidden: --config.labels=traces --config.source=RUN, a run of
`judge_traces`.

What a published judge said, in place of asking one (AgentRewardBench's files BENCHMARK/AGENT/JUDGE/TASK.json):
--config.source=FOLDER --config.judge=JUDGE --config.judgments=FOLDER.

Agents' runs of Online-Mind2Web, in the form of its result.json, beside people's labels (FOLDER/human_label.json,
FOLDER/AGENT/TASK_ID): --config.labels=online_mind2web --config.source=FOLDER; with --config.judgments=FOLDER what its
evaluation said of them, from FOLDER/AGENT/..._auto_eval_results.json.

Judges of answers, by answers that somebody labelled who had not seen the rules (tars_jax/judges/labels/answers.py):
--config.labels=answers --config.judge=reference, or --config.judge=answer with an endpoint; each split and each kind of
answer is a row.

Expected result: agreement.md and result.json with the set and who made it, precision, recall, F1, false positive rate
and the share that the judge cannot say, by site and by length; and of scores between 0 and 1 the expected calibration
error and Brier score.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            # or online_mind2web; or recorded: episodes of our runs; or traces: a run of judge_traces; or answers
            "labels": "agent_reward_bench",
            "source": "",  # the folder of the labels; answers have their own
            "judge": "webjudge",  # as config.task.judge of train
            "judge_options": "{}",
            "judgments": "",  # a folder of what `judge` said; of `source`, annotations.csv is enough then
            "unsure": "leave_out",  # what "Unsure" is, of AgentRewardBench: leave_out or failure
            "contradiction": "leave_out",  # labels that contradict each other: leave_out, failure or first
            "most": 0,  # labels (trajectories, or answers), drawn by the seed; 0: all
            "parallel": 8,  # of them that are judged at the same time
            "seed": 0,
            "run": "",
        }
    )
