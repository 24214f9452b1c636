"""Sessions of browsers and computers over HTTP, with a live page that shows all of them.

Command:  ./launch/local.sh sandbox_service

Ready when it prints the address of the live page, its key included. Sessions survive a kill: start it again with
--config.run=RUN (the command is printed), and it ends what browsers are left, adopts the sessions and brings their
pages to where they were; computers and what runs in them go on meanwhile. Ctrl-C or SIGTERM ends it.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "host": "127.0.0.1",  # another address lets others in: give them keys (owners_file)
            "port": 8700,  # 0: any that is free
            "owners_file": "",  # JSON: {"ann": {"key": "...", "sessions": 8}}; "": the operator alone
            "roots": (),  # folders below which clients may name sites, beside tars_jax/
            "kinds": ("browser", "computer"),  # of sessions; where this machine can isolate nothing, it says so
            "preview_domain": "localhost",  # computers are shown at ID.localhost; for others, a wildcard's name
            "computers": {"isolation": "auto"},  # namespaces, bubblewrap, gvisor; auto: the first two
            "browser": {
                "browsers": 1,  # that stay; each starts with its first page
                "max_browsers": 8,  # while all are full, and memory allows
                "pages_per_browser": 8,
                "width": 320,  # of viewports, unless a session says otherwise
                "height": 320,
                "idle_browser_seconds": 30.0,
                "reserve_megabytes": 512,  # no further browser starts with less memory free
                "browser_megabytes": 4096,  # a browser that grew beyond is replaced when its last page closes
                "call_seconds": 20.0,
                "use_angle": "swiftshader",  # what draws WebGL, by software; with a GPU gl, gl-egl or vulkan
            },
            "sessions": {
                "max_sessions": 64,
                "per_owner": 64,
                "lease_seconds": 120.0,  # a session that nobody calls or renews for so long is collected
                "max_lease_seconds": 86400.0,
                "download_megabytes": 64,  # that a session's page may download; 0: nothing is kept
            },
            "server": {"max_body_megabytes": 64, "open_seconds": 60.0, "stop_seconds": 10.0},
            "seed": 0,
            "run": "",
        }
    )
