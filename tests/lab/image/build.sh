#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh OUT: the machine of the lab, from Debian packages, as OUT/vmlinuz and OUT/root.cpio: kernel, and one
# uncompressed cpio archive that is the whole root file system (under emulation that boots in half the time of a
# compressed one). Nothing is installed or mounted here; mmdebstrap wants root. Takes minutes: lab.py does it once for
# each state of this folder. Exit status 3: the packages cannot be fetched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
work=$out/build
rm -rf --one-file-system "$work" # of a run that was killed
mkdir "$work"
cd "$work"
trap 'kill $(jobs -p) 2> /dev/null || true; wait; rm -rf --one-file-system "$work"' EXIT
say() { printf 'lab: %s (%s s)\n' "$*" "$SECONDS"; }
words() { grep -v '^#' "$1"; }

apt-get -q update > apt.log 2>&1 || { cat apt.log >&2; exit 3; }

# The root file system, from the package sources that this machine uses; meanwhile:
mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  grep -E ' bookworm(-security)? ' | sort -u)
mmdebstrap --quiet --mode=root --variant=minbase --skip=check/qemu --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
  --include="$(words "$here/packages" | paste -sd ,)" bookworm root "${sources[@]}" > root.log 2>&1 &
root_file_system=$!

# The kernel that linux-image-amd64 stands for, unpacked.
image=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-6[^ ]*\)/\1/p')
kernel=${image#linux-image-}
common=linux-headers-${kernel%-amd64}-common
packages=("$image" "linux-headers-$kernel" "$common" linux-kbuild-6.1)
apt-get -q download "${packages[@]}" linux-source-6.1 >> apt.log 2>&1 || { cat apt.log >&2; exit 3; }
for package in "${packages[@]}"; do dpkg-deb -x "$package"_*.deb kernel; done
say "kernel $kernel"

# siw is off in Debian's configuration: built from Debian's source against the unpacked headers.
dpkg-deb --fsys-tarfile linux-source-6.1_*.deb | tar -xO ./usr/src/linux-source-6.1.tar.xz | xz -T0 -dc |
  tar -x --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw/*' --one-top-level=siw
headers=$work/kernel/usr/src/linux-headers-$kernel
sed -i "s#/usr/src/linux-headers#$work/kernel/usr/src/linux-headers#g" "$headers/Makefile"
for link in "$headers"/{scripts,tools} "$work/kernel/usr/src/$common"/{scripts,tools}; do
  [ ! -L "$link" ] || ln -sfn "$work/kernel/usr/lib/linux-kbuild-6.1/$(basename "$link")" "$link"
done
printf 'obj-m := siw.o\nsiw-y := siw_%s.o siw_%s.o siw_%s.o siw_%s.o siw_%s.o siw_%s.o siw_%s.o siw_%s.o\n' \
  cm cq main mem qp qp_tx qp_rx verbs > siw/Makefile
make -s -C "$headers" M="$work/siw" CONFIG_DEBUG_INFO_BTF_MODULES= modules > siw.log 2>&1 || { cat siw.log >&2; exit 1; }
install -D -m 644 siw/siw.ko "kernel/lib/modules/$kernel/updates/siw.ko"
depmod -b kernel "$kernel"
say "siw"

wait $root_file_system || { cat root.log >&2; exit 1; }
say "root file system"

words "$here/modules" | while read -r module; do
  modprobe -d kernel -S "$kernel" --show-depends --ignore-install "$module" || echo "no module $module" >&2
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r file; do
  install -D -m 644 "$file" "root/lib/modules/$kernel/${file#*"/lib/modules/$kernel/"}"
done
cp "kernel/lib/modules/$kernel"/modules.{builtin,order}* "root/lib/modules/$kernel/"
find root/lib/modules -name '*.ko' -exec strip --strip-debug {} +
depmod -b root "$kernel"
install -m 755 "$here/init" root/init
rm -rf root/var/cache/apt/* root/var/lib/apt/lists/* root/usr/share/{doc,man,locale,zoneinfo}
(cd root && find . -path ./dev -prune -o -print0 | cpio --quiet -0 -o -H newc) > root.cpio
cp "kernel/boot/vmlinuz-$kernel" "$out/vmlinuz"
mv root.cpio "$out/root.cpio"
say "image of $(du -m "$out/root.cpio" | cut -f 1) MB"
