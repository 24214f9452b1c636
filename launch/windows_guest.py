"""The guest of a computer far away, as a single file for Windows (and any system with Python 3.9 or later):

    set TARS_GUEST_TOKEN=a long random word
    py windows_guest.py --port 7321 [--bind ADDRESS] [--home FOLDER [--episodes]]

It speaks the protocol of tars_jax/sandbox/computer/guest (frames.py) over TCP: programs, files, streams to ports and
programs, terminals (by pipes); and on Windows the screen and its mouse and keyboard. The first call of a connection
must be hello with the token. It isolates nothing: whoever has the token can do what its user can. With --episodes it is
leased to one learner at a time, and the folder is emptied between episodes. Python's own library alone. See
windows_guest.md.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import errno
import hmac
import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

VERSION, PIECE, MOST = 2, 4 << 20, 8 << 20  # bytes of a piece of a file, of a frame's JSON and of its bytes
WINDOWS = sys.platform == "win32"


class CallError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def receive(peer):
    head = exactly(peer, 8)
    text, data = struct.unpack("!II", head)
    if text > MOST or data > MOST:
        raise ConnectionError("a frame is too large")
    message = json.loads(exactly(peer, text))
    if not isinstance(message, dict):
        raise ValueError("a call must be a JSON object")
    return message, exactly(peer, data)


def exactly(peer, count):
    parts = bytearray()
    while len(parts) < count:
        part = peer.recv(min(count - len(parts), 1 << 18))
        if not part:
            raise ConnectionError("it closed the connection")
        parts += part
    return bytes(parts)


class Programs:
    def __init__(self, home):
        self.home, self.known, self.runs = home, {}, {}

    def popen(self, given, **pipes):
        argv, env = given.get("argv"), given.get("env") or {}
        if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
            raise CallError("input", f"argv must be an array of texts; got {argv!r:.80}")
        own = {"creationflags": 0x200} if WINDOWS else {"start_new_session": True}  # CREATE_NEW_PROCESS_GROUP
        inherited = {name: value for name, value in os.environ.items() if name != "TARS_GUEST_TOKEN"}
        try:
            program = subprocess.Popen(
                argv, env={**inherited, **env}, cwd=given.get("cwd") or self.home, **own, **pipes
            )
        except (OSError, ValueError) as error:
            what = f"argv must name a program that can be started; got {argv[0]!r}: {error}"
            raise CallError("input", what) from error
        self.known[program.pid] = program
        return program

    def program(self, given):
        try:
            return self.known[given.get("process")]
        except (KeyError, TypeError):
            raise CallError(
                "ESRCH", "process must be one that was started here; got {!r}".format(given.get("process"))
            ) from None

    def end(self, program, number=9):
        if program.poll() is not None:
            if not WINDOWS:  # what is left of its group, unless the number is another process's by now
                try:
                    os.kill(program.pid, 0)
                except ProcessLookupError:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(program.pid, number)
                except PermissionError:
                    pass
            return
        if WINDOWS:  # with all that it started
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(program.pid)], capture_output=True)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, number)

    def call_start(self, given, data):
        with open(given.get("output") or os.devnull, "ab") as sink:
            program = self.popen(given, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        return {"process": program.pid}, b""

    def call_wait(self, given, data):
        try:
            return {"status": self.program(given).wait(given.get("timeout_s", 3600.0))}, b""
        except subprocess.TimeoutExpired:
            return {"status": None}, b""

    def call_kill(self, given, data):
        if given.get("process") in self.known:
            program, number = self.program(given), given.get("signal", 9)
            if WINDOWS and number == signal.SIGINT and program.poll() is None:
                program.send_signal(signal.CTRL_BREAK_EVENT)  # which a kernel takes for an interrupt
            else:
                self.end(program, number)
        return {}, b""

    def call_kill_all(self, given, data):
        for program in list(self.known.values()):
            self.end(program)
        return {}, b""

    def call_run(self, given, data):
        """What it writes goes to files first, so that no output fills the memory."""
        limit, timed_out = given.get("limit", 1 << 20), False
        with (
            tempfile.TemporaryFile() as said,
            tempfile.TemporaryFile() as complained,
            tempfile.TemporaryFile() as asked,
        ):
            asked.write(data)
            asked.seek(0)
            errors = said if given.get("merge") else complained
            program = self.runs[given.get("name")] = self.popen(given, stdin=asked, stdout=said, stderr=errors)
            try:
                status = program.wait(given.get("timeout_s", 3600.0))
            except subprocess.TimeoutExpired:
                timed_out = True
                self.end(program)
                status = program.wait()
            finally:
                self.runs.pop(given.get("name"), None)
            answer, pieces = {"status": status, "timed_out": timed_out}, []
            for name, file in (("stdout", said), ("stderr", complained)):
                size = file.seek(0, 2)
                head, tail = min(size, limit - limit // 2), min(max(size - limit + limit // 2, 0), limit // 2)
                file.seek(0)
                pieces.append(file.read(head))
                file.seek(size - tail)
                pieces.append(file.read(tail))
                answer[name] = [len(pieces[-2]), size - head - tail, len(pieces[-1])]
        return answer, b"".join(pieces)

    def call_end_run(self, given, data):
        if (program := self.runs.get(given.get("name"))) is not None:
            self.end(program)
        return {}, b""


KEPT, MOST_INPUT, MOST_TERMINALS = 256 << 10, 1 << 20, 64  # bytes of output, up to twice that; of input not read yet


class Terminal:
    """A program whose input and output are pipes, as Windows has no terminals that a file of Python could make.

    So programs in it do not take themselves for interactive ones: no echo, no prompt, no colors.
    """

    def __init__(self, programs, given):
        self.programs = programs
        pipe = subprocess.PIPE
        self.program = programs.popen(given, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, bufsize=0)
        self.kept, self.start, self.status = bytearray(), 0, None
        self.changed, self.unsent, self.typed = threading.Condition(), bytearray(), 0
        for work in (self.read, self.write, self.wait):
            threading.Thread(target=work, daemon=True).start()

    def read(self):
        with contextlib.suppress(OSError, ValueError):
            while part := self.program.stdout.read(1 << 16):
                with self.changed:
                    self.kept += part
                    if len(self.kept) > 2 * KEPT:
                        self.start += len(self.kept) - KEPT
                        del self.kept[:-KEPT]
                    self.changed.notify_all()
        self.program.stdout.close()

    def write(self):
        with contextlib.suppress(OSError, ValueError):  # it has ended, or closed its input
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.unsent or self.status is not None)
                    if self.status is not None:
                        return self.program.stdin.close()
                    part = bytes(self.unsent[:4096])
                self.program.stdin.write(part)
                with self.changed:
                    del self.unsent[: len(part)]

    def wait(self):
        status = self.program.wait()
        time.sleep(0.1)  # for the last output, which a child of it may hold the pipe of
        with self.changed:
            self.status = status
            self.changed.notify_all()

    def type(self, data):
        with self.changed:
            if self.status is not None:
                raise CallError("EIO", "the program of the terminal has ended")
            if len(self.unsent) + len(data) > MOST_INPUT:
                raise CallError("EAGAIN", "the program does not read its input")
            self.unsent += data
            self.typed += len(data)
            self.changed.notify_all()

    def output(self, given):
        offset, limit = int(given.get("offset") or 0), int(given.get("limit") or 1 << 20)
        with self.changed:
            some = lambda: self.start + len(self.kept) > offset or self.status is not None  # noqa: E731
            self.changed.wait_for(some, given.get("timeout_s") or 0.0)
            offset = min(max(offset, self.start), self.start + len(self.kept))
            at = offset - self.start
            said = bytes(self.kept[at : at + min(limit, PIECE)])
            return {"start": offset, "status": self.status, "foreground": None, "typed": self.typed}, said

    def signal(self, number):
        """On Windows an interrupt ends the program's children: there is none for what has no console."""
        if WINDOWS and number == signal.SIGINT:
            found = f"Get-CimInstance Win32_Process -Filter 'ParentProcessId={self.program.pid}'"
            script = found + " | ForEach-Object { taskkill /F /T /PID $_.ProcessId }"
            subprocess.run(["powershell", "-NoProfile", "-NonInteractive", "-Command", script], capture_output=True)
        else:
            self.programs.end(self.program, number)

    def close(self):
        self.programs.end(self.program)


