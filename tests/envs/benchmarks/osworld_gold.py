"""What the public tasks of OSWorld ask for, done from a shell by the settings that applications keep: a state to score.

Keyed by the ids of tasks; nothing of their texts or scorers is here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping


def chrome(python: str) -> str:
    """Changes `prefs`, Chrome's preferences, while it is not running."""
    return f"""
        pkill chrome; while pgrep chrome >/dev/null; do sleep 0.1; done
        python3 - <<'END'
        import json, os
        path = os.path.expanduser("~/.config/google-chrome/Default/Preferences")
        prefs = json.load(open(path)) if os.path.exists(path) else {{}}
        {python}
        json.dump(prefs, open(path, "w"))
        END
    """


def vlc(name: str, value: str) -> str:
    return f"""
        pkill vlc; while pgrep vlc >/dev/null; do sleep 0.1; done
        printf '%s\\n' '{name}={value}' >>~/.config/vlc/vlcrc
    """


def gimp(file: str, line: str) -> str:
    """While it is not running, as it writes its settings at its end."""
    return f"""
        pkill gimp; while pgrep gimp >/dev/null; do sleep 0.1; done
        mkdir -p ~/.config/GIMP/2.10; printf '%s\\n' '{line}' >>~/.config/GIMP/2.10/{file}
    """


BOOKMARKS = """
    pkill chrome; while pgrep chrome >/dev/null; do sleep 0.1; done
    cat >~/.config/google-chrome/Default/Bookmarks <<'END'
    {"version": 1, "roots": {
      "bookmark_bar": {"id": "1", "name": "Bookmarks bar", "type": "folder", "children": [
        {"id": "5", "name": "Favorites", "type": "folder", "children": []}]},
      "other": {"id": "2", "name": "Other bookmarks", "type": "folder", "children": []},
      "synced": {"id": "3", "name": "Mobile bookmarks", "type": "folder", "children": []}}}
    END
"""
AUTOSAVE = """
    pkill soffice; while pgrep soffice >/dev/null; do sleep 0.1; done
    cd ~/.config/libreoffice/4/user
    item() {
        printf '<item oor:path="/org.openoffice.Office.Common/Save/Document">'
        printf '<prop oor:name="%s" oor:op="fuse"><value>%s</value></prop></item>' "$1" "$2"
    }
    sed -i "s|</oor:items>|$(item AutoSaveTimeIntervall 3)$(item AutoSave true)</oor:items>|" registrymodifications.xcu
"""
HISTORY = """
    pkill chrome; while pgrep chrome >/dev/null; do sleep 0.1; done
    python3 - <<'END'
    import os, sqlite3
    with sqlite3.connect(os.path.expanduser("~/.config/google-chrome/Default/History")) as history:
        history.execute("DELETE FROM urls WHERE url LIKE '%youtube.com%'")
    END
"""
GOLD: Mapping[str, str] = {
    id: textwrap.dedent(script)
    for id, script in {
        # chrome
        "2ad9387a-65d8-4e33-ad5b-7580065a27ca": BOOKMARKS,
        "44ee5668-ecd5-4366-a6ce-c1c9b8d4e938": HISTORY,
        "2ae9ba84-3a0d-4d4c-8338-3a1478dc5fe3": chrome("prefs.setdefault('profile', {})['name'] = 'Thomas'"),
        "af630914-714e-4a24-a7bb-f9af687d3b91": chrome(
            "prefs.setdefault('webkit', {})['webprefs'] = {'default_font_size': 24, 'default_fixed_font_size': 21}"
        ),
        "3299584d-8f11-4457-bf4c-ce98f7600250": chrome("prefs['session'] = {'restore_on_startup': 5}"),
        "030eeff7-b492-4218-b312-701ec99ee0cc": chrome("prefs['enable_do_not_track'] = True"),
        "9656a811-9b5b-4ddf-99c7-5117bcef0626": chrome("prefs['safebrowsing'] = {'enabled': True, 'enhanced': True}"),
        # gimp
        "d52d6308-ec58-42b7-a2c9-de80e4837b2b": gimp("sessionrc", "(hide-docks yes)"),
        "7b7617bd-57cc-468e-9c91-40c4ec2bcb3d": gimp("gimprc", "(undo-levels 100)"),
        "7767eef2-56a3-4cea-8c9f-48c070c7d65b": gimp("gimprc", '(theme "Light")'),
        # libreoffice_impress
        "2cd43775-7085-45d8-89fa-9e35c0a915cf": AUTOSAVE,
        # multi_apps
        "2373b66a-092d-44cb-bfd7-82e86e7a3b4d": "sar 1 30 >~/Desktop/System_Resources_Report.txt",
        # os
        "bedcedc4-4d72-425e-ad62-21960b11fe0d": "gsettings set org.gnome.desktop.session idle-delay 0",
        "ec4e3f68-9ea4-4c18-a5c9-69f89d1178b3": "gsettings set org.gnome.shell favorite-apps "
        "\"['thunderbird.desktop', 'google-chrome.desktop']\"",
        "f9be0997-4b7c-45c5-b05c-4612b44a6118": "gsettings set org.gnome.desktop.notifications show-banners false",
        "28cc3b7e-b194-4bc9-8353-d04c0f4d56d2": "pactl set-sink-volume @DEFAULT_SINK@ 100%",
        "e0df059f-28a6-4169-924f-b9623e7184cc": "mv ~/Desktop/todo_list_Jan_1 ~/Desktop/todo_list_Jan_2",
        "3ce045a0-877b-42aa-8d2c-b4a863336ab8": "gsettings set org.gnome.desktop.interface text-scaling-factor 1.25",
        "a4d98375-215b-4a4d-aee9-3d4370fccc41": "gsettings set org.gnome.desktop.screensaver lock-enabled true",
        # vlc
        "8ba5ae7a-5ae5-4eab-9fcc-5dd4fe3abf89": vlc("input-record-path", "/home/user/Desktop"),
        "9195653c-f4aa-453d-aa95-787f6ccfaae9": vlc("qt-max-volume", "200"),
        "d06f0d4d-2cd5-4ede-8de9-598629438c6e": vlc("qt-slider-colours", "10;10;10;20;20;20;30;30;30;40;40;40"),
        "a5bbbcd5-b398-4c91-83d4-55e1e31bbb81": vlc("qt-minimal-view", "1"),
        "f3977615-2b45-4ac5-8bba-80c17dbe2a37": vlc("one-instance-when-started-from-file", "0"),
        "215dfd39-f493-4bc3-a027-8a97d72c61bf": vlc("qt-bgcone", "0"),
    }.items()
}
