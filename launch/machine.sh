# shellcheck shell=bash
# What a machine must have before anything is installed or written: functions for setup.sh and gpu.sh.
#
# Takes $root and $venv, and TARS_JAX_PYTHON, the interpreter that $venv is made with (default: python3 of the PATH, or
# another there if that one does not serve). `check_machine` sets $base, the interpreter's path, and $venv_package, what
# Debian calls its missing part, or ends with a sentence.

work="$root/.cache/setup"
pythons="3.11 to 3.14"

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

# In a umask of 077 apt's own user could not read what is fetched for it.
apt_install() (
    umask 022
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"
)

# ---- The user's environment: what belongs to another Python or another locale stays out.

# Files and streams are UTF-8 in every locale. PYTHONHOME would be the library of another Python. What PYTHONPATH names
# is found after the locked packages (tars_jax.pth in the environment), which it would shadow otherwise.
adapt_environment() {
    export PYTHONUTF8=1 TARS_JAX_PYTHONPATH=${PYTHONPATH:-}
    unset PYTHONHOME PYTHONPATH
    [ -d "${HOME:-}" ] || export HOME="$root/.cache/home"
    if ! [ -w "$HOME" ]; then # settings in it are still read
        export XDG_CACHE_HOME="$root/.cache/home" MPLCONFIGDIR="$root/.cache/home/matplotlib"
        export IPYTHONDIR="$root/.cache/home/ipython" npm_config_cache="$root/.cache/home/npm"
    fi
}

# ---- Python

# serves PYTHON: prints its path, or fails and prints what it is instead, nothing where it does not run at all
serves() {
    "$1" -I "$root/launch/interpreter.py" 2>/dev/null </dev/null
}

has_venv() {
    "$1" -I -c 'import ensurepip, venv' >/dev/null 2>&1 </dev/null
}

# The first that can make a virtual environment, else the first that serves; else `found` says what there was.
find_python() {
    local candidate path first='' said
    found=''
    while read -r candidate; do
        if path=$(serves "$candidate"); then
            has_venv "$path" && base=$path && return
            first=${first:-$path}
        elif [ -n "$path" ]; then
            said="$candidate is $path"
            [[ $found == *"$said"* ]] || found+="${found:+, }$said"
        fi
    done < <(type -aP python3 python3.{11..19})
    base=$first
    [ -n "$base" ]
}

choose_python() {
    local given=${TARS_JAX_PYTHON:-}
    if [ -n "$given" ]; then
        base=$(serves "$given") ||
            fail "TARS_JAX_PYTHON must be a CPython $pythons; '$given' ${base:+is }${base:-does not run}."
    else
        find_python ||
            fail "No CPython $pythons is on the PATH (${found:-there is no python3}): install one, or set TARS_JAX_PYTHON to its path."
    fi
    venv_package=$("$base" -I -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    # apt-get has it for Debian's own interpreter alone
    has_venv "$base" || { root_with_apt && [[ $(readlink -f "$base") == /usr/bin/* ]]; } ||
        fail "$base cannot make virtual environments: install $venv_package (as root: apt-get install $venv_package)."
}

# ---- The machine

check_processor() {
    local system processor
    system=$(uname -s) processor=$(uname -m)
    [ "$system" = Linux ] || fail "tars_jax runs on Linux; this is $system."
    case $processor in
    aarch64) ;;
    x86_64)
        ! grep -q '^flags' /proc/cpuinfo 2>/dev/null || grep -qw avx /proc/cpuinfo ||
            fail "tars_jax needs a processor with AVX, which jaxlib is compiled for; this one, or its virtual machine, has none."
        ;;
    *) fail "tars_jax needs a processor of 64 bits, x86_64 or aarch64; this is $processor." ;;
    esac
}

nearest_folder() {
    local folder=$1
    until [ -d "$folder" ]; do folder=$(dirname "$folder"); done
    printf '%s\n' "$folder"
}

check_writable() {
    local folder
    for folder in "$(nearest_folder "$venv")" "$(nearest_folder "$work")"; do
        [ -w "$folder" ] || fail "The set-up needs to write to $folder: take a copy of the repository in a folder of yours."
    done
}

check_disk() {
    local folder free
    folder=$(nearest_folder "$venv")
    free=$(df -Pk "$folder" | awk 'NR == 2 {print $4}') # KiB
    [ "$free" -ge 3906250 ] ||
        fail "The disk of $folder has $(awk "BEGIN {printf \"%.1f\", $free / 976562.5}") GB free; the set-up needs 4 GB."
}

check_machine() {
    check_processor
    choose_python
    [[ $venv != *:* ]] || fail "No virtual environment can be made in a path with a colon; got $venv."
    check_writable
    check_disk
}

# debian_packages SUITE FOLDER PACKAGE: the package of that suite and all that it needs, in FOLDER/archives, checked by apt
# against Debian's keys. The system's own packages and sources stay as they are, and none of them counts as installed.
debian_packages() (
    set -e
    apt=$2
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    : >"$apt/status"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
        "${TARS_JAX_DEBIAN:-http://deb.debian.org/debian}" "$1" >"$apt/sources.list"
    settings=(-q -o "Dir::State::Lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt"
        -o "Dir::Cache::archives=$apt/archives" -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=-
        -o Dir::Etc::preferencesparts=- -o Dir::Etc::preferences=- -o Acquire::Languages=none
        -o "APT::Sandbox::User=root" -o APT::Architecture="$(dpkg --print-architecture)")
    apt-get "${settings[@]}" update
    DEBIAN_FRONTEND=noninteractive apt-get "${settings[@]}" -y --no-install-recommends --download-only install "$3"
)

# pip of the environment. It unpacks beside it: TMPDIR may be a small disk.
locked_pip() (
    mkdir -p "$work/tmp" && export TMPDIR="$work/tmp"
    "$python" -I -X utf8 -m pip --disable-pip-version-check install --no-user --no-compile --require-hashes "$@"
)

# The line that puts the repository on the environment's path, and after it what PYTHONPATH named. It is code in ASCII:
# Python reads such a file in the locale's encoding, which may not know the letters of the path.
path_file() {
    "$python" -I -X utf8 -c '
import sys
others = "filter(None, os.environ.get(\"TARS_JAX_PYTHONPATH\", \"\").split(os.pathsep))"
print(f"import os, sys; sys.path += [{sys.argv[1]!a}, *{others}]")
' "$root"
}