class Terminals:
    """The calls of guest/terminals.py. Sizes and modes, which pipes have not, are taken and mean nothing."""

    def __init__(self, programs):
        self.programs, self.open, self.count = programs, {}, 0

    def of(self, given):
        if given.get("terminal") not in self.open:
            raise CallError("ESRCH", "terminal must be one that is open; got {!r}".format(given.get("terminal")))
        return self.open[given["terminal"]]

    def call_open_terminal(self, given, data):
        if len(self.open) >= MOST_TERMINALS:
            raise CallError("EMFILE", f"there may be {MOST_TERMINALS} terminals at once")
        terminal = Terminal(self.programs, given)
        self.count += 1
        self.open[self.count] = terminal
        return {"terminal": self.count, "process": terminal.program.pid}, b""

    def call_terminals(self, given, data):
        listed = [
            {"terminal": number, "process": each.program.pid, "status": each.status}
            for number, each in list(self.open.items())
        ]
        return {"terminals": listed}, b""

    def call_type(self, given, data):
        self.of(given).type(data)
        return {}, b""

    def call_output(self, given, data):
        return self.of(given).output(given)

    def call_resize(self, given, data):
        self.of(given)
        return {}, b""

    def call_signal_terminal(self, given, data):
        terminal = self.of(given)
        terminal.signal(given.get("signal", signal.SIGINT))
        return {"group": terminal.program.pid}, b""

    def call_close_terminal(self, given, data):
        self.of(given).close()
        del self.open[given["terminal"]]
        return {}, b""


