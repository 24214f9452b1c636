#!/bin/bash
echo '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "weekday", "arguments": {"date": "2026-11-29"}}}' |
    python3 /srv/dates.py | grep -o Sunday > day
