"""Scores states of WindowsAgentArena's tasks by waa-cube's own getters and metrics: `waa_scorer.py PATH`.

PATH is its wheel, or the folder around its package. It is run by the Python of launch/osworld.sh, imports nothing of
ours but ../osworld/scorer.py, and answers the same requests. What waa-cube's client of a guest takes for an answer, as
it asks no further, is told apart here: a server without the route, or one that fails, is a failure and no score.
"""

import os
import sys
import types
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "osworld"))
import scorer  # type: ignore[import-not-found]

PACKAGE = "waa-cube"
SHORT_S = 90


class WindowsServer:
    """The machine that waa-cube's getters need, by WindowsAgentArena's HTTP server in it."""

    def __init__(self, host: str, port: int) -> None:
        self._base = f"http://{host}:{port}"

    def get_file(self, path: str) -> bytes | None:
        answer = self._post("file", data={"file_path": path})
        return answer.content if answer.status_code == 200 else None

    def get_file_as_text(self, path: str) -> str | None:
        data = self.get_file(path)
        return None if data is None else data.decode("utf-8", "replace")

    def execute_python_command(self, command: str) -> Any:
        return self._ran(["python", "-c", command])

    def execute_shell_command(self, command: str) -> Any:
        return self._ran(command)

    def get_registry_key(self, path: str, value: str) -> Any:
        return self._ran(["powershell", "-Command", f"Get-ItemPropertyValue -Path '{path}' -Name '{value}'"])

    def get_all_installed_apps(self) -> Any:
        words = "Get-AppxPackage | Select-Object Name,PackageFullName | ConvertTo-Json"
        return self._ran(["powershell", "-Command", words])

    def get_file_hidden_status(self, path: str) -> int:
        said = self.execute_python_command(f"import os; print(os.stat({path!r}).st_file_attributes & 2)")
        return int(said["returncode"] == 0 and said["output"].strip() == "2")

    def get_accessibility_tree(self, backend: str = "uia") -> Any:
        return self._get("accessibility", backend=backend)["AT"]

    def get_terminal_output(self) -> Any:
        return self._get("terminal")["output"]

    def get_vm_platform(self) -> str:
        return str(self.execute_python_command("import platform; print(platform.system())")["output"]).strip()

    def get_vm_desktop_path(self) -> str:
        return str(self._told("desktop_path")["desktop_path"])

    def get_vm_documents_path(self) -> str:
        return str(self._told("documents_path")["documents_path"])

    def get_vm_directory_tree(self, path: str) -> Any:
        return self._told("list_directory", path=path)["directory_tree"]

    def get_vm_screen_size(self) -> Any:
        return self._told("screen_size")

    def get_vm_window_size(self, app_class_name: str) -> Any:
        return self._post("window_size", data={"app_class_name": app_class_name}).json()

    def get_vm_wallpaper(self) -> bytes | None:
        answer = self._post("wallpaper")
        return answer.content if answer.status_code == 200 else None

    def get_vm_library_folders(self, library_name: str) -> Any:
        return self._told("library_folders", library_name=library_name)["output"]

    def get_vm_folder_exists_in_path(self, folder_name: str, path: str) -> bool:
        return self._is_so("folder_exists", folder_name=folder_name, path=path)

    def get_vm_file_exists_in_path(self, file_name: str, path: str) -> bool:
        return self._is_so("file_exists", file_name=file_name, path=path)

    def get_vm_are_files_sorted_by_modified_time(self, directory: str) -> bool:
        return self._is_so("are_files_sorted_by_modified_time", directory=directory)

    def get_vm_file_explorer_is_details_view(self, path: str) -> bool:
        return self._is_so("is_details_view", path=path)

    def get_vm_is_directory_read_only_for_user(self, directory: str, user: str) -> bool:
        return self._is_so("is_directory_read_only_for_user", directory=directory, user=user)

    def get_vm_are_all_images_tagged(self, directory: str, tag: str) -> bool:
        return self._is_so("are_all_images_tagged", directory=directory, tag=tag)

    def get_vm_check_if_timer_started(self, hours: int, minutes: int, seconds: int) -> str:
        return str(self._is_so("check_if_timer_started", hours=hours, minutes=minutes, seconds=seconds))

    def get_vm_check_if_world_clock_exists(self, city: str, country: str) -> str:
        return str(self._is_so("check_if_world_clock_exists", city=city, country=country))

    def _ran(self, command: Any) -> Any:
        answer = self._post("execute", json={"command": command, "shell": False})
        if answer.status_code != 200:
            raise scorer.Lacking(f"the guest could not run {str(command)[:80]}: {answer.text[:200]}")
        return answer.json()

    def _is_so(self, route: str, /, **what: Any) -> bool:
        return bool(self._post(route, json=what).status_code == 200)

    def _told(self, route: str, /, **what: Any) -> Any:
        answer = self._post(route, json=what)
        if answer.status_code != 200:
            raise scorer.Lacking(f"the guest did not answer /{route}: {answer.text[:200]}")
        return answer.json()

    def _get(self, path: str, **what: Any) -> Any:
        import requests

        answer = requests.get(f"{self._base}/{path}", params=what, timeout=300)
        if answer.status_code != 200:
            raise scorer.Lacking(f"the guest did not answer /{path}: {answer.text[:200]}")
        return answer.json()

    def _post(self, path: str, **what: Any) -> Any:
        import requests

        answer = requests.post(f"{self._base}/{path}", timeout=SHORT_S, **what)
        if answer.status_code >= 500 or (answer.status_code in (404, 405) and _no_route(answer)):
            raise scorer.Lacking(f"the guest failed at /{path}: {answer.text[:200]}")
        return answer


def _no_route(answer: Any) -> bool:
    """Whether a server has no such route, which is another thing than a file that is not there."""
    return "json" not in answer.headers.get("content-type", "") and "Not Found" in answer.text


def load() -> tuple[Any, Any]:
    """The package's getters and metrics, without what its benchmark imports besides. Raises Lacking."""
    path = sys.argv[1]
    sys.path.insert(0, path)
    package = types.ModuleType("waa_cube")
    package.__path__ = [os.path.join(path, "waa_cube")]
    sys.modules["waa_cube"] = package
    for name in ("easyocr", "py7zr"):
        sys.modules[name] = scorer.Absent(name)
    try:
        from waa_cube.vm_backend import getters, metrics  # type: ignore[import-not-found]
    except ImportError as error:
        raise scorer.Lacking(f"{path} must hold {PACKAGE}; {error}") from None
    return getters, metrics


if __name__ == "__main__":
    scorer.PACKAGE, scorer.controller_of, scorer.load = PACKAGE, WindowsServer, load
    scorer.main()
