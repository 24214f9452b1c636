"""ipykernel as it is, but for two things: the port at which it hears what forked programs print is a path, like its
others; and a cell that closes stdout, or puts something else in its place, does not make it mute.

python3 quiet_ipykernel.py -f CONNECTION_FILE
"""

import json
import os
import sys
from typing import Any


def on_a_path() -> None:
    import zmq
    from ipykernel.iostream import IOPubThread

    threads: Any = IOPubThread
    sockets: Any = zmq.Socket
    if not hasattr(threads, "_setup_pipe_in") or not hasattr(threads, "_setup_pipe_out"):
        return  # another version, whose port is then listed
    with open(sys.argv[sys.argv.index("-f") + 1], encoding="utf-8") as connection:
        place = "ipc://" + os.path.join(os.path.dirname(json.load(connection)["ip"]), "printed")
    set_up = threads._setup_pipe_in

    def hear(thread: Any) -> None:
        random_port = sockets.bind_to_random_port
        sockets.bind_to_random_port = lambda socket, *_, **__: socket.bind(place) and 0
        try:
            set_up(thread)
        finally:
            sockets.bind_to_random_port = random_port

    def tell(thread: Any) -> Any:
        context = zmq.Context()
        pipe = context.socket(zmq.PUSH)
        pipe.linger = 3000  # ms, as theirs
        pipe.connect(place)
        return context, pipe

    threads._setup_pipe_in, threads._setup_pipe_out = hear, tell


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path = [path for path in sys.path if os.path.abspath(path) != here]
    on_a_path()
    from ipykernel.kernelapp import IPKernelApp

    application: Any = IPKernelApp.instance()
    application.initialize()
    streams: dict[str, Any] = {"stdout": sys.stdout, "stderr": sys.stderr}
    for stream in streams.values():
        stream.close = lambda: None

    def restore(*_: object) -> None:
        """Before the kernel flushes them: what takes no text would end its turn without a word, and what a cell has put
        there would keep all that later ones print.
        """
        for name, stream in streams.items():
            setattr(sys, name, stream)

    application.shell.events.register("pre_run_cell", restore)  # a thread or a callback may have set them since
    application.shell.events.register("post_run_cell", restore)
    application.start()


if __name__ == "__main__":
    main()
