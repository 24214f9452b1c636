"""The command line of every experiment: tars-jax NAME [VALUE ...] [--config=FILE] [--config.FIELD=VALUE ...].

The command comes with the wheel; in a checkout `./launch/local.sh` sets up first and then does the same.

NAME is a module experiments/NAME.py with `run(config, run_directory)` and, optionally, `POSITIONAL`, the fields that
VALUEs without a flag are for, in their order, `EXTENSIONS`, the fields that may grow when a run is resumed
(`tars_jax.training.run_directory`), `RENEWED`, those that may be others then, and `PROCESSES = "many"` where several
processes can share a run (`tars_jax.training.processes`). Its default config is configs/NAME.py, made from dataclasses
that say what each field is and must be (`schema.py`). Two fields belong to this file: `seed`, and `run`, the run
directory ("" for runs/NAME-TIME-seedSEED, in the checkout, or else where the user stands; one that exists is resumed).
A config without `run` is of a command that leaves no run: it has `run(config)`.

Exit codes: 0 done, 1 done, and what was to be shown is not so (`run` returns it), 2 something given cannot be used, or
what was waited for did not come (one sentence says what; a run that was refused leaves no directory), 130 interrupted
by Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import errno
import gc
import importlib.util
import itertools
import os
import pathlib
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import NoReturn

import ml_collections

from tars_jax import GaveUp, InputError
from tars_jax.files import FULL_DISK
from tars_jax.launcher import INSTALLED, POD, from_here, resume_command
from tars_jax.pipelines.checkout import ROOT, make_importable
from tars_jax.pipelines.command_help import list_experiments, list_fields
from tars_jax.pipelines.config import flatten, load_config, named_in
from tars_jax.pipelines.recipes import recipe_lines
from tars_jax.training.run_directory import RunDirectory

# Of a file or folder that the user gave, or that lies where the user said: another place, or other rights, mend it.
PLACE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.ENOTDIR,
    errno.EISDIR,
)
INTERRUPTED = 130  # as shells have it
NO_ROOM = os.strerror(errno.ENOSPC)[:20]  # TensorStore cuts its words
AGAIN = 0.02  # seconds until an interrupt that was dropped comes again
HELP = ("--help", "-h")


def main(arguments: list[str], root: pathlib.Path = ROOT) -> int:
    """Run one experiment of the repository at `root`; returns the exit code."""
    make_importable(root)
    _let_signals_interrupt()
    resume, run_directory, config = "", None, ml_collections.ConfigDict()
    try:
        name, flags = _experiment(arguments, root)
        if not name:
            print(list_experiments(root, experiment_names(root)))
            return 0 if arguments else 2
        if any(flag in HELP for flag in flags):
            flags = [flag for flag in flags if flag.startswith("--config")]
            print(list_fields(name, flags, root))
            return 0
        module = _load(name, root)
        flags = _with_positional(flags, getattr(module, "POSITIONAL", ()))
        config = load_config(name, flags, root=root)
        if "run" not in config:
            return module.run(config) or 0
        with contextlib.ExitStack() as stack:
            run_directory = stack.enter_context(_run_directory(name, config, root, module))
            if getattr(module, "RESUMES", True):
                resume = resume_command(name, run_directory.path, root)
            if not run_directory.is_main_process:
                output = stack.enter_context(open(run_directory.own / "output.log", "a", buffering=1, encoding="utf-8"))
                stack.enter_context(contextlib.redirect_stdout(output))
            print(
                f"{name}: {'resuming' if run_directory.resumed else 'run directory'} {from_here(run_directory.path)}",
                flush=True,
            )
            if config.get("recipe"):
                print("\n".join(recipe_lines(name, flatten(config))), flush=True)
            return module.run(config, run_directory) or 0
    except BaseException as error:
        if _is_interrupt(error):
            _let_go_quietly()
            print(f"\nInterrupted. Resume with: {resume}" if resume else "\nInterrupted.", file=sys.stderr)
            return INTERRUPTED
        if not isinstance(error, Exception):
            raise
        sentence = _sentence(error, resume)
        if sentence is None:
            raise
        if run_directory is not None and _is_refusal(error):
            run_directory.withdraw()
        print(named_in(config, sentence), file=sys.stderr)
        return 2


def _experiment(arguments: list[str], root: pathlib.Path) -> tuple[str, list[str]]:
    if not arguments or arguments[0] in HELP:
        return "", []
    name, *flags = arguments
    if name not in experiment_names(root):
        guess = difflib.get_close_matches(name, experiment_names(root), 1)
        meant = f" (did you mean {guess[0]!r}?)" if guess else ""
        raise InputError(
            f"the first argument must be an experiment, one of {', '.join(experiment_names(root))}; got {name!r}{meant}"
        )
    return name, flags


def _with_positional(flags: list[str], fields: Sequence[str]) -> list[str]:
    """Values without a flag become the flags of the experiment's fields for them."""
    values = [flag for flag in flags if not flag.startswith("-")]
    if not fields or not values:
        return flags
    if len(values) > len(fields):
        named = " and ".join(f"config.{field}" for field in fields)
        each = "each " if len(fields) > 1 else ""
        raise InputError(f"{named} must {each}be one value; got {' '.join(values)}")
    given = (f"--config.{field}={value}" for field, value in zip(fields, values, strict=False))
    return [*given, *(flag for flag in flags if flag.startswith("-"))]


