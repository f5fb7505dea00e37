#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh OUT SERIES: the machine of the lab, from Debian packages, as OUT/vmlinuz and OUT/root.cpio: the newest kernel of
# the series (6.1, 6.12, 7.3), and one uncompressed cpio archive that is the whole root file system (under emulation that
# boots in half the time of a compressed one). Nothing is installed or mounted here; mmdebstrap wants root. Takes minutes:
# lab.py does it once for each series and state of this folder. Exit status 3: the packages cannot be fetched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1 series=$2
mkdir -p "$out"
work=$out/build
rm -rf --one-file-system "$work" # of a run that was killed
mkdir "$work"
cd "$work"
trap 'kill $(jobs -p) 2> /dev/null || true; wait; rm -rf --one-file-system "$work"' EXIT
say() { printf 'lab: %s (%s s)\n' "$*" "$SECONDS"; }
words() { grep -v '^#' "$1"; }
# get COMMAND...: of apt; its sources are those of look_in.
get() { apt-get -q "${apt[@]}" "$@" >> apt.log 2>&1 || { cat apt.log >&2; exit 3; }; }

# Package sources: those of this machine, and other suites at the same place.
apt=()
get update
mapfile -t bookworm < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  grep -E ' bookworm(-security)? ' | sort -u)
archive=$(printf '%s\n' "${bookworm[@]}" | sed -n 's/^deb \([^ ]*\) bookworm .*/\1/p' | head -n 1)

# root_of DIRECTORY RELEASE PACKAGES SOURCE...: a minimal file system; options of mmdebstrap may follow.
root_of() {
  mmdebstrap --quiet --mode=root --variant=minbase --skip=check/qemu --aptopt='APT::Install-Recommends "false"' \
    --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --include="$3" "$2" "$1" "${@:4}"
}
root_of root bookworm "$(words "$here/packages" | paste -sd ,)" "${bookworm[@]}" > root.log 2>&1 & # meanwhile:
root_file_system=$!

# The newest kernel of the series, from the first release that has one: 6.1.0-9-amd64, 7.3.4+deb13-amd64.
find_kernel() {
  kernel=$(apt-cache "${apt[@]}" search --names-only "^linux-headers-${series//./\\.}\.[0-9]" | cut -d ' ' -f 1 |
    sed -n -E "s/^linux-headers-([0-9.]+(-[0-9]+|\+deb[0-9.]+)-amd64)$/\1/p" | sort -V | tail -n 1)
}
# look_in RELEASE SUITE...: from here on apt looks there.
look_in() {
  sources=()
  for suite; do sources+=("deb $archive $suite main"); done
  mkdir -p apt/lists/partial apt/archives/partial
  printf '%s\n' "${sources[@]}" > apt/sources
  apt=(-o Dir::Etc::SourceList="$work/apt/sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/apt/lists"
    -o Dir::Cache="$work/apt" -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false)
  get update
}
release=bookworm sources=("${bookworm[@]}")
find_kernel
for suites in "bookworm bookworm-backports" "trixie trixie-backports" "sid"; do
  [ -z "$kernel" ] || break
  release=${suites%% *}
  look_in $suites
  find_kernel
done
[ -n "$kernel" ] || { echo "lab: no package of Linux $series" >&2; exit 3; }
version=$(apt-cache "${apt[@]}" show --no-all-versions "linux-headers-$kernel" | sed -n 's/^Version: //p')
say "Linux $kernel, $version"

# The kernel and its modules, unpacked; they are one package or several.
common=linux-headers-${kernel%-amd64}-common
packages=("linux-source-$series=$version")
mapfile -t parts < <(apt-cache "${apt[@]}" search --names-only "^linux-(image|base|binary|modules)-${kernel//[+.]/\\&}$" | cut -d ' ' -f 1)
if [ $release = bookworm ]; then
  kbuild=$(apt-cache "${apt[@]}" depends "linux-headers-$kernel" | sed -n 's/.*Depends: \(linux-kbuild-[^ ]*\).*/\1/p')
  parts+=("linux-headers-$kernel" "$common" "$kbuild")
fi
get download "${packages[@]}" "${parts[@]}"
mkdir -p kernel/usr/lib
ln -s usr/lib kernel/lib
for part in "${parts[@]}"; do dpkg-deb -x "$part"_*.deb kernel; done
modules=kernel/lib/modules/$kernel
find -L "$modules" -name '*.ko.xz' -print0 | xargs -0 -r -P "$(nproc)" -n 64 xz -d

# siw is off in Debian's configuration: built from Debian's source against the headers, by the compiler of the kernel's release.
dpkg-deb --fsys-tarfile "linux-source-${series}"_*.deb | tar -xO "./usr/src/linux-source-$series.tar.xz" | xz -T0 -dc |
  tar -x --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw/*' --one-top-level=siw
printf 'obj-m := siw.o\nsiw-y := %s\n' "$(cd siw && printf '%s\n' siw_*.c | sed 's/c$/o/' | paste -sd ' ')" > siw/Makefile
if [ $release = bookworm ]; then
  headers=$work/kernel/usr/src/linux-headers-$kernel
  sed -i "s#/usr/src/linux-headers#$work/kernel/usr/src/linux-headers#g" "$headers/Makefile"
  for link in "$headers"/{scripts,tools} "$work/kernel/usr/src/$common"/{scripts,tools}; do
    [ ! -L "$link" ] || ln -sfn "$work/kernel/usr/lib/$kbuild/$(basename "$link")" "$link"
  done
  make -s -C "$headers" M="$work/siw" CONFIG_DEBUG_INFO_BTF_MODULES= modules > siw.log 2>&1 || { cat siw.log >&2; exit 1; }
else
  root_of /dev/null "$release" "linux-headers-$kernel,binutils,make" "${sources[@]}" --customize-hook="cp -r '$work/siw' \"\$1/siw\"" \
    --customize-hook="chroot \"\$1\" make -s -C /usr/src/linux-headers-$kernel M=/siw CONFIG_DEBUG_INFO_BTF_MODULES= modules" \
    --customize-hook="cp \"\$1/siw/siw.ko\" '$work/siw'" > siw.log 2>&1 || { cat siw.log >&2; exit 1; }
fi
install -D -m 644 siw/siw.ko "$modules/updates/siw.ko"
depmod -b kernel "$kernel"
say "siw"

wait $root_file_system || { cat root.log >&2; exit 1; }
say "root file system"

words "$here/modules" | while read -r module; do
  modprobe -d kernel -S "$kernel" --show-depends --ignore-install "$module" || echo "no module $module" >&2
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r file; do
  install -D -m 644 "$file" "root/lib/modules/$kernel/${file#*"/lib/modules/$kernel/"}"
done
cp "$modules"/modules.* "root/lib/modules/$kernel/"
find root/lib/modules -name '*.ko' -exec strip --strip-debug {} +
depmod -b root "$kernel"
install -m 755 "$here/init" root/init
rm -rf root/var/cache/apt/* root/var/lib/apt/lists/* root/usr/share/{doc,man,locale,zoneinfo}
(cd root && find . -path ./dev -prune -o -print0 | cpio --quiet -0 -o -H newc) > root.cpio
for image in "kernel/boot/vmlinuz-$kernel" "$modules/vmlinuz"; do [ ! -f "$image" ] || cp "$image" "$out/vmlinuz"; done
echo "$version" > "$out/version"
mv root.cpio "$out/root.cpio"
say "image of $(du -m "$out/root.cpio" | cut -f 1) MB"
