"""The gateway, which shows outside what is inside a session: ports, terminals, desktops. See README.md one folder
up."""
