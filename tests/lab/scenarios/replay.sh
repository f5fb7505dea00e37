#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [CAPTURE...]: stag replay of real captures against the kernel's server with files as recorded; rxe, siw
# Without CAPTURE: those of the repository, and the whole ones of NFSv4 that /captures has.
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
set -- "${@:2}"
mkdir -p /captures
mountpoint -q /captures || mount -t 9p -o trans=virtio,version=9p2000.L,ro captures /captures 2> /dev/null
if [ $# -eq 0 ]; then
  set -- /src/pcaps/real/{rxe-nfs3,rxe-nfs4.1,siw-nfs4.1}.pcap.zst
  for capture in /captures/{rxe-*nfs4*,siw-nfs4*,siw-crc-p2p-nfs4.1}.pcap; do
    # Not those that begin in the midst, and need state which no reply gives; nor what another server and another
    # workload made.
    [[ ! -e $capture || $capture =~ midstream|linux7 ]] || set -- "$@" "$capture"
  done
fi
wire
devices $kind
[ $kind = rxe ] || siw_waits

# The files that the recorded servers had, by name, kind and size.
populate() {
  cd /export
  mkdir -p ext bigdir dl
  modprobe ext4
  rm -f /tmp/ext.ext4
  truncate -s 200M /tmp/ext.ext4
  mkfs.ext4 -q -b 4096 /tmp/ext.ext4 && mount -o loop /tmp/ext.ext4 ext || die "no file system to export at /export/ext"
  for i in $(seq -w 400); do : > bigdir/file-$i-$(printf 'n%.0s' {1..60}); done
  for size in 0 1 3 4097 100001 300007 1000003; do head -c $size /dev/urandom > rnd$size; done
  for i in {0..199}; do echo deleg > dl/$i; done
  ln -s "$(printf 't%.0s' {1..900})" link900
  ln -s "$(printf 'u%.0s' {1..4000})" ext/link4000
  mkdir w-{3-{1297,2298},4.0-{1387,2400},4.1-{940,1492,2502},4.2-{1593,2061,2603}} # of earlier runs
  for name in big deleg deleg.tmp x; do : > $name; done
  # The capture makes one of them itself (CREATE of a directory). The length of its name may be that of a newline, 10.
  for name in $(tr '\n' '\1' < "$1" | LC_ALL=C grep -aPo '\x00\x00\x00\x06\x00\x00\x00\x02\x00\x00\x00.\Kw-[0-9.]+-[0-9]+' |
    sort -u); do
    [ ! -d "$name" ] || rmdir "$name"
  done
  chmod -R a+rwX .
  cd /
  echo '/export *(rw,no_root_squash,no_subtree_check,insecure,fsid=0,async,crossmnt)' > /etc/exports
  echo '/export/ext *(rw,no_root_squash,no_subtree_check,insecure,fsid=1,async)' >> /etc/exports
  exportfs -ra
  no_grace
}

# part CAPTURE
part() {
  say "$1"
  fresh_knfsd
  populate "$1"
  root=()
  [[ $1 != *nfs3* ]] || root=(--export /export) # later versions begin with PUTROOTFH
  # Linux 6.1 gives no delegation for an OPEN right behind a CLOSE (docs/divergences.md).
  pace=()
  [[ $1 != *nfs4.0* ]] || pace=(--timing recorded --speed 0.25)
  must $STAG replay "$1" --to $SERVER:20049 --transport ${kind}0 "${root[@]}" "${pace[@]}" --check --expect-match 100 \
    > /tmp/replay 2>&1
  grep -E '^(stag: |differs: |no )| calls sent| errors, ' /tmp/replay
  exportfs -ua
  umount /export/ext || die "/export/ext is in use"
}
parts part "$@"
finish
