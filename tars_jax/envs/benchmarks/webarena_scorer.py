"""Scores one episode by WebArena-Verified's own evaluators.

It is run by the Python of launch/webarena_verified.sh, which has that package, and imports nothing of ours. stdin is a
request, stdout its answer:

    {"config": {"test_data_file": ..., "environments": {...}}, "task_id": 1, "response": "..." | null, "entries": [...]}
    {"result": {...}, "version": "1.2.3"}   or   {"failure": "one sentence"}
"""

import contextlib
import importlib
import importlib.metadata
import json
import logging
import sys
from typing import Any


def score_episode(request: dict[str, Any]) -> dict[str, Any]:
    try:
        version = importlib.metadata.version("webarena-verified")
    except importlib.metadata.PackageNotFoundError:
        return {"failure": "webarena-verified is not installed"}
    if version != request["version"]:
        return {"failure": f"webarena-verified must be {request['version']}; got {version}"}
    logging.disable(logging.CRITICAL)
    load: Any = importlib.import_module
    evaluators, readers = (load(f"webarena_verified.api.internal.{name}") for name in ("evaluator", "data_reader"))
    configs, data = (load(f"webarena_verified.types.{name}") for name in ("config", "data"))
    try:
        config = configs.WebArenaVerifiedConfig.model_validate(request["config"])
        one = [request["task_id"]]  # all of a file are taken only where they are 812
        subset = data.TaskSubset(task_ids=one, checksum=data.TaskSubset.compute_checksum(one))
        reader = readers.WebArenaVerifiedDataReader(config, subset)
        evaluator = evaluators.WebArenaVerifiedEvaluator(config=config, reader=reader)
    except Exception as error:
        return {"failure": f"the evaluators do not take the task: {error}"}
    result = evaluator.evaluate_task(
        task_id=request["task_id"], agent_response=request["response"], network_trace=request["entries"]
    )
    return {"result": result.model_dump(mode="json"), "version": version}


if __name__ == "__main__":
    said = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # whatever the package prints
        answer = score_episode(json.load(sys.stdin))
    said.write(json.dumps(answer))
