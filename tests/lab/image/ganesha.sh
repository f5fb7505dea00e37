#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ganesha.sh OUT: nfs-ganesha with NFS over RDMA, as the archive OUT, to be unpacked at / of a machine. Debian's packages are
# built without RDMA; this is built from their sources (of Debian 13, whose ntirpc is the first with an RDMA transport that is
# looked after), in a file system of its own. Exit status 3: the packages cannot be fetched.
set -euo pipefail
out=$1 release=trixie
work=$out.build
rm -rf --one-file-system "$work" # of a run that was killed
mkdir -p "$work"
cd "$work"
trap 'rm -rf --one-file-system "$work"' EXIT

archive=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sed -n 's/ bookworm$//p' | head -n 1)
mkdir -p apt/lists/partial apt/archives/partial
echo "deb-src $archive $release main" > apt/sources
apt=(-q -o Dir::Etc::SourceList="$work/apt/sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$work/apt/lists"
  -o Dir::Cache="$work/apt" -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false)
apt-get "${apt[@]}" update > apt.log 2>&1 || { cat apt.log >&2; exit 3; }
for package in nfs-ganesha ntirpc; do
  # A mirror that has lost the description of a package may have its source.
  apt-get "${apt[@]}" source --download-only $package >> apt.log 2>&1 || true
  [ -f "$(echo ${package}_*.orig.tar.gz)" ] || { cat apt.log >&2; exit 3; }
  mkdir $package
  tar -xf ${package}_*.orig.tar.gz -C $package --strip-components=1
  if [ -f "$(echo ${package}_*.debian.tar.xz)" ]; then
    tar -xf ${package}_*.debian.tar.xz -C $package
    for patch in $(grep -v '^#' $package/debian/patches/series 2> /dev/null); do
      patch -s -p1 -d $package < $package/debian/patches/$patch
    done
  fi
done
rm -rf nfs-ganesha/src/libntirpc
mv ntirpc nfs-ganesha/src/libntirpc
version=$(echo nfs-ganesha_*.orig.tar.gz | sed 's/nfs-ganesha_\(.*\)\.orig.*/\1/')

cat > nfs-ganesha/build.sh << 'END'
set -e
cd /nfs-ganesha
off=
for part in SYSTEM_NTIRPC FSAL_CEPH FSAL_RGW FSAL_GLUSTER FSAL_GPFS FSAL_LUSTRE FSAL_LIZARDFS FSAL_KVSFS FSAL_SAUNAFS \
  FSAL_PROXY_V4 FSAL_PROXY_V3 FSAL_NULL 9P DBUS LTTNG ADMIN_TOOLS GUI_ADMIN_TOOLS MAN_PAGE RADOS_RECOV MONITORING; do
  off="$off -DUSE_$part=OFF"
done
cmake -G Ninja -S src -B b -DCMAKE_BUILD_TYPE=Release -DUSE_NFS_RDMA=ON -DUSE_FSAL_VFS=ON -DRADOS_URLS=OFF $off \
  -DCMAKE_INSTALL_PREFIX=/usr -DSYSSTATEDIR=/var -DSYSCONFDIR=/etc
ninja -C b
DESTDIR=/out ninja -C b install
END
echo "$version" > version
packages=gcc,g++,libc6-dev,ninja-build,cmake,bison,flex,libkrb5-dev,libnsl-dev,liburcu-dev,libblkid-dev,uuid-dev,libcap-dev
packages+=,libacl1-dev,libattr1-dev,libdbus-1-dev,libnfsidmap-dev,libibverbs-dev,librdmacm-dev,pkgconf,xfslibs-dev
packages+=,python3-minimal
mapfile -t sources < <(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  grep -E ' bookworm(-security)? ' | sort -u)
mmdebstrap --quiet --mode=root --variant=minbase --skip=check/qemu --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --include="$packages" bookworm /dev/null "${sources[@]}" \
  --customize-hook="cp -r '$work/nfs-ganesha' \"\$1/\"" --customize-hook='chroot "$1" sh /nfs-ganesha/build.sh' \
  --customize-hook="cp '$work/version' \"\$1/out/ganesha-version\"" \
  --customize-hook="tar -C \"\$1/out\" -cf '$work/out.tar' ." > build.log 2>&1 || { tail -n 40 build.log >&2; exit 1; }
mv out.tar "$out"
echo "lab: nfs-ganesha $version ($SECONDS s)"
