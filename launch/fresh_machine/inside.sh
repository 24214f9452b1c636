#!/usr/bin/env bash
# The first process of fresh_machine.sh's namespaces: makes the tree, and enters it.
#   inside.sh REPOSITORY TREE SUITE USER [COMMAND...]
set -euo pipefail
root=$1 tree=$2 suite=$3 user=$4
shift 4
launch="$root/launch/fresh_machine"
tarball="$root/.cache/fresh_machine/$suite.tar"
. "$launch/registries.sh"

# debootstrap mounts /proc in the tree, another reason for a namespace.
bootstrap() {
    local script=/usr/share/debootstrap/scripts/$suite
    [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid # a release younger than this machine's debootstrap
    echo "fresh: making a bare $suite, kept as $tarball (minutes)"
    debootstrap --variant=minbase --include=git,python3-venv,ca-certificates \
        "$suite" "$tree" "$(debian_mirror)" "$script" >"$tarball.log" 2>&1 || {
        tail -n 3 "$tarball.log" >&2
        return 1
    }
    umount -R "$tree/proc" "$tree/sys" 2>/dev/null || true
    tar -C "$tree" -cf "$tarball.partial" --one-file-system . && mv "$tarball.partial" "$tarball"
}

# What a kernel gives to a system, of this tree's own where that is possible.
mount_kernel() {
    local node
    mount --bind "$tree" "$tree"
    mount -t proc proc "$tree/proc"
    mount --rbind -o ro /sys "$tree/sys"
    mount -t tmpfs -o mode=755 dev "$tree/dev"
    mkdir "$tree/dev/pts" "$tree/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$tree/dev/pts"
    mount -t tmpfs -o mode=1777 shm "$tree/dev/shm"
    for node in null zero full random urandom tty; do
        touch "$tree/dev/$node" && mount --bind "/dev/$node" "$tree/dev/$node"
    done
    ln -s pts/ptmx "$tree/dev/ptmx"
    ln -s /proc/self/fd "$tree/dev/fd"
    for node in 0:stdin 1:stdout 2:stderr; do
        ln -s "/proc/self/fd/${node%:*}" "$tree/dev/${node#*:}"
    done
}

[ -e "$tarball" ] || bootstrap
[ -e "$tree/usr" ] || tar -C "$tree" -xf "$tarball"
chmod 755 "$tree" # mktemp's mode would keep the ordinary user out
mount_kernel
carry_registries
home=/root
if [ "$user" != root ]; then
    chroot "$tree" useradd --create-home "$user"
    home="/home/$user"
fi
carry_settings "$tree$home"
git -c safe.directory='*' -C "$root" bundle create --quiet "$tree/checkout.bundle" HEAD
install -m 755 "$launch/enter.sh" "$tree/enter.sh"
chroot "$tree" chown -R "$user:" "$home"

# Not by chroot alone: who is in one may make no user namespace, which Chromium's sandbox is.
cd "$tree"
mkdir -p outside
pivot_root . outside
# The first process stays root's: with its user the kernel would forget that it dies with its parent.
exec chroot . /bin/bash -c 'umount -l /outside && rmdir /outside && "$@"; exit' bash \
    setpriv --reuid "$user" --regid "$user" --init-groups --inh-caps=-all \
    env -i HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${carried[@]}" /enter.sh "$@"
