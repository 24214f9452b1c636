"""The applications of a desktop by what they are for: the first of each list that is installed is taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tars_jax import InputError

INSTALL = "run launch/desktop.sh as root, which installs it"
# A container is Chromium's sandbox: in it nobody may make another. What it asks of the user once, it does not.
CHROMIUM = (
    "--no-sandbox", "--test-type", "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--start-maximized",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-search-engine-choice-screen", "--password-store=basic",
)  # fmt: skip
# name -> commands that serve, the best first
APPLICATIONS: Mapping[str, Sequence[Sequence[str]]] = {
    "terminal": (("xterm", "-fa", "DejaVu Sans Mono", "-fs", "11", "-geometry", "90x26"), ("lxterminal",)),
    "editor": (("mousepad",), ("gedit",), ("featherpad",), ("l3afpad",)),
    "files": (("pcmanfm",), ("thunar",), ("nautilus", "-w")),
    "browser": (("chromium", *CHROMIUM), ("google-chrome", *CHROMIUM), ("chromium-browser", *CHROMIUM)),
    "calculator": (("galculator",), ("gnome-calculator",), ("xcalc",)),
    "office": (("libreoffice", "--norestore"), ("soffice", "--norestore")),
    "writer": (("libreoffice", "--norestore", "--writer"),),
    "calc": (("libreoffice", "--norestore", "--calc"),),
    "image_editor": (("gimp", "--no-splash"),),
    "player": (("vlc",), ("mpv",)),
    "document_viewer": (("evince",), ("atril",)),
}
TITLES = {
    "terminal": "Terminal", "editor": "Text Editor", "files": "Files", "browser": "Browser", "calculator": "Calculator",
    "office": "LibreOffice", "writer": "LibreOffice Writer", "calc": "LibreOffice Calc", "image_editor": "GIMP",
    "player": "Media Player", "document_viewer": "Document Viewer",
}  # fmt: skip
# what opens a file -> the ends of its name; any other file is the editor's
OPENS = {
    "office": (".odt", ".ods", ".odp", ".odg", ".docx", ".doc", ".xlsx", ".xls", ".csv", ".pptx", ".ppt"),
    "image_editor": (".png", ".jpg", ".jpeg", ".gif", ".xcf", ".webp", ".bmp"),
    "player": (".mp4", ".mkv", ".avi", ".mov", ".webm", ".mp3", ".wav", ".ogg", ".flac", ".m4a"),
    "document_viewer": (".pdf", ".ps", ".djvu"),
    "files": ("/",),
}


def opener(path: str, installed: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The command that shows a file, or a folder whose path ends in a slash. Raises InputError where none is there."""
    names = [name for name, ends in OPENS.items() if path.lower().endswith(ends)]
    name = names[0] if names else "editor"
    if name not in installed:
        raise InputError(f"{name} must be installed to open {path[:200]!r}; launch/desktop.sh says how")
    return [*installed[name], path]


def commands(application: str) -> Sequence[Sequence[str]]:
    if application not in APPLICATIONS:
        raise InputError(f"application must be one of {', '.join(APPLICATIONS)}; got {application[:80]!r}")
    return APPLICATIONS[application]


def menu(found: Mapping[str, Sequence[str]]) -> str:
    """Openbox's menu of the screen, in which each application that was found can be started."""
    items = "".join(
        f'<item label="{TITLES[name]}"><action name="Execute"><command>{_command(command)}</command></action></item>'
        for name, command in found.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><openbox_menu xmlns="http://openbox.org/3.4/menu">'
        f'<menu id="root-menu" label="Applications">{items}</menu></openbox_menu>'
    )


def _command(command: Sequence[str]) -> str:
    return " ".join(f"'{word}'" if " " in word else word for word in command)