class Files:
    def __init__(self, home):
        self.home, self.writing = home, threading.Lock()

    def place(self, given, name="path"):
        """Below the root that the call names, with every link resolved."""
        root, path = given.get("root") or "/", given.get(name)
        if not isinstance(path, str) or "\0" in path:
            raise CallError("input", f"{name} must be text without zero bytes; got {path!r:.80}")
        if root == "/":
            return Path(self.home, path)
        base = Path(root).resolve()
        parent = (base / path).parent.resolve() / Path(path).name
        if (parent != base and base not in parent.parents) or (
            base not in parent.resolve().parents and parent.resolve() != base
        ):
            raise CallError("input", f"path must be below {root}; got {path!r}")
        return parent

    @staticmethod
    def facts(path, follows=True):
        found = path.stat() if follows else path.lstat()
        kind = "folder" if stat.S_ISDIR(found.st_mode) else "file" if stat.S_ISREG(found.st_mode) else "other"
        kind = "link" if stat.S_ISLNK(found.st_mode) else kind
        return {
            "kind": kind, "size": found.st_size, "mode": stat.S_IMODE(found.st_mode), "modified": found.st_mtime,
            "user": found.st_uid, "version": f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}",
        }  # fmt: skip

    def call_stat(self, given, data):
        return self.facts(self.place(given)), b""

    def call_list(self, given, data):
        top, limit, entries = self.place(given), given.get("limit", 20000), []

        def walk(folder, prefix, depth):
            for each in sorted(folder.iterdir(), key=lambda path: path.name):
                if len(entries) >= limit:
                    return False
                with contextlib.suppress(FileNotFoundError):
                    entries.append({"path": prefix + each.name, **self.facts(each, follows=False)})
                deeper = depth > 1 and each.is_dir() and not each.is_symlink()
                if deeper and not walk(each, prefix + each.name + "/", depth - 1):
                    return False
            return True

        return {"whole": walk(top, "", given.get("depth", 1)), "entries": entries}, b""

    def call_read(self, given, data):
        path = self.place(given)
        with path.open("rb") as file:
            file.seek(given.get("offset", 0))
            return self.facts(path), file.read(min(given.get("limit", PIECE), PIECE))

    def call_write(self, given, data):
        path, offset = self.place(given), given.get("offset", -1)
        with self.writing:
            if given.get("new") and path.exists():
                raise CallError("EEXIST", f"{path}: there is one already")
            if given.get("version") and (not path.exists() or self.facts(path)["version"] != given["version"]):
                raise CallError("EBUSY", f"{path}: it was changed meanwhile")
            if offset is not None and offset >= 0:
                with path.open("r+b" if offset else "wb") as file:
                    file.seek(offset)
                    file.write(data)
            else:
                beside = path.with_name(f"{path.name}.{threading.get_ident()}.partial")
                beside.write_bytes(data)
                os.replace(beside, path)
            return self.facts(path), b""

    def call_make_folder(self, given, data):
        self.place(given).mkdir(parents=True, exist_ok=True)
        return {}, b""

    def call_remove(self, given, data):
        path = self.place(given)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path) if given.get("all") else path.rmdir()
        else:
            path.unlink()
        return {}, b""

    def call_move(self, given, data):
        os.replace(self.place(given), self.place(given, "to"))
        return {}, b""


