# shellcheck shell=bash
# Provides Playwright's driver and a headless Chromium: functions for setup.sh and gpu.sh.
#
# Takes $root, and $python with the locked packages; `provide_chromium` sets TARS_JAX_CHROMIUM, the browser's path.

work="$root/.cache/setup"
chromium_folder="$root/.cache/chromium"

fail() {
    printf '%s\n' "$1" >&2
    exit 2
}

# step WORDS COMMAND...: one line with the time it took; what the command says goes to the log
step() {
    local words=$1 start=$SECONDS
    shift
    printf 'setup: %s ... ' "$words"
    printf '\n== %s\n' "$words" >>"$work/log"
    if "$@" >>"$work/log" 2>&1 </dev/null; then
        printf '%d s\n' $((SECONDS - start))
    else
        printf 'failed after %d s\n' $((SECONDS - start))
        return 1
    fi
}

root_with_apt() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}

apt_install() {
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"
}

# ---- Playwright's driver, a program of its own that needs one library more than a minimal Debian has

driver_runs() {
    "$python" -m playwright --version >>"$work/log" 2>&1 </dev/null
}

provide_driver() {
    driver_runs && return
    ! root_with_apt || step "installing libatomic1" apt_install libatomic1 || true
    driver_runs || fail "Playwright's driver does not start ($work/log says why): install libatomic1 (as root: apt-get install libatomic1)."
}

# ---- Chromium

runs() {
    # Ubuntu's snap cannot read a profile in /tmp.
    [[ -x $1 && $(readlink -f "$1") != */snap* ]] && timeout 20 "$1" --version >/dev/null 2>&1 </dev/null
}

# Headless shells first: they take two to four times less memory than the full browser.
find_chromium() {
    local browsers=${PLAYWRIGHT_BROWSERS_PATH:-${HOME:-/nonexistent}/.cache/ms-playwright} candidate
    for candidate in \
        "$(command -v chromium-headless-shell)" \
        "$chromium_folder/headless_shell" \
        "$browsers"/chromium_headless_shell-*/*/{headless_shell,chrome-headless-shell} \
        "$(command -v chromium)" \
        "$(command -v google-chrome)" \
        "$browsers"/chromium-*/*/chrome; do
        runs "$candidate" && printf '%s\n' "$candidate" && return
    done
    return 1
}

# A headless shell in an npm package, with the libraries and fonts that a machine without a desktop may lack.
install_from_npm() (
    local archive bin="$chromium_folder/package/bin"
    rm -rf "$chromium_folder" && mkdir -p "$chromium_folder" && cd "$chromium_folder" || return
    timeout 600 npm pack --fetch-retries=1 @sparticuz/chromium@153.0.0 || return
    sha256sum -c <<<"20e5656fcdcf4118ede85edfb9d6bb9cc1bbb7ffb8b75622fffbcf36a835c3c0  sparticuz-chromium-153.0.0.tgz" || return
    tar -xzf ./*.tgz || return
    node -e '
        const fs = require("fs"), zlib = require("zlib"), [bin, folder] = process.argv.slice(1);
        for (const name of fs.readdirSync(bin).filter((name) => name.endsWith(".br")))
            fs.writeFileSync(folder + "/" + name.slice(0, -3), zlib.brotliDecompressSync(fs.readFileSync(bin + "/" + name)));
    ' "$bin" "$chromium_folder" || return
    for archive in ./*.tar; do
        tar -xf "$archive" || return
    done
    rm -r ./*.tar ./*.tgz package
    sed -i "s|<dir>/tmp/fonts</dir>|<dir>$chromium_folder/fonts</dir>|" "$chromium_folder/fonts.conf" || return
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

install_from_playwright() {
    "$python" -m playwright install $(root_with_apt && echo --with-deps) chromium-headless-shell && find_chromium
}

install_chromium() {
    if root_with_apt; then
        step "installing chromium-headless-shell" apt_install chromium-headless-shell fonts-dejavu-core && return
    fi
    if command -v npm >/dev/null && command -v node >/dev/null; then
        step "installing a headless Chromium from npm" install_from_npm && return
    fi
    step "installing a headless Chromium from Playwright" install_from_playwright
}

provide_chromium() {
    if [ -n "${TARS_JAX_CHROMIUM:-}" ]; then
        runs "$TARS_JAX_CHROMIUM" ||
            fail "TARS_JAX_CHROMIUM is '$TARS_JAX_CHROMIUM', which does not run; it takes the path of a Chromium or Chrome."
        return
    fi
    TARS_JAX_CHROMIUM=$(find_chromium) || {
        install_chromium || true
        TARS_JAX_CHROMIUM=$(find_chromium) ||
            fail "No Chromium was found or could be installed ($work/log says why): install chromium-headless-shell or chromium, or set TARS_JAX_CHROMIUM to the path of one."
    }
    printf 'setup: Chromium is %s\n' "$TARS_JAX_CHROMIUM"
}
