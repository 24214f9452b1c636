"""One desktop by OSWorld's guest protocol, which its own PythonController and SetupController drive.

Commands:
  ./launch/pyautogui.sh                # PyAutoGUI and a `python` for computers, once
  ./launch/local.sh osworld

Ready in seconds, when it prints how the controllers are told the address and the token. Ctrl-C or SIGTERM ends the
server and the computer. It takes a desktop (`sudo ./launch/desktop.sh --browser`).

OSWorld's setup steps that fetch files from the internet, or drive Chrome by its debugging port, are not there: a
computer reaches no network.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "host": "127.0.0.1",  # another address lets others in who know the token, without TLS
            "port": 5000,  # where OSWorld's controllers look; 0: any that is free
            "width": 1920,  # of the screen, pixels
            "height": 1080,
            "browser": True,  # a Chromium among the applications
            "isolation": "auto",  # or a kind of sandbox/computer/isolation.py
            "seed": 0,
            "run": "",
        }
    )
