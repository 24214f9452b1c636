"""The report's trends that need no sandbox, each an experiment with tests that were put beforehand. See README.md."""

from experiments.trends import (
    t01_reward_rises,
    t02_entropy_rises,
    t04_thoughts_shorten,
    t06_fewer_steps,
    t07_value_pretraining,
    t08_step_budget,
    t09_ppo_and_grpo,
    t13_merging,
    t14_quantisation,
    t17_imperfect_verifier,
)
from experiments.trends.bench import Trend

TRENDS: dict[str, Trend] = {
    module.TREND.name: module.TREND
    for module in (
        t01_reward_rises,
        t02_entropy_rises,
        t04_thoughts_shorten,
        t06_fewer_steps,
        t07_value_pretraining,
        t08_step_budget,
        t09_ppo_and_grpo,
        t13_merging,
        t14_quantisation,
        t17_imperfect_verifier,
    )
}