def experiment_names(root: pathlib.Path) -> list[str]:
    """An experiment is a module that has a default config."""
    modules = (file for file in (root / "experiments").glob("*.py") if not file.stem.startswith("_"))
    return sorted(file.stem for file in modules if (root / "configs" / file.name).exists())


def _load(name: str, root: pathlib.Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"experiments.{name}", root / "experiments" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look their module up by name
    collects = gc.isenabled()
    gc.disable()  # a fifth of the time: nothing of what modules hold goes away
    try:
        spec.loader.exec_module(module)
    finally:
        if collects:
            gc.enable()
    return module


def _run_path(name: str, config: ml_collections.ConfigDict, root: pathlib.Path) -> pathlib.Path:
    if config.run:
        return pathlib.Path(config.run)
    home = pathlib.Path.cwd() if INSTALLED else root
    path = home / "runs" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-seed{config.seed}"
    numbered = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(free for free in itertools.chain([path], numbered) if not free.exists())


def _run_directory(
    name: str, config: ml_collections.ConfigDict, root: pathlib.Path, module: ModuleType
) -> RunDirectory:
    path, extensions = _run_path(name, config, root), getattr(module, "EXTENSIONS", {})
    if not os.environ.get(POD):
        return RunDirectory.create(path, config.to_dict(), name, extensions, getattr(module, "RENEWED", ()))
    from tars_jax.pipelines.pod import shared_run_directory  # imports jax, for which most commands need not wait

    return shared_run_directory(name, config, path, getattr(module, "PROCESSES", "one"), extensions)


def _let_signals_interrupt() -> None:
    """SIGTERM ends a run as Ctrl-C does; both also in a background job, which a shell starts with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    sys.unraisablehook = _interrupt_again


def _let_go_quietly() -> None:
    """Silences what an interrupt left half made, such as a coroutine or an event loop, behind the last line."""
    sys.unraisablehook = lambda _: None
    warnings.simplefilter("ignore", RuntimeWarning)


def _interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in a finalizer, of which libraries have many. An interrupt that came to one comes
    again, a moment later."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        threading.Timer(AGAIN, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(unraisable)


def leave(code: int) -> NoReturn:
    """Ends the process. One that was interrupted leaves out what C++ tidies up at an exit: XLA may still compile in
    threads of its own, and crashes when that is taken from under it."""
    if code == INTERRUPTED:
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError):  # whoever read them may be gone
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _sentence(error: BaseException, resume: str) -> str | None:
    """Sentence for the user about an error that is not the program's fault; None for one that is."""
    for one in _flat(error):
        if isinstance(one, GaveUp):
            return f"{one} Resume with: {resume}"
        if isinstance(one, InputError):
            return str(one)
    for one in _flat(error):
        if _is_full_disk(one):
            first_line = str(one).partition("\n")[0]
            advice = f"resume with: {resume}" if resume else "try again."
            return f"The disk is full ({first_line}); free some space, then {advice}"
        if isinstance(one, OSError) and one.errno in PLACE and one.filename is not None:
            return f"{from_here(pathlib.Path(os.fsdecode(one.filename)))} cannot be used: {one.strerror}."
    return None


def _is_refusal(error: BaseException) -> bool:
    """Something given cannot be used; not so where what was waited for did not come, or where the disk is full."""
    errors = list(_flat(error))
    return any(isinstance(one, InputError) for one in errors) and not any(isinstance(one, GaveUp) for one in errors)


def _is_full_disk(error: BaseException) -> bool:
    """Libraries written in C++ wrap the OSError and leave only its words."""
    return any(
        (isinstance(one, OSError) and one.errno in FULL_DISK) or NO_ROOM in str(one) for one in _with_causes(error)
    )


def _is_interrupt(error: BaseException) -> bool:
    """A library whose work was interrupted may raise an error of its own, as Orbax does where it saves."""
    causes = (cause for one in _flat(error) for cause in _with_causes(one))
    return any(isinstance(cause, KeyboardInterrupt) for cause in causes)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """It, and what led to it, whether or not a traceback shows that."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _flat(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, as asyncio's TaskGroup raises them; otherwise the error alone."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _flat(inner)
    else:
        yield error


def command() -> NoReturn:
    """Entry point of `tars-jax` and `python -m experiments`. Modules that a user names (`mine:judge`) may lie in the
    current folder, as with `python mine.py`; installed ones go before them."""
    sys.path.append(str(pathlib.Path.cwd()))
    if os.environ.get(POD):
        from tars_jax.pipelines.pod import end_with

        end_with(main)
    leave(main(sys.argv[1:]))
