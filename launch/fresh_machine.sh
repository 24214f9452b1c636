#!/usr/bin/env bash
# Tries the README's two commands as a new user would, on a bare Debian that this machine makes:
#   ./launch/fresh_machine.sh [bookworm|trixie] [--user] [COMMAND...]
#
# The tree holds git, python3 with venv and nothing else; the last commit of this checkout is cloned into it, and COMMAND
# (default: ./launch/test.sh, then ./launch/local.sh quickstart, with a row for CONTRIBUTING's table at the end) runs there
# as root, or with --user as an ordinary user. Needs root, Debian's debootstrap, and 10 GB of disk; .cache/fresh_machine
# keeps each bare system as a tarball. How this machine reaches its package registries goes along: the settings of apt, pip
# and npm, the folders they name, certificates and proxies.
#
# Everything runs in mount and process namespaces of its own that end with this script, also by Ctrl-C or kill -9:
# nothing stays mounted or running. What a killed one leaves on the disk the next one removes.
set -euo pipefail
root=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache="$root/.cache/fresh_machine"

fail() {
    printf '%s\n' "$1" >&2
    exit 2
}

suite=bookworm user=root
for _ in 1 2; do
    case ${1:-} in
    bookworm | trixie | forky) suite=$1 ;;
    --user) user=tars ;;
    *) break ;;
    esac
    shift
done
case ${1:-} in
-*) fail "usage: ./launch/fresh_machine.sh [bookworm|trixie] [--user] [COMMAND...]" ;;
esac
[ "$(id -u)" = 0 ] || fail "fresh_machine.sh needs root, to make a system of its own and to enter it."
for program in debootstrap git; do
    command -v "$program" >/dev/null || fail "fresh_machine.sh needs $program: apt-get install $program."
done

mkdir -p "$cache"
exec 9>"$cache/lock" # of two that start at once, neither takes the other's tree for one that was left
flock 9
for left in "$cache"/tree.*; do
    ! [ -d "$left" ] || ! flock -n "$left" true || rm -rf --one-file-system "$left"
done
tree=$(mktemp -d "$cache/tree.XXXXXX")
exec 8<"$tree"
flock 8 # says that somebody is in it
exec 9>&-

end() {
    trap '' INT TERM HUP
    [ -z "${inside:-}" ] || kill -KILL "$inside" 2>/dev/null || true
    wait 2>/dev/null || true
    until rm -rf --one-file-system "$tree" 2>/dev/null; do sleep .1; done # the last of its processes are still dying
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# A signal to this script must reach it while the command runs, so it waits for a child in the background. The chain of
# deaths is: this script, unshare (by setpriv), the first process of the namespace (by --kill-child), everything in it.
setpriv --pdeathsig KILL unshare --mount --pid --ipc --fork --kill-child \
    "$root/launch/fresh_machine/inside.sh" "$root" "$tree" "$suite" "$user" "$@" <&0 8<&- &
inside=$!
status=0
wait "$inside" || status=$?
inside=
exit "$status"
