"""An IPython kernel behind the same lines as kernel.py, where the computer's Python has ipykernel and jupyter_client.

python3 jupyter_kernel.py        (stdin and stdout are one socket)
"""

import base64
import json
import os
import queue
import signal
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from kernel import write  # type: ignore[import-not-found]  # beside this file inside


def _own_folder() -> str:
    """Folder of the session, which takes it along at its end, where its path is short enough for sockets."""
    run = os.environ.get("TARS_JAX_RUN", "")
    return tempfile.mkdtemp(prefix=".kernel-", dir=run if run and len(run) < 70 else None)


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path = [path for path in sys.path if os.path.abspath(path) != here]
    from jupyter_client.manager import KernelManager

    channel = os.fdopen(os.dup(0), "rb")
    out = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)

    def say(message: dict[str, Any]) -> None:
        write(out, message)

    # By unix sockets: at ports anybody in the computer could speak to it, and they would fill the lists of its ports.
    if os.name == "nt":  # where ZeroMQ has none
        manager = KernelManager()
    else:
        manager = KernelManager(transport="ipc", ip=os.path.join(_own_folder(), "socket"))
        spec = manager.kernel_spec
        assert spec is not None
        spec.argv = [sys.executable, os.path.join(here, "quiet_ipykernel.py"), "-f", "{connection_file}"]
    # No history on the disk: in a copy of the computer its database is another file, and the kernel complains.
    manager.start_kernel(extra_arguments=["--HistoryManager.enabled=False"])
    signal.signal(signal.SIGINT, lambda *_: manager.interrupt_kernel())
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=120)
    say({"ready": os.getpid()})
    for line in channel:
        try:
            cell = json.loads(line)
        except ValueError:  # what a host that was killed has left of one
            continue
        identity = client.execute(cell["code"], allow_stdin=False)
        while True:
            try:
                message = client.get_iopub_msg(timeout=1)
            except queue.Empty:
                if not manager.is_alive():
                    return
                continue
            if message["parent_header"].get("msg_id") != identity:
                continue
            kind, content = message["msg_type"], message["content"]
            try:
                told = list(records(kind, content))
            except (AttributeError, KeyError, TypeError, ValueError) as error:  # a program may publish anything
                told = [{"stream": "stderr", "text": f"a message of the kind {kind} was left out: {error}\n"}]
            for record in told:
                say(record)
            if kind == "status" and content.get("execution_state") == "idle":
                break
        say({"done": True, "cell": cell.get("cell")})
    manager.shutdown_kernel(now=True)


def records(kind: str, content: Any) -> Iterator[dict[str, Any]]:
    """Lines for the host that a message of the kernel becomes, in order. Raises TypeError and its like for what is
    none."""
    if kind == "stream":
        yield {"stream": {"stdout": "stdout", "stderr": "stderr"}[content["name"]], "text": text(content["text"])}
    elif kind in ("execute_result", "display_data"):
        data = content["data"]
        if "image/png" in data:
            yield {"image": base64.b64encode(base64.b64decode(text(data["image/png"]))).decode()}
        if "text/html" in data:
            yield {"result_html" if kind == "execute_result" else "html": text(data["text/html"])}
        if kind == "execute_result":
            yield {"result": text(data.get("text/plain", ""))}
        elif "image/png" not in data:
            yield {"stream": "stdout", "text": text(data.get("text/plain", "")) + "\n"}
    elif kind == "error":
        yield {"error": "\n".join(content["traceback"])}


def text(value: Any) -> str:
    """Notebooks keep longer ones as a list of lines."""
    return value if isinstance(value, str) else "".join(value)


if __name__ == "__main__":
    main()
