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
    (folder / "owners.json").write_text('{"ann": {"key": "a-key-of-two"}, "bob": {"key": "a-key-of-two"}}')
    (folder / "binary").write_bytes(b"\xff\xfe")
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
            "config.task.judge_options: judge option endpoint.address must be http://HOST:PORT or https://HOST of ",
        ),
        (
            'judge_agreement labels=answers judge=answer judge_options={"endpoint":{"address":"http://x:99999"}}',
            "config.judge_options: judge option endpoint.address must be http://HOST:PORT or https://HOST of an ",
        ),
        ("judge_agreement labels=answers judge=zzz", "config.judge must be one of environment, "),
        (
            'judge_agreement judge_options={"zzz":1}',
            "config.judge_options: options of judge 'webjudge' must be endpoint, ",
        ),
        ("judge_agreement source=/nope", "config.source: /nope/annotations.csv must be a file that can be read; "),
        (
            "judge_traces parts.maze.size=0,0",
            "config.parts.maze.size must be that of a page, which maze_path_of_light ",
        ),
        ("sandbox_service owners_file=/nope", "config.owners_file: /nope does not exist"),
        ("sandbox_service owners_file=FILES", "config.owners_file: FILES must be a JSON file; "),
        ("sandbox_service owners_file=FILES/five.json", "config.owners_file: FILES/five.json: id must be an object; "),
        (
            "sandbox_service owners_file=FILES/owners.json",
            "config.owners_file: FILES/owners.json: the keys of owners must differ and be ASCII of 8 ",
        ),
        (
            "sandbox_service host=300.1.1.1",
            "config.host and config.port must be an address of this machine and a free ",
        ),
        ("openenv host=300.1.1.1", "config.host and config.port must be an address of this machine and a free port "),
        ("computer_apis host=300.1.1.1", "config.host and config.port must be an address of this machine and a "),
        ("openenv environment=zzz", "config.environment must be "),
        ("openenv environment=", "config.environment must be "),
        (
            'openenv environment=maze_path_of_light options={"zzz":1}',
            "config.options: maze_path_of_light: an option must be one of level, ",
        ),
        ("openenv sandbox.key_file=/nope", "config.sandbox.key_file must be a file of the key alone; /nope: "),
        ("store store=/nope", "config.store must be the folder of one, with a journal.jsonl; got '/nope'"),
        ("store store=FILES/new action=import datasets=/nope,", "config.datasets must be a folder of trajectories "),
        ("store store=FILES/new action=import datasets=x, where=color=1", "config.where must compare one of "),
        ("synthesize_questions source=zzz", "config.source must be world, foldoc, or a file .xml, .xml.bz2, .zim or "),
        ("synthesize_questions api_key_file=/nope", "config.api_key_file must be a file that can be read; "),
        ("synthesize_games api_key_file=/nope", "config.api_key_file must be a file that can be read; "),
        ("synthesize_websites addresses=/nope", "config.addresses must be a text file with one a line; "),
        ("synthesize_websites sites=zzz", "config.sites must be one of fossil, "),
        ("serve checkpoint=FILES", "config.checkpoint: FILES/checkpoint.json: cannot be read as "),
        (
            "serve checkpoint=nano certificate_file=FILES/five.json certificate_key_file=FILES/five.json",
            "config.certificate_file and config.certificate_key_file must be PEM files of a chain and of its key, ",
        ),
        ("serve checkpoint=nano mesh.data=64", "config.mesh.data * mesh.fsdp * mesh.expert * mesh.tensor must be "),
        ("export_weights checkpoint=FILES", "config.checkpoint: FILES/checkpoint.json: cannot be read as a checkpoint"),
        ("play_questions questions=FILES/five.jsonl", "config.questions: FILES/five.jsonl"),
        (
            "step_budgets environment=corridor api_key_file=/nope",
            "config.api_key_file must be a file that can be read; ",
        ),
        ("try environment=corridor api_key_file=/nope", "config.api_key_file must be a file that can be read; "),
        ("publish source=FILES", "config.source: FILES/config.json does not exist"),
        ("replay source=FILES/five.json", "config.source: FILES/five.json: damaged, or no archive of a run "),
        ("try environment=corridor player=zzz", "config.player must be package.module:attribute, or "),
        (
            "try environment=corridor preset=FILES",
            "config.preset: FILES/checkpoint.json: cannot be read as a checkpoint",
        ),
        ("annotate_recording recording=/nope", "config.recording: a recording must have recording.json; got /nope"),
        ("design_tasks graphs=FILES/five.json", "config.graphs: FILES/five.json"),
        (
            "design_tasks applications=FILES/binary",
            "config.applications: FILES/binary must be a table of applications ",
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
    assert not (tmp_path / "run").exists() and not (files / "new").exists()
