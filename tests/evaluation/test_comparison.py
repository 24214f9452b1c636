"""Several runs in one figure."""

import dataclasses
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.__main__ import main
from experiments.compare import read_run
from tars_jax import InputError
from tars_jax.evaluation import DEFAULT_CURVES
from tars_jax.evaluation.comparison import draw_comparison, settings_of
from tars_jax.evaluation.figures import save_figure
from tars_jax.training.metrics import MetricsWriter


def finished(folder: Path, seed: int, clip: float, success: tuple[float, ...]) -> Path:
    folder.mkdir()
    config: dict[str, Any] = {"seed": seed, "run": "", "ppo": {"clip_high": clip, "updates": len(success)}}
    (folder / "config.json").write_text(json.dumps({"experiment": "quickstart", "config": config}))
    result = {"score_before": success[0], "score_after": success[-1], "episodes": 200, "seed": seed}
    (folder / "result.json").write_text(json.dumps(result))
    with MetricsWriter(folder) as metrics:
        for step, value in enumerate(success, start=1):
            metrics.write("ppo", step, {"success": value, "entropy": 1 / step})
    return folder


def test_seeds_share_a_setting_that_is_named_by_what_sets_it_apart(tmp_path: Path) -> None:
    folders = [
        finished(tmp_path / "a", 0, 0.28, (0.4, 0.6, 0.7)),
        finished(tmp_path / "b", 1, 0.28, (0.3, 0.5, 0.6)),
        finished(tmp_path / "c", 0, 0.2, (0.4, 0.5, 0.5)),
    ]
    runs = [read_run(folder) for folder in folders]
    settings = settings_of(runs)
    assert {name: [run.result["seed"] for run in group] for name, group in settings.items()} == {
        "ppo.clip_high=0.28": [0, 1],
        "ppo.clip_high=0.2": [0],
    }
    assert list(settings_of(runs[:2])) == ["all runs"]


def test_the_figure_holds_every_run_and_only_curves_that_have_rows(tmp_path: Path) -> None:
    runs = [
        read_run(finished(tmp_path / "a", 0, 0.28, (0.4, 0.6, 0.7))),
        read_run(finished(tmp_path / "b", 0, 0.2, (0.3, 0.5, 0.6))),
    ]
    figure = draw_comparison(runs, DEFAULT_CURVES, "two clips")
    drawn = {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}
    assert list(drawn) == ["Held-out success", "Success", "Entropy"]
    # Each curve is drawn twice, as it is and smoothed; three points are not smoothed.
    lines = [tuple(np.asarray(line.get_ydata())) for line in drawn["Success"].get_lines()]
    assert lines == [(0.4, 0.6, 0.7)] * 2 + [(0.3, 0.5, 0.6)] * 2
    page = io.StringIO()
    figure.savefig(page, format="svg", metadata={"Date": None})
    assert page.getvalue().count("<path") > 20


def test_settings_with_long_names_stand_whole_below_the_figure(tmp_path: Path) -> None:
    runs = []
    for number in range(3):
        differing: dict[str, Any] = {
            f"section.a_field_of_some_length_{field}": number + field / 3 for field in range(12)
        }
        differing["folders"] = ("/somewhere/with-no-space/" * 8 + str(number),)
        run = read_run(finished(tmp_path / str(number), 0, 0.28, (0.4, 0.6, 0.7)))
        runs.append(dataclasses.replace(run, config={**run.config, **differing}))
    figure = draw_comparison(runs, DEFAULT_CURVES, "")
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, page = legend.get_window_extent(), figure.bbox
    assert 0 <= box.x0 < box.x1 <= page.width and 0 <= box.y0 < box.y1 <= page.height
    for axes in figure.axes:
        if axes.axison:
            drawn = axes.get_tightbbox()
            assert drawn is not None and not drawn.overlaps(box) and axes.get_window_extent().height > 80
    shown = "".join("".join(text.get_text().split()) for text in legend.get_texts())
    assert all("".join(name.split()) in shown for name in settings_of(runs))


def test_what_ppo_did_is_judged_over_the_seeds_of_each_named_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    curves = {
        "a": (0, 0.2, (0.1, 0.2, 0.3, 0.4, 0.5), (10, 9, 9, 6, 5)),  # rises by .4; 5 tokens fewer
        "b": (1, 0.2, (0.1, 0.2, 0.3, 0.4, 0.5), (10, 9, 9, 6, 5)),
        "c": (0, 0.3, (0.1, 0.2, 0.3, 0.4, 0.5), (5, 5, 5, 5, 5)),
        "d": (1, 0.3, (0.1, 0.15, 0.2, 0.25, 0.3), (5, 5, 5, 5, 7)),  # by .2; 2 more
    }
    for name, (seed, clip, reward, think) in curves.items():
        folder = finished(tmp_path / name, seed, clip, reward)
        with MetricsWriter(folder) as metrics:
            for step, values in enumerate(zip(reward, think, strict=True), start=6):
                metrics.write("ppo", step, dict(zip(("reward", "think_tokens"), values, strict=True)))
    runs = ",".join(str(tmp_path / name) for name in curves)
    output = tmp_path / "figure.svg"
    more = [f"--config.run={tmp_path / 'run'}", f"--config.output={output}"]
    assert main(["compare", f"--config.runs={runs}", "--config.names=game,website", *more]) == 0
    said = output.with_suffix(".md").read_text()
    assert said in capsys.readouterr().out and "steps an episode" not in said  # of which there are no rows
    rows = [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in said.splitlines()[2:]]
    assert [(name, seeds, effect[:2], *rest) for name, seeds, effect, *rest in rows] == [
        ("game", "2", "T1", "+0.4 [0.4, 0.4]", "holds"),
        ("game", "2", "T2", "-0.8 [-0.8, -0.8]", "does not hold"),  # 1 and a fifth
        ("game", "2", "T4", "+5 [5, 5]", "holds"),
        # Student's t of 1 degree of freedom is 12.706; standard errors are .1 and 1.
        ("website", "2", "T1", "+0.3 [-0.971, 1.57]", "undecided"),
        ("website", "2", "T2", "-0.8 [-0.8, -0.8]", "does not hold"),
        ("website", "2", "T4", "-1 [-13.7, 11.7]", "undecided"),
    ]
    legend = draw_comparison([read_run(tmp_path / name) for name in curves], [], "", ("game", "website")).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["game", "website"]
    assert main(["compare", f"--config.runs={runs}", "--config.names=game", f"--config.run={tmp_path / 'other'}"]) == 2
    assert "names must be one for each of 2 settings; got game" in capsys.readouterr().err