BUTTONS = {"left": (2, 4), "right": (8, 16), "middle": (32, 64)}
KEYS = {
    "Alt": 18, "Control": 17, "Meta": 91, "Shift": 16, "Enter": 13, "Tab": 9, "Escape": 27, "Backspace": 8,
    "Delete": 46, "Insert": 45, "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34, "ArrowLeft": 37,
    "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "CapsLock": 20, **{f"F{n}": 111 + n for n in range(1, 13)},
}  # fmt: skip


class Screen:
    """Of Windows: pixels by GDI, mouse and keyboard by the calls of user32."""

    def __init__(self):
        if not WINDOWS:
            raise CallError(
                "input", "screen and input must be asked of a guest on Windows; this one is on " + sys.platform
            )
        self.user, self.gdi = ctypes.windll.user32, ctypes.windll.gdi32
        self.user.SetProcessDPIAware()
        for name in ("GetDC", "CreateCompatibleDC", "CreateCompatibleBitmap", "SelectObject"):
            getattr(self.user if name == "GetDC" else self.gdi, name).restype = ctypes.c_void_p

    def shot(self):
        """(width, height, its pixels as blue, green, red and one more byte, from the top)."""
        width, height = self.user.GetSystemMetrics(0), self.user.GetSystemMetrics(1)
        handle = ctypes.c_void_p
        source = self.user.GetDC(None)
        memory = self.gdi.CreateCompatibleDC(handle(source))
        bitmap = self.gdi.CreateCompatibleBitmap(handle(source), width, height)
        before = self.gdi.SelectObject(handle(memory), handle(bitmap))
        self.gdi.BitBlt(handle(memory), 0, 0, width, height, handle(source), 0, 0, 0x40CC0020)  # with layered windows
        self.gdi.SelectObject(handle(memory), handle(before))
        head = struct.pack("<IiiHHIIiiII", 40, width, -height, 1, 32, 0, 0, 0, 0, 0, 0)
        pixels = ctypes.create_string_buffer(width * height * 4)
        self.gdi.GetDIBits(handle(memory), handle(bitmap), 0, height, pixels, head, 0)
        self.gdi.DeleteObject(handle(bitmap))
        self.gdi.DeleteDC(handle(memory))
        self.user.ReleaseDC(None, handle(source))
        return width, height, pixels.raw

    def do(self, event):
        kind = event.get("type")
        if kind in ("move", "down", "up", "wheel"):
            self.user.SetCursorPos(int(event["x"]), int(event["y"]))
        if kind in ("down", "up"):
            self.user.mouse_event(BUTTONS[event.get("button", "left")][kind == "up"], 0, 0, 0, 0)
        elif kind == "wheel":
            self.user.mouse_event(0x0800, 0, 0, int(-1.2 * event.get("dy", 0)), 0)
            self.user.mouse_event(0x1000, 0, 0, int(1.2 * event.get("dx", 0)), 0)
        elif kind in ("key_down", "key_up"):
            key = event["key"]
            code = KEYS[key] if key in KEYS else self.user.VkKeyScanW(ord(key)) & 0xFF
            self.user.keybd_event(code, 0, 2 * (kind == "key_up"), 0)
        elif kind == "text":
            for character in event["text"]:
                self.type_unit(character)

    def type_unit(self, character):
        units = character.encode("utf-16-le")
        for unit in struct.unpack(f"<{len(units) // 2}H", units):
            if unit == 10:
                self.user.keybd_event(13, 0, 0, 0)
                self.user.keybd_event(13, 0, 2, 0)
                continue
            for flags in (4, 4 | 2):  # KEYEVENTF_UNICODE, then its release
                # INPUT: its kind, the keyboard's fields, and room for the mouse's, which are longer.
                form = "<I4xHHII4xQ8x" if struct.calcsize("P") == 8 else "<IHHIII8x"
                self.user.SendInput(1, struct.pack(form, 1, 0, unit, flags, 0, 0), struct.calcsize(form))


