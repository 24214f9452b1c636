"""What names something that is not there is refused before anything is opened, compiled or played."""

import pathlib

import pytest

from tars_jax.pipelines.command import main


@pytest.fixture
def files(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "blank.jsonl").write_text("\n\n")
    (folder / "five.jsonl").write_text('{"id": 5}\n')
    (folder / "question.jsonl").write_text('{"id": "q", "text": "Who?", "answers": ["Ann"]}\n')
    (folder / "five.json").write_text('{"id": 5}')
    (folder / "folder.jsonl").mkdir()
    return folder


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("judge_traces parts.tools.environment=zzz", "config.parts.tools.environment must be "),
        ("judge_traces parts.computer.environment=zzz parts.computer.episodes=0", "config.parts.computer.environment "),
        ("judge_traces parts.tools.options={", "config.parts.tools.options must be a JSON object; got '{'"),
        ("openenv options=[1]", "config.options must be a JSON object; got '[1]'"),
        ("ablations starts.encyclopedia_sdk=zzz", "config.starts.encyclopedia_sdk must be one of checklist, "),
        (
            "scoreboard games.checklist_several.game.options=nope,",
            "config.games.checklist_several.game.options must be name=value; got 'nope'",
        ),
        (
            "scoreboard games.checklist_several.game.options=nope=1,",
            "config.games.checklist_several.game.options: an option of game checklist must be one of ",
        ),
        ("serve checkpoint=nano checkpoint_root=/nope", "config.checkpoint_root must be a folder that is there; got "),
        ("serve checkpoint=nano record=/etc/passwd", "config.record must be a folder that can be made and written; "),
        ("step_budgets environment=zzz", "config.environment must be "),
        ("annotate sandbox.address=(1,2,3,4,5,6)", "config.sandbox.address must be http://HOST:PORT"),
        (
            "supervised demonstrations.datasets=FILES/blank.jsonl, demonstrations.episodes=0",
            "config.demonstrations.datasets must hold episodes; got FILES/blank.jsonl, which hold none",
        ),
        ("supervised demonstrations.datasets=/nope,", "config.demonstrations.datasets must be a folder of "),
        ("curate datasets=/nope,", "config.datasets must be a folder of trajectories"),
        ("flywheel demonstrations.datasets=/nope,", "config.demonstrations.datasets must be a folder of "),
        ("design_tasks helper=http://x:99999", "config.helper must be 'embedded' or the address of "),
        ("design_tasks graphs=/nope", "config.graphs must be files of task graphs or a folder of them; got '/nope'"),
        ("design_tasks applications=/nope", "config.applications must be a table in CSV that is there; got '/nope'"),
        (
            "flywheel environment=browsing tasks=FILES/five.jsonl",
            "config.tasks: FILES/five.jsonl:1 must be a task of JSON with the field environment, or with answers",
        ),
        ("flywheel environment=browsing tasks=FILES/blank.jsonl", "config.tasks must be a file of tasks, one a line; "),
        ("flywheel environment=browsing tasks=FILES/folder.jsonl", "config.tasks: FILES/folder.jsonl must be a file "),
        ("flywheel environment=browsing tasks=/nope.jsonl", "config.tasks: /nope.jsonl must be a file of lines"),
        (
            "evaluate suite=osworld tasks=FILES/five.json",
            "config.tasks: FILES/five.json must be a task, with an instruction, or lists of ids by domain; got a field",
        ),
        (
            "evaluate suite=osworld tasks=/nope",
            "config.tasks must be a checkout of OSWorld's evaluation_examples, or a ",
        ),
        (
            "flywheel environment=browsing tasks=FILES/question.jsonl",
            "config.environment_options: browsing: an option must be one of questions, ",
        ),
        ("train environment=zzz", "config.environment must be one of "),
        (
            'train environment=corridor environment_options={"level":1}',
            "config.environment_options: corridor: an option must be shortest or longest; got 'level'",
        ),
        (
            'train environment=corridor task.judge=answer task.judge_options={"endpoint":{"address":"nowhere"}}',
            "judge option endpoint.address must be http://HOST:PORT or https://HOST of an endpoint; got 'nowhere'",
        ),
        (
            'judge_agreement labels=answers judge=answer judge_options={"endpoint":{"address":"http://x:99999"}}',
            "judge option endpoint.address must be http://HOST:PORT or https://HOST of an endpoint; got 'http://x:99999'",
        ),
    ],
)
def test_what_is_not_there_is_refused_first(
    command: str, sentence: str, files: pathlib.Path, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *given = command.replace("FILES", str(files)).split()
    assert main([name, f"--config.run={tmp_path / 'run'}", *(f"--config.{each}" for each in given)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(sentence.replace("FILES", str(files)))
    assert said.out.count("\n") <= 1  # no more than where the run is
    assert not (tmp_path / "run").exists()
