"""pyproject.toml says everything but this: a wheel holds the experiments, their configs and the lock for `tars-jax`."""

import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithExperiments(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:  # then the checkout itself is there
            return
        shipped = pathlib.Path(self.build_lib, "tars_jax", "checkout")
        for folder in ("experiments", "configs"):
            shutil.copytree(folder, shipped / folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy("requirements.lock", shipped)


setup(cmdclass={"build_py": BuildWithExperiments})
