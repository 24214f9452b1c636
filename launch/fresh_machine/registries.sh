# shellcheck shell=bash
# How this machine reaches its package registries, carried into a tree: functions for inside.sh, which sets $root, $tree.
#
# No address stands here: all of it is read from the settings of apt, pip and npm, and from the environment.

carried=() # variables for the tree's environment

# The Debian mirror of this machine, where it has one; debootstrap's own otherwise.
debian_mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        grep -E '/debian/?$' | head -n 1 || true
}

# bind_named TEXT: folders and files of this machine that settings name appear at the same place in the tree, read-only
bind_named() {
    local path
    sed -E 's#https?://[^[:space:]]*##g; s#file://##g' <<<"$1" | tr -s "[:space:]=,;\"'" '\n' | grep -E '^/[^/]' | sort -u |
        while read -r path; do
            path=${path%/simple} # an index, whose files may lie beside it
            [ -e "$path" ] && ! [ -e "$tree$path" ] || continue
            if [ -d "$path" ]; then
                mkdir -p "$tree$path"
            else
                mkdir -p "$tree$(dirname "$path")" && touch "$tree$path"
            fi
            mount --bind -o ro "$path" "$tree$path"
        done
}

# For the whole system: names, certificates, apt's options, pip's settings, and variables.
carry_registries() {
    local name file text=''
    cp -L /etc/resolv.conf /etc/hosts "$tree/etc/"
    # Certificates that somebody added to this machine's.
    cat /usr/local/share/ca-certificates/*.crt >>"$tree/etc/ssl/certs/ca-certificates.crt" 2>/dev/null || true
    if [ -d /etc/apt ]; then
        apt-config dump | grep -E '^Acquire::(http|https|Check|Retries)' >"$tree/etc/apt/apt.conf.d/99carried" || true
    fi
    for file in /etc/pip.conf /etc/xdg/pip/*; do
        if [ -f "$file" ]; then
            install -D -m 644 "$file" "$tree$file"
            text+=$(cat "$file")$'\n'
        fi
    done
    while IFS= read -r name; do
        carried+=("$name=${!name}")
        text+="${!name}"$'\n'
    done < <(compgen -e | grep -iE '^(pip_|npm_config_|(http|https|no|all|ftp)_proxy$|ssl_cert_|.*_ca_?(bundle|certs|info)$|git_ssl_)')
    bind_named "$text"
}

# carry_settings HOME: for one user, whose home in the tree this is.
carry_settings() {
    local file home=${HOME:-/root}
    for file in .config/pip/pip.conf .pip/pip.conf; do
        if [ -f "$home/$file" ]; then
            install -D -m 644 "$home/$file" "$1/$file"
            bind_named "$(cat "$home/$file")"
        fi
    done
    if command -v npm >/dev/null; then # one file for npm's two, since the tree's npm looks for the global one elsewhere
        cat "$(npm config get globalconfig)" "$home/.npmrc" 2>/dev/null | grep -v '^nodedir' >"$1/.npmrc" || true
    fi
}
