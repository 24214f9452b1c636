"""The report's trends that need no sandbox, each an experiment with tests that are fixed beforehand. See README.md."""

from tars_jax.pipelines.trends.algorithms import T7, T9, T12, T17
from tars_jax.pipelines.trends.annotation import T20
from tars_jax.pipelines.trends.bench import Trend
from tars_jax.pipelines.trends.generalization import T8, T10, T13, T14, T15
from tars_jax.pipelines.trends.interfaces import T11, T16, T18, T19
from tars_jax.pipelines.trends.learning_curves import T1, T2, T3, T4, T5, T6

_ALL = (T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12, T13, T14, T15, T16, T17, T18, T19, T20)
TRENDS: dict[str, Trend] = {trend.name: trend for trend in _ALL}
