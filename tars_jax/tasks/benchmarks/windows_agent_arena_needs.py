"""What a task of WindowsAgentArena asks of its guest, and why some cannot be played on one that is not Windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Steps and getters that files alone serve: they are the same on every system.
PLAIN_STEPS = (
    "activate_window", "close_all", "close_window", "create_file", "create_folder", "download", "sleep",
    "tidy_desktop", "upload_file",
)  # fmt: skip
PLAIN_GETTERS = (
    "all_png_file_names", "cloud_file", "is_all_docx_in_archive", "is_file_desktop", "is_file_saved_desktop",
    "is_files_moved_downloads", "rule", "vm_file", "vm_file_exists_in_desktop", "vm_file_exists_in_vm_folder",
    "vm_folder_exists_in_documents",
)  # fmt: skip
# Getters by the route of WindowsAgentArena's own server that they ask; launch/windows_guest.py has none of these.
OWN_ROUTES: Mapping[str, str] = {
    "are_all_images_tagged": "are_all_images_tagged",
    "are_files_sorted_by_modified_time": "are_files_sorted_by_modified_time",
    "check_if_timer_started": "check_if_timer_started",
    "check_if_world_clock_exists": "check_if_world_clock_exists",
    "is_details_view": "is_details_view",
    "is_directory_read_only_for_user": "is_directory_read_only_for_user",
    "vm_active_window_title": "accessibility",
    "vm_library_folders": "library_folders",
    "vm_wallpaper": "wallpaper",
}
PROGRAMS = {"zipped_folder_in_desktop": "py7zr"}  # of Python, which the scorers' environment has not


def needs_of(record: Mapping[str, Any], system: str, *, own_server: bool) -> str:
    """Why a guest cannot have a task, in a sentence; empty: it can.

    Args:
      system: of the guest, as Python calls it: win32, linux.
      own_server: it is WindowsAgentArena's own server.
    """
    evaluator = record["evaluator"]
    steps = [*(record.get("config") or []), *(evaluator.get("postconfig") or [])]
    parts = [evaluator.get(part) for part in ("result", "expected")]
    getters = [each["type"] for part in parts for each in (part if isinstance(part, list) else [part]) if each]
    if missing := next((name for name in getters if name in PROGRAMS), ""):
        return f"It is scored by {missing!r}, which needs {PROGRAMS[missing]}."
    if not own_server and (name := next((name for name in getters if name in OWN_ROUTES), "")):
        return f"It is scored by {name!r}, which asks /{OWN_ROUTES[name]} of WindowsAgentArena's own server."
    if system == "win32":
        return ""
    if kind := next((step["type"] for step in steps if step["type"] not in PLAIN_STEPS), ""):
        return f"It has a step {kind!r}, which runs programs of Windows."
    if kind := next((name for name in getters if name not in PLAIN_GETTERS), ""):
        return f"It is scored by {kind!r}, which reads what Windows keeps."
    return ""
