#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [VERSION...]: Linux client and Linux server, captured: stag check is clean, stag extract gives the files
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
shift
wire
devices $kind
knfsd
for version in ${*:-3 4.0 4.1 4.2}; do
  say "NFS $version over $kind"
  capture /tmp/nfs.pcap
  nfs_mount $version "$([ $version = 3 ] && echo /export || echo /)"
  workload /mnt
  # What extract is to find: contents as they went over the wire, named by their hash.
  umount /mnt || fail "umount"
  capture_done
  must $STAG check /tmp/nfs.pcap
  rm -rf /tmp/files
  must $STAG extract /tmp/nfs.pcap --out /tmp/files
  find /tmp/files -type f -exec sha256sum {} + | cut -d ' ' -f 1 | sort -u > /tmp/found
  for size in 3 1000 4097 65536 100001 1000003; do
    grep -q "$(sha256sum < /tmp/work/f$size | cut -d ' ' -f 1)" /tmp/found || fail "extract gives no file f$size"
  done
  rm -rf /export/work /tmp/work /tmp/untar
done
finish
