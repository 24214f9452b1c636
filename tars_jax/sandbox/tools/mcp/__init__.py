"""MCP, both ways: a computer as a server, and servers of others inside of a computer. Needs the extra `mcp`."""
