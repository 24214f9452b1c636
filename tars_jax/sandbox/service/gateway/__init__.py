"""What is inside a session, shown outside: ports, terminals, desktops. See README.md one folder up."""
