"""One computer by the APIs of others: /aio (AIO Sandbox), /swe_rex (SWE-ReX), /openenv (a new computer each episode).

Command:  ./launch/local.sh computer_apis

Ready in seconds, when it prints how each client is told the address and the token. Ctrl-C or SIGTERM ends the server
and the computer. `./launch/interop.sh` installs the clients.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "host": "127.0.0.1",  # another address lets others in who know the token, without TLS
            "port": 8730,  # 0: any that is free
            "isolation": "auto",  # or a kind of sandbox/computer/isolation.py
            "memory_mib": 1024,  # of the computer, and of each of /openenv
            "processes": 256,
            "disk_mib": 1024,
            "seed": 0,
            "run": "",
        }
    )
