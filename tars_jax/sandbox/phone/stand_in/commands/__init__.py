"""The programs of the stand-in's shell, by name."""

from tars_jax.sandbox.phone.stand_in.commands import apps, content, files, inputs, reports, screen
from tars_jax.sandbox.phone.stand_in.commands.command import Command

COMMANDS: dict[str, Command] = {
    **files.COMMANDS,
    **inputs.COMMANDS,
    **apps.COMMANDS,
    **screen.COMMANDS,
    **content.COMMANDS,
    **reports.COMMANDS,
}
