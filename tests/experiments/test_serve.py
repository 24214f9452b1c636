"""The serve command before it serves; the server itself is tested in tests/inference/server."""

import json
import socket
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from PIL import Image

from experiments.__main__ import main
from tars_jax import InputError
from tars_jax.inference.chat_template import Message
from tars_jax.model.policy import init_parameters
from tars_jax.model.presets import preset
from tars_jax.model.tokenizer import load_tokenizer
from tars_jax.pipelines.sections import well_formed
from tars_jax.pipelines.serving import fit_to, read_key, screenshot_size, template
from tars_jax.training.checkpoint import save_parameters


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "policy").mkdir()
    stored: Any = {"experiment": "quickstart", "config": {"model": {"preset": "nano"}, "browser": {"size": 96}}}
    (tmp_path / "config.json").write_text(json.dumps(stored))
    return tmp_path


def test_a_run_says_what_screenshots_its_checkpoints_read(run: Path) -> None:
    assert screenshot_size(run / "policy") == (96, 96)
    (run / "config.json").unlink()
    assert screenshot_size(run / "policy") is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "config.checkpoint must be a folder of exported weights: --config.checkpoint="),
        (["--config.checkpoint=nowhere"], "got 'nowhere'"),
        (["--config.checkpoint=RUN/policy"], "RUN/policy/checkpoint.json: cannot be read as a checkpoint"),
        (
            ["--config.checkpoint=RUN/policy", "--config.host=0.0.0.0"],
            "config.api_key_file must be given where others can reach 0.0.0.0",
        ),
        (
            ["--config.checkpoint=RUN/policy", "--config.api_key_file=RUN/no"],
            "config.api_key_file must be a file that can be read",
        ),
        (
            ["--config.checkpoint=RUN/policy", "--config.certificate_file=RUN/c"],
            "config.certificate_key_file must be given",
        ),
    ],
)
def test_what_cannot_be_served_is_one_sentence(
    run: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    arguments = [argument.replace("RUN", str(run)) for argument in arguments]
    assert main(["serve", "--config.port=0", f"--config.run={run / 'serve'}", *arguments]) == 2
    error = capsys.readouterr().err
    assert words.replace("RUN", str(run)) in error and error.count("\n") == 1


def test_a_taken_port_is_said_before_anything_is_read(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        flags = [f"--config.checkpoint={run / 'policy'}", f"--config.port={port}", f"--config.run={run / 'serve'}"]
        assert main(["serve", *flags]) == 2
    assert f"got 127.0.0.1:{port}: Address already in use" in capsys.readouterr().err


def test_a_size_that_the_model_does_not_read_is_said_before_anything_is_compiled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = preset("nano", load_tokenizer().vocabulary)
    shapes = jax.eval_shape(lambda key: init_parameters(model, key), jax.random.key(0))
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    save_parameters(tmp_path / "weights", zeros, parent=None, model=model)
    flags = [f"--config.checkpoint={tmp_path / 'weights'}", f"--config.run={tmp_path / 'run'}", "--config.port=0"]
    assert main(["serve", *flags, "--config.image=95,96"]) == 2
    said = capsys.readouterr()
    assert (
        said.err.startswith("config.image must be one that the model reads; got (95, 96): both sides")
        and "compiling" not in said.out
    )


def test_constraints_allow_no_token_of_a_padded_vocabulary() -> None:
    """Open models have more embeddings than their tokenizers have tokens; logits are of them all."""
    tokenizer = load_tokenizer()
    constraints = well_formed(["text"], tokenizer, tokenizer.vocabulary + 32)
    assert constraints is not None
    on_device = jax.tree.map(jax.numpy.asarray, constraints)
    allowed = np.asarray(on_device.allowed(constraints.start["text"], 100))
    assert allowed.shape == (tokenizer.vocabulary + 32,)
    assert allowed.any() and not allowed[tokenizer.vocabulary :].any()


def test_pictures_are_resized_to_what_the_policy_knows() -> None:
    model = preset("nano")
    wide = Image.fromarray(np.arange(200 * 300 * 3, dtype=np.uint8).reshape(200, 300, 3))
    assert fit_to(model, (96, 96))(wide).shape == (96, 96, 3)
    same = wide.resize((96, 96))
    assert (fit_to(model, (96, 96))(same) == np.asarray(same)).all()
    clear = Image.new("RGBA", (96, 96), (0, 0, 0, 0))
    assert (fit_to(model, (96, 96))(clear) == 255).all()  # what is transparent stands on white
    assert fit_to(model, None)(wide).shape == (192, 288, 3)  # its smart size: multiples of 32 pixels
    tokenizer = load_tokenizer()
    prompt = template(model, tokenizer)([Message("user", ("see", np.zeros((96, 96, 3), np.uint8)))])
    assert prompt.tokens.count(tokenizer.image) == 9


def test_keys_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("Sesame-1\n")
    (tmp_path / "empty").write_text("\n")
    assert (read_key(""), read_key(str(tmp_path / "key"))) == ("", "Sesame-1")
    with pytest.raises(InputError, match="which is empty"):
        read_key(str(tmp_path / "empty"))