class Runs:
    """What programs and windows there are, as this system tells of them: those that were not there before the guest."""

    def __init__(self):
        self.before = {each["id"] for each in self.of_windows()} if WINDOWS else set()

    def reset(self):
        """Ends them."""
        for process in self.processes():
            with contextlib.suppress(OSError):
                if WINDOWS:
                    subprocess.run(["taskkill", "/F", "/T", "/PID", str(process["id"])], capture_output=True)
                else:
                    os.kill(process["id"], signal.SIGKILL)

    def processes(self):
        found = self.of_windows() if WINDOWS else self.of_linux()
        return [each for each in found if each["id"] not in self.before and each["id"] != os.getpid()]

    @staticmethod
    def asked(script):
        """What PowerShell says, as JSON."""
        command = ["powershell", "-NoProfile", "-NonInteractive", "-Command", script + " | ConvertTo-Json -Compress"]
        said = subprocess.run(command, capture_output=True, timeout=60).stdout.decode("utf-8", "replace").strip()
        value = json.loads(said or "[]")
        return value if isinstance(value, list) else [value]

    def of_windows(self):
        """Of this session of the system, as other sessions are not the agent's."""
        own = "(Get-Process -Id $PID).SessionId"
        script = "Get-CimInstance Win32_Process -Filter ('SessionId=' + " + own + ") | Where-Object ProcessId -ne $PID"
        listed = self.asked(script + " | Select-Object ProcessId, Name, CommandLine")
        return [
            {"id": each["ProcessId"], "program": each["Name"], "argv": [each["CommandLine"] or each["Name"]]}
            for each in listed
        ]

    def of_linux(self):
        parents, found, waiting = {}, [], [os.getpid()]
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, IndexError):
                state, parent = Path("/proc", name, "stat").read_text(errors="replace").rpartition(") ")[2].split()[:2]
                if state not in "ZX":
                    parents.setdefault(int(parent), []).append(int(name))
        while waiting:
            for child in parents.get(waiting.pop(), []):
                waiting.append(child)
                with contextlib.suppress(OSError):
                    words = Path("/proc", str(child), "cmdline").read_bytes().split(b"\0")[:-1]
                    program = os.path.basename(os.readlink(f"/proc/{child}/exe"))
                    found.append({"id": child, "program": program, "argv": [os.fsdecode(word) for word in words]})
        return found

    def ports(self, processes):
        """That these listen at."""
        ids = {process["id"] for process in processes}
        if WINDOWS:
            listed = self.asked("Get-NetTCPConnection -State Listen | Select-Object LocalPort, OwningProcess")
            return sorted({each["LocalPort"] for each in listed if each["OwningProcess"] in ids})
        held, ports = set(), set()
        for process in ids:
            with contextlib.suppress(OSError):
                for name in os.listdir(f"/proc/{process}/fd"):
                    with contextlib.suppress(OSError):
                        held.add(os.readlink(f"/proc/{process}/fd/{name}"))
        for table in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A" and f"socket:[{fields[9]}]" in held:
                        ports.add(int(fields[1].rpartition(":")[2], 16))
        return sorted(ports)

    def windows(self):
        if not WINDOWS:
            return []
        user, found = ctypes.windll.user32, []
        front = user.GetForegroundWindow()

        @ctypes.WINFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        def each(handle, _):
            handle = ctypes.c_void_p(handle)
            title = ctypes.create_unicode_buffer(user.GetWindowTextLengthW(handle) + 1)
            user.GetWindowTextW(handle, title, len(title))
            if user.IsWindowVisible(handle) and title.value:
                box, process = (ctypes.c_long * 4)(), ctypes.c_ulong()
                user.GetWindowRect(handle, box)
                user.GetWindowThreadProcessId(handle, ctypes.byref(process))
                left, top, right, bottom = box
                found.append({
                    "title": title.value, "process": process.value, "active": handle.value == front, "x": left,
                    "y": top, "width": right - left, "height": bottom - top,
                })  # fmt: skip
            return 1

        user.EnumWindows(each, None)
        return found

    def call_look(self, given, data):
        processes = self.processes()
        return {"processes": processes, "ports": self.ports(processes), "windows": self.windows()}, b""


LONGEST_LEASE_S = 3600.0


class Lease:
    """Of the whole guest, to whoever says its word: connections with another one are refused, and ended."""

    def __init__(self):
        self.word, self.until, self.changing = "", 0.0, threading.Lock()

    @property
    def left(self):
        return self.until - time.monotonic() if self.word else 0.0

    def require(self, word):
        """Whether a connection may act. One that has a word may do so as long as that lease lives, and no longer."""
        if word and (word != self.word or self.left <= 0):
            raise CallError("lease", "the lease is over, and the guest may be another learner's")
        if not word and self.left > 0:
            raise CallError("lease", f"the guest is leased to a learner for {self.left:.0f} s more")

    def take(self, word, seconds):
        """Whether it is a new one. The same word renews."""
        with self.changing:
            if self.left > 0 and self.word != word:
                raise CallError("lease", f"the guest is leased to a learner for {self.left:.0f} s more")
            new = self.word != word or self.left <= 0
            self.word, self.until = word, time.monotonic() + seconds
            return new

    def end(self, word):
        with self.changing:
            if self.word == word:
                self.word = ""


