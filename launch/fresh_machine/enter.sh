#!/usr/bin/env bash
# In the tree, as its user: clones the checkout and runs the command given, or the README's two, timed.
set -uo pipefail
clone="$HOME/tars_jax"
git init -q "$clone" && cd "$clone" && git fetch -q /checkout.bundle HEAD && git checkout -q --detach FETCH_HEAD || exit

if ! unshare --user true 2>/dev/null && [ "$(id -u)" != 0 ]; then
    echo "fresh: no user namespaces here, so Chromium runs without its sandbox (TARS_JAX_CHROMIUM_SANDBOX=0)"
    export TARS_JAX_CHROMIUM_SANDBOX=0
fi
if [ $# -gt 0 ]; then
    "$@"
    exit
fi

row="| $(. /etc/os-release && echo "${PRETTY_NAME/ GNU\/Linux/}") | $(python3 -c 'import platform; print(platform.python_version())') | $([ "$(id -u)" = 0 ] && echo root || echo ordinary) |"
minutes='' failed=0
for command in ./launch/test.sh "./launch/local.sh quickstart"; do
    echo "fresh: $command"
    start=$SECONDS
    if $command; then row+=" passed |"; else row+=" failed |" failed=1; fi
    minutes+="${minutes:+ + }$(((SECONDS - start + 30) / 60))"
done
printf '%s\n' "| system | Python | user | \`./launch/test.sh\` | \`./launch/local.sh quickstart\` | minutes |" "$row $minutes |"
exit "$failed"
