"""One service for sessions of all kinds, over HTTP and WebSocket. See README.md."""
