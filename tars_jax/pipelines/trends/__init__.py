"""The report's trends that need no sandbox, each an experiment with tests that are fixed beforehand. See README.md."""

import importlib
import pkgutil

from tars_jax.pipelines.trends.bench import Trend

_FILES = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[1:3].isdigit())  # t07_...
_ALL: list[Trend] = [importlib.import_module(f"{__name__}.{name}").TREND for name in _FILES]
TRENDS: dict[str, Trend] = {trend.name: trend for trend in _ALL}