def test_a_run_that_has_not_finished(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be directories of finished runs; got .* which holds no result.json"):
        read_run(tmp_path)


def test_a_run_without_scores_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"successes": {}, "seed": 0}')
    with pytest.raises(
        InputError, match="score_before of .* must be .*, as runs with scores before and after have; got 'nothing'"
    ):
        read_run(tmp_path)


def result(**changes: Any) -> str:
    return json.dumps({"score_before": 0.2, "score_after": 0.5, "episodes": 20, "seed": 0} | changes)


def row(**changes: Any) -> str:
    return json.dumps({"step": 1, "stage": "ppo", "time": 1.0, "values": {}} | changes) + "\n"


@pytest.mark.parametrize(
    ("file", "written", "words"),
    [
        ("result.json", "[]", "must hold a JSON object; got list"),
        ("result.json", '{"score_before": "high"}', "score_before of .* must be .*; got 'high'"),
        ("result.json", "[" * 100_000, "result.json must be a whole JSON file"),
        ("result.json", result(score_after=1.5), "score_after of .* must be a success rate of 0 to 1, .*; got 1.5"),
        ("result.json", result(score_before=math.inf), "score_before of .* must be .*; got inf"),
        ("result.json", result(episodes=0), "episodes of .* must be a whole number of 1 or more, .*; got 0"),
        ("metrics.jsonl", "[" * 100_000 + "\n{}\n", r"metrics.jsonl: line 1 must be a row of metrics; got b'\[\["),
        ("metrics.jsonl", row(values={"success": 10**400}) + row(), "metrics.jsonl: line 1 must be a row of metrics"),
        ("config.json", '{"experiment": "quickstart", "config": 3}', "config of .* must be an object; got 3"),
        ("config.json", "{}", "got none named experiment"),
    ],
)
def test_a_damaged_run_is_named(tmp_path: Path, file: str, written: str, words: str) -> None:
    folder = finished(tmp_path / "a", 0, 0.28, (0.4, 0.6))
    (folder / file).write_text(written)
    with pytest.raises(InputError, match=words):
        read_run(folder)


def test_a_run_that_lacks_the_rows_of_another_has_no_line_there(tmp_path: Path) -> None:
    runs = [read_run(finished(tmp_path / name, 0, 0.28, (0.4, 0.6))) for name in ("a", "b")]
    figure = draw_comparison([runs[0], dataclasses.replace(runs[1], metrics=())], DEFAULT_CURVES, "")
    (panel,) = (axes for axes in figure.axes if axes.get_title(loc="left") == "Entropy")
    assert len(panel.get_lines()) == 2


def test_runs_whose_names_are_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--config.runs=1,2", f"--config.run={tmp_path / 'run'}"]) == 2
    assert "config.runs must be directories of finished runs; got 1, which" in capsys.readouterr().err


def test_a_figure_is_the_same_bytes_again_and_names_what_it_cannot_be(tmp_path: Path) -> None:
    run = read_run(finished(tmp_path / "a", 0, 0.28, (0.4, 0.6)))
    for kind in ("svg", "png", "pdf"):
        for name in ("one", "other"):
            figure = draw_comparison([run], [], "again")
            save_figure(figure, tmp_path / f"{name}.{kind}")
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()
    with pytest.raises(InputError, match=r"must end in \.svg"):
        save_figure(figure, tmp_path / "figure.doc")
    with pytest.raises(InputError, match="cannot be written: No such file"):
        save_figure(figure, tmp_path / "nowhere" / "figure.svg")


def test_true_success_is_drawn_beside_what_a_judge_said(tmp_path: Path) -> None:
    runs = [read_run(finished(tmp_path / str(seed), seed, 0.2, (0.2, 0.6))) for seed in (0, 1)]
    success = next(curve for curve in DEFAULT_CURVES if curve.title == "Success")
    panel = draw_comparison(runs, [success], "").axes[1]
    assert len(panel.get_lines()) == 4 and panel.get_legend() is None  # each twice, plain and smoothed
    for run in runs:
        rows = [dataclasses.replace(row, values={**row.values, "true_success": 0.1}) for row in run.metrics]
        run = dataclasses.replace(run, metrics=rows)
        panel = draw_comparison([run], [success], "").axes[1]
        dashed = [line for line in panel.get_lines() if line.get_linestyle() == "--"]
        assert [line.get_ydata().tolist() for line in dashed] == [[0.1, 0.1]] * 2  # type: ignore[union-attr]
        legend = panel.get_legend()
        assert legend is not None and [text.get_text() for text in legend.get_texts()] == [
            "the environment’s own verdict, hidden"
        ]
