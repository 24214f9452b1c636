"""Says whether anything outside can be reached; loopback always can."""

import socket

with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname(), 2).close()
try:
    socket.create_connection(("192.0.2.1", 80), 2).close()
except TimeoutError:
    print("slow")
except OSError as error:
    print("closed", error.errno)
