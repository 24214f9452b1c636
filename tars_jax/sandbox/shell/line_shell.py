"""A shell where there are no terminals, as on a computer with Windows: it reads commands, a line each, from a pipe.

The shell runs a loop that takes a line, a command in base64, runs it in its own scope, and then prints what prompt.py
says of prompts. So variables, functions and the folder stay. What a command reads from its stdin are lines of this
pipe.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.shell.shell import LIMIT, Shell

_POWERSHELL = """
[Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false
$OutputEncoding = [Console]::OutputEncoding
$__tars_number = 0; $__tars_status = 0
while ($true) {
  [Console]::Out.Write([char]30 + 'SECRET:' + $__tars_number + ':' + $PID + ':1:' + $__tars_status + ':' +
    (Get-Location).Path + [char]30 + [char]30)
  [Console]::Out.Flush()
  $__tars_line = [Console]::In.ReadLine()
  if ($null -eq $__tars_line) { exit 0 }
  $__tars_number += 1; $global:LASTEXITCODE = 0; $global:__tars_ok = $true
  try {
    $__tars_text = [Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($__tars_line))
    . ([ScriptBlock]::Create($__tars_text + "`n`$global:__tars_ok = `$?")) 2>&1 | Out-Default
  } catch { $_ | Out-Default; $global:__tars_ok = $false }
  $__tars_status = [long]$global:LASTEXITCODE
  if ($__tars_status -eq 0 -and -not $global:__tars_ok) { $__tars_status = 1 }
  if ($__tars_status -lt 0) { $__tars_status += 4294967296 }
}
"""
_BASH = r"""
trap : INT; __tars_number=0 __tars_status=0
while printf '\036SECRET:%s:%s:1:%s:%s\036\036' "$__tars_number" "$$" "$__tars_status" "$PWD"
  IFS= read -r __tars_line; do
  __tars_number=$((__tars_number + 1))
  eval -- "$(printf %s "$__tars_line" | base64 -d)"
  __tars_status=$?
done
"""
KINDS = ("powershell", "pwsh", "bash")


class LineShell(Shell):
    """Like `Shell`, with no terminal: programs find pipes.

    `interrupt` ends the program that runs; the next one of a list of commands then begins, and an interrupt that comes
    between two of them is lost.
    """

    def __init__(
        self, machine: GuestMachine, kind: str = "powershell", *, limit: int = LIMIT, folder: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """`kind`: the Windows PowerShell that every Windows has, pwsh for a newer one, or bash."""
        if kind not in KINDS:
            raise InputError(f"kind of a shell must be one of {', '.join(KINDS)}; got {kind!r}")
        super().__init__(machine, limit=limit, folder=folder, env=env)
        self.kind = kind

    def _argv(self, secret: str) -> list[str]:
        if self.kind == "bash":
            return ["bash", "-c", _BASH.replace("SECRET", secret), "bash"]
        script = base64.b64encode(_POWERSHELL.replace("SECRET", secret).encode("utf-16-le")).decode()
        options = ("-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass")
        return [self.kind, *options, "-EncodedCommand", script]

    def _variables(self, secret: str) -> dict[str, str]:
        return {}

    async def _words(self, lines: bytes) -> bytes:
        return base64.b64encode(lines) + b"\n"

    async def _greet(self) -> None:
        """It knows how it is spoken to."""
        self._transcript.forget()