class Guest:
    def __init__(self, listener, token, home, screen=Screen, episodes=False):
        self.listener, self.token, self.home, self.make_screen = listener, token, home, screen
        self.programs, self.files, self.screen, self.runs = Programs(home), Files(home), None, Runs()
        self.leased, self.episodes, self.peers = Lease(), episodes, {}
        self.terminals = Terminals(self.programs)
        parts = (self, self.programs, self.files, self.terminals, self.runs)
        self.calls = {
            name[5:]: getattr(part, name) for part in parts for name in dir(part) if name.startswith("call_")
        }  # fmt: skip

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self.talk, args=(peer,), daemon=True).start()

    def talk(self, peer):
        """One connection. Calls run in threads, as a `wait` takes long; their answers come in any order."""
        sending = threading.Lock()

        def answer(number, ok=None, data=b"", error=None):
            text = {"id": number, "ok": ok} if error is None else {"id": number, "error": error}
            body = json.dumps(text).encode("ascii")
            with sending, contextlib.suppress(OSError):
                peer.sendall(struct.pack("!II", len(body), len(data)) + body + data)

        def work(message, data):
            try:
                answer(message.get("id"), *self.do(message, data, peer))
            except CallError as failed:
                answer(message.get("id"), error={"code": failed.code, "message": str(failed)})
            except OSError as failed:
                code = errno.errorcode.get(failed.errno or 0, "OSError")
                answer(message.get("id"), error={"code": code, "message": str(failed)})
            except Exception as failed:
                said = "{}: {}: {}".format(message.get("call"), type(failed).__name__, failed)
                answer(message.get("id"), error={"code": "input", "message": said})

        is_stream = False
        try:
            peer.settimeout(20)  # for a stranger to say the token
            message, _ = receive(peer)
            said = message.get("token", "") if message.get("call") == "hello" else ""
            if not hmac.compare_digest(str(said).encode("utf-8", "replace"), self.token.encode()):
                wrong = {"code": "input", "message": "the first call must be hello, with the token"}
                return answer(message.get("id"), error=wrong)
            peer.settimeout(None)
            self.peers[peer] = str(message.get("lease") or "")
            work(message, b"")
            while True:
                message, data = receive(peer)
                if message.get("call") in ("connect", "pipe"):
                    try:
                        self.leased.require(self.peers.get(peer, ""))
                    except CallError as failed:
                        return answer(message.get("id"), error={"code": failed.code, "message": str(failed)})
                    is_stream = True
                    stream = self.stream if message["call"] == "connect" else self.pipe
                    return stream(peer, message, answer)
                threading.Thread(target=work, args=(message, data), daemon=True).start()
        except (OSError, ValueError):
            return None
        finally:
            self.peers.pop(peer, None)
            if not is_stream:
                peer.close()

    def do(self, message, data, peer):
        name = message.get("call")
        if name in ("lease", "release"):
            return getattr(self, name)(message, peer), b""
        if name != "hello" or self.peers.get(peer):
            self.leased.require(self.peers.get(peer, ""))
        call = self.calls.get(name)
        if call is None:
            known = ", ".join(sorted(self.calls))
            raise CallError("input", f"call must be one of {known}; got {message.get('call')!r:.80}")
        return call(message, data)

    def stream(self, peer, message, answer):
        try:
            inside = socket.create_connection(("127.0.0.1", int(message.get("port", 0))), 10)
        except (OSError, ValueError, OverflowError, TypeError) as failed:
            answer(message.get("id"), error={"code": "ECONNREFUSED", "message": f"nothing answers there: {failed}"})
            return peer.close()
        inside.settimeout(None)
        answer(message.get("id"), {})

        def pass_on(source, target):
            with contextlib.suppress(OSError):
                while part := source.recv(1 << 16):
                    target.sendall(part)
            with contextlib.suppress(OSError):
                target.shutdown(socket.SHUT_WR)

        back = threading.Thread(target=pass_on, args=(inside, peer), daemon=True)
        back.start()
        pass_on(peer, inside)
        back.join()
        peer.close()
        inside.close()

    def pipe(self, peer, message, answer):
        """A program whose input and output are the connection."""
        pipe = subprocess.PIPE
        try:
            program = self.programs.popen(message, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0)
        except CallError as failed:
            answer(message.get("id"), error={"code": failed.code, "message": str(failed)})
            return peer.close()
        answer(message.get("id"), {"process": program.pid})

        def to_program():
            with contextlib.suppress(OSError, ValueError):
                while part := peer.recv(1 << 16):
                    program.stdin.write(part)
            with contextlib.suppress(OSError):
                program.stdin.close()

        threading.Thread(target=to_program, daemon=True).start()
        with contextlib.suppress(OSError, ValueError):
            while part := program.stdout.read(1 << 16):
                peer.sendall(part)
        with contextlib.suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
        program.wait()
        program.stdout.close()
        peer.close()

    def lease(self, given, peer):
        """{word, seconds}: this connection, and those whose hello has the word, are the only ones that may act."""
        self.require_episodes()
        word, seconds = given.get("word"), given.get("seconds")
        if not isinstance(word, str) or len(word) < 8 or not isinstance(seconds, (int, float)):
            raise CallError("input", "word must be a text of 8 characters or more, and seconds a number")
        new = self.leased.take(word, min(max(float(seconds), 1.0), LONGEST_LEASE_S))
        self.peers[peer] = word
        if new:
            for other, said in list(self.peers.items()):
                if said != word and other is not peer:
                    with contextlib.suppress(OSError):
                        other.shutdown(socket.SHUT_RDWR)
            self.call_reset({}, b"")
        return {"new": new}

    def release(self, given, peer):
        self.leased.end(given.get("word"))
        return {}

    def call_reset(self, given, data):
        """Nothing that was started or put into the home folder is there any more."""
        self.require_episodes()
        self.programs.call_kill_all({}, b"")
        self.terminals.open.clear()
        self.runs.reset()
        for path in list(Path(self.home).iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        return {}, b""

    def require_episodes(self):
        if not self.episodes:
            raise CallError("input", "the guest must be started with --episodes, as its home folder would be emptied")

    def call_hello(self, given, data):
        return {
            "version": VERSION, "home": self.home, "pid": os.getpid(), "python": sys.executable,
            "folder": os.path.dirname(os.path.abspath(__file__)), "environment": {}, "system": sys.platform,
        }, b""  # fmt: skip

    def call_end(self, given, data):
        self.programs.call_kill_all({}, b"")
        self.listener.close()
        threading.Timer(0.2, os._exit, (0,)).start()  # once the answer is out
        return {}, b""

    def the_screen(self):
        if self.screen is None:
            self.screen = self.make_screen()
        return self.screen

    def call_screen(self, given, data):
        """A band of the screen, `top` and `rows`, as a frame holds no large screen in one piece."""
        width, height, pixels = self.the_screen().shot()
        top = int(given.get("top", 0))
        rows = min(int(given.get("rows", height)), MOST // (4 * width))
        return {"width": width, "height": height, "top": top}, pixels[4 * width * top : 4 * width * (top + rows)]

    def call_input(self, given, data):
        for event in given.get("events") or []:
            self.the_screen().do(event)
        return {}, b""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=7321)
    parser.add_argument("--bind", default="127.0.0.1")
    parser.add_argument("--home", default="")
    parser.add_argument("--episodes", action="store_true", help="lent to learners; HOME is emptied between episodes")
    given = parser.parse_args()
    if given.episodes and (not given.home or Path(given.home).resolve() in (Path.home(), *Path.home().parents)):
        parser.error("--home must be a folder that may be emptied beside --episodes")
    token = os.environ.get("TARS_GUEST_TOKEN", "")
    if len(token) < 16:
        parser.error("TARS_GUEST_TOKEN must be a word of 16 characters or more")
    listener = socket.create_server((given.bind, given.port))
    if not WINDOWS:
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # what outlives who started it is this process's child then (subreaper)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores, and its children
    print("listening at {}:{}".format(*listener.getsockname()[:2]), flush=True)
    guest = Guest(listener, token, given.home or str(Path.home()), episodes=given.episodes)
    try:
        guest.serve()
    finally:
        guest.programs.call_kill_all({}, b"")


if __name__ == "__main__":
    main()
