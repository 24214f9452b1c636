"""Public tasks of OSWorld done by mouse and keyboard alone, on a screen of 1920 x 1080 with Debian 12's applications.

Keyed by the ids of tasks; nothing of their texts or scorers is here. Places are those of Chromium 156, GIMP 2.10.34,
LibreOffice 7.4.7 and VLC 3.0.24: with others they may have to be looked up anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tars_jax.agent.actions import Action, Click, Hotkey, LeftDouble, Point, Type, Wait

WIDTH, HEIGHT = 1920, 1080
Turn = Sequence[Action]


def click(x: float, y: float, seconds: float = 1.0) -> Turn:
    return (Click(Point.from_pixels(x, y, WIDTH, HEIGHT)), Wait(seconds))


def double(x: float, y: float, seconds: float = 1.0) -> Turn:
    return (LeftDouble(Point.from_pixels(x, y, WIDTH, HEIGHT)), Wait(seconds))


def press(*keys: str, seconds: float = 1.0) -> Turn:
    return (Hotkey(keys), Wait(seconds))


def written(text: str, seconds: float = 1.0) -> Turn:
    return (Type(text), Wait(seconds))


def shell(command: str, seconds: float = 2.0) -> list[Turn]:
    """In a terminal, which is closed then."""
    return [
        press("ctrl", "alt", "t", seconds=2.0),
        written(f"{command}\n", seconds),
        written("exit\n"),
    ]


def page(address: str, *turns: Turn) -> list[Turn]:
    """An address of Chrome's own, and what is done there."""
    return [press("ctrl", "l"), written(f"{address}\n", 3.0), *turns]


# VLC's window has the keys after a click on its title.
SIMPLE: list[Turn] = [click(960, 319), press("ctrl", "p", seconds=2.0)]
ALL: list[Turn] = [
    *SIMPLE,
    click(651, 865, 2.0),
    click(730, 216),
    written("qt"),
    click(649, 330),
    double(960, 179, 2.0),
]
SAVED, ALL_SAVED = click(1310, 869), click(1870, 1059)
GIMP: list[Turn] = [click(960, 640), press("alt", "e"), click(306, 710, 3.0)]
OPTIONS: list[Turn] = [press("escape", seconds=5.0), press("escape", seconds=4.0), press("alt", "f12", seconds=8.0)]


def instead(field: Turn, text: str) -> list[Turn]:
    """Another text in a field."""
    return [field, press("ctrl", "a"), written(text)]


PLAYS: Mapping[str, list[Turn]] = {
    # chrome
    "2ad9387a-65d8-4e33-ad5b-7580065a27ca": page(
        "chrome://bookmarks", click(1888, 115), click(1812, 213), written("Favorites"), press("enter")
    ),
    "44ee5668-ecd5-4366-a6ce-c1c9b8d4e938": page(
        "chrome://history/?q=youtube", click(960, 1000), press("ctrl", "a"), click(1531, 115, 2.0), click(1166, 620)
    ),
    "2ae9ba84-3a0d-4d4c-8338-3a1478dc5fe3": page(
        "chrome://settings/manageProfile", *instead(click(815, 276), "Thomas"), press("tab")
    ),
    "af630914-714e-4a24-a7bb-f9af687d3b91": page("chrome://settings/fonts", click(1249, 240)),
    "3299584d-8f11-4457-bf4c-ce98f7600250": page("chrome://settings/onStartup", click(641, 231)),
    "030eeff7-b492-4218-b312-701ec99ee0cc": page("chrome://settings/cookies", click(1258, 612, 2.0), click(1160, 678)),
    "9656a811-9b5b-4ddf-99c7-5117bcef0626": page("chrome://settings/security", click(641, 289)),
    # gimp
    "d52d6308-ec58-42b7-a2c9-de80e4837b2b": [press("tab")],
    "7b7617bd-57cc-468e-9c91-40c4ec2bcb3d": [
        *GIMP,
        *instead(double(530, 617), "100"),
        press("tab"),
        click(754, 931, 2.0),
    ],
    "7767eef2-56a3-4cea-8c9f-48c070c7d65b": [*GIMP, click(93, 727, 2.0), click(289, 695, 2.0), click(754, 933, 2.0)],
    # libreoffice_impress
    "2cd43775-7085-45d8-89fa-9e35c0a915cf": [
        *OPTIONS,
        click(487, 575, 2.0),
        click(541, 600, 5.0),
        click(795, 396),
        *instead(double(1085, 396), "3"),
        click(1399, 856, 2.0),
    ],
    # multi_apps
    "2373b66a-092d-44cb-bfd7-82e86e7a3b4d": shell("sar 1 30 > ~/Desktop/System_Resources_Report.txt", 33.0),
    # os
    "bedcedc4-4d72-425e-ad62-21960b11fe0d": shell("gsettings set org.gnome.desktop.session idle-delay 0"),
    "ec4e3f68-9ea4-4c18-a5c9-69f89d1178b3": shell(
        "gsettings set org.gnome.shell favorite-apps \"['thunderbird.desktop', 'google-chrome.desktop']\""
    ),
    "f9be0997-4b7c-45c5-b05c-4612b44a6118": shell("gsettings set org.gnome.desktop.notifications show-banners false"),
    "28cc3b7e-b194-4bc9-8353-d04c0f4d56d2": shell("pactl set-sink-volume @DEFAULT_SINK@ 100%"),
    "e0df059f-28a6-4169-924f-b9623e7184cc": shell("cd ~/Desktop && mv todo_list_Jan_1 todo_list_Jan_2"),
    "3ce045a0-877b-42aa-8d2c-b4a863336ab8": shell("gsettings set org.gnome.desktop.interface text-scaling-factor 1.5"),
    "a4d98375-215b-4a4d-aee9-3d4370fccc41": shell("gsettings set org.gnome.desktop.screensaver lock-enabled true"),
    # vlc
    "8ba5ae7a-5ae5-4eab-9fcc-5dd4fe3abf89": [
        *SIMPLE,
        click(996, 235),
        click(1039, 667),
        written("/home/user/Desktop"),
        SAVED,
    ],
    "9195653c-f4aa-453d-aa95-787f6ccfaae9": [*ALL, *instead(double(1846, 748), "200"), ALL_SAVED],
    "d06f0d4d-2cd5-4ede-8de9-598629438c6e": [
        *ALL,
        *instead(click(1836, 580), "9;9;9;20;20;20;30;30;30;40;40;40"),
        ALL_SAVED,
    ],
    "a5bbbcd5-b398-4c91-83d4-55e1e31bbb81": [*SIMPLE, click(738, 471), SAVED],
    "f3977615-2b45-4ac5-8bba-80c17dbe2a37": [*SIMPLE, click(600, 682), SAVED],
    "215dfd39-f493-4bc3-a027-8a97d72c61bf": [*ALL, click(835, 665), ALL_SAVED],
}
