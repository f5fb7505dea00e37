#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [VERSION or VARIANT...]: the kernel's client and server, captured, checked, replayed, served again; rxe, siw
. /src/tests/lab/guest/common.sh
. /src/tests/lab/guest/variants.sh
kind=${1:-rxe}
parts=("${@:2}")
[ ${#parts[@]} -gt 0 ] || parts=(3 4.0 4.1 4.2 "${VARIANTS[@]}")
wire
[[ " ${parts[*]} " != *" ipv6 "* ]] || wire6
devices $kind
[ $kind = rxe ] || siw_waits
modprobe -a nfs nfsv3 nfsv4
files=/tmp/files mnt=/mnt/nfs keep=/share/keep
umount -f $mnt 2> /dev/null
rm -rf $files $keep
mkdir -p $files $mnt $keep
sizes="0 1 3 1000 4097 65536 100001 300007"
for size in $sizes; do head -c $size /dev/urandom > $files/f$size; done

# What the server has at first.
populate() {
  mkdir /export/many
  for i in $(seq -w 300); do : > /export/many/$(printf 'n%.0s' {1..60})$i; done
  for size in $sizes; do cp $files/f$size /export/old$size; done
  ln -s "$(printf 't%.0s' {1..900})" /export/link900
  chmod -R a+rwX /export
}
# mount_nfs VERSION [OPTION]: at $mnt.
mount_nfs() {
  local options=vers=$1,proto=rdma,port=20049,rsize=65536,wsize=65536,actimeo=600${2:+,$2} root=/
  [ $1 != 3 ] || root=/export options+=,nolock,mountproto=tcp
  timeout 120 mount -t nfs -o $options $SERVER:$root $mnt
}
# What a user does, the same each time: read, list, write, read again, rename, link, remove.
workload() {
  ls -l $mnt $mnt/many | wc -l
  for size in $sizes; do must cmp $files/f$size $mnt/old$size; done
  must mkdir $mnt/new
  for size in $sizes; do must dd if=$files/f$size of=$mnt/new/f$size bs=64K conv=fsync status=none; done
  must dd if=$files/f100001 of=$mnt/new/direct bs=33333 oflag=direct iflag=fullblock status=none
  forget
  for size in $sizes; do must cmp $files/f$size $mnt/new/f$size; done
  must cmp $files/f100001 $mnt/new/direct
  must dd if=$mnt/new/f300007 of=/dev/null bs=5001 skip=3 count=3 iflag=direct status=none
  must mv $mnt/new/f3 $mnt/new/moved
  must ln $mnt/new/moved $mnt/new/hard
  must ln -s moved $mnt/new/soft
  [ "$(readlink $mnt/new/soft)" = moved ] || fail "a symbolic link leads to $(readlink $mnt/new/soft)"
  [ "$(readlink $mnt/link900 | wc -c)" = 901 ] || fail "a link of 900 bytes is another one"
  must truncate -s 77 $mnt/new/f4097
  must touch -d 2001-02-03 $mnt/new/f1
  must chmod 600 $mnt/new/f1
  must rm $mnt/new/f1000
  ! ls $mnt/nothing 2> /dev/null || fail "there is a file that was never made"
}
# tree DIR: names, kinds, sizes, contents and modes.
tree() {
  (cd "$1" && find . -printf '%p %y %s %m %l\n' | awk '$2 == "d" { $3 = "" } 1' | sort && find . -type f -exec sha256sum {} + | sort -k 2)
}
# extracted FILE: a file with these contents was extracted, whatever its name: that of a READDIR entry is not known.
extracted() { grep -q "^$(sha256sum < $1 | cut -d ' ' -f 1) " /tmp/sums || fail "$1 was not extracted"; }

# session VERSION: recorded, checked and extracted, replayed, and served from the recording.
session() {
  local version=$1
  capture=$keep/$kind-nfs$version.pcap
  say "NFSv$version, recorded"
  fresh_knfsd
  populate
  # NFSv4.0 calls its clients back over TCP, where stag replay has nobody: without that there are no delegations.
  sysctl -qw fs.leases-enable=$([ $version = 4.0 ] && echo 0 || echo 1)
  no_grace
  record
  mount_nfs $version || die "mount failed"
  workload
  must umount $mnt
  recorded $capture
  tree /export > /tmp/tree.recorded
  rm -rf /tmp/recorded /tmp/extracted
  cp -a /export /tmp/recorded

  say "NFSv$version, checked and extracted"
  # PVT-006: docs/divergences.md.
  must $STAG check --ignore PVT-006 $capture > /tmp/check
  grep "errors, " /tmp/check
  must $STAG extract $capture --out /tmp/extracted --format jsonl > /tmp/manifest
  sha256sum /tmp/extracted/* > /tmp/sums
  for name in $files/f[1-9]* /tmp/recorded/new/{f65536,f100001,f300007,direct}; do extracted $name; done

  say "NFSv$version, replayed"
  fresh_knfsd # begins with a grace period, which stag replay waits out
  populate
  root=()
  [ $version != 3 ] || root=(--export /export)
  must $STAG replay $capture --to $SERVER:20049 --transport ${kind}0 "${root[@]}" --check --expect-match 99.9 \
    > /tmp/replay 2>&1
  grep -E '^(stag: |differs: |trouble)| calls sent| errors, ' /tmp/replay
  tree /export > /tmp/tree.replayed
  must diff /tmp/tree.recorded /tmp/tree.replayed

  say "NFSv$version, served from the recording"
  rpc.nfsd 0
  mount_port=()
  [ $version != 3 ] || mount_port=(--mount-port 20048)
  $STAG serve $capture --transport ${kind}1 --listen $SERVER:20049 "${mount_port[@]}" --check > /tmp/serve 2>&1 &
  serve=$!
  listening $serve /tmp/serve
  if mount_nfs $version "$([ $version != 3 ] || echo mountport=20048)"; then
    workload
    timeout 120 umount $mnt || { fail "umount ($?)"; umount -l $mnt; }
  else
    fail "mount failed: $(cat /tmp/serve)"
  fi
  kill -INT $serve
  wait $serve || fail "stag serve ended with $?: $(cat /tmp/serve)"
  grep -E " x |calls|errors, " /tmp/serve
}

part() {
  case $1 in
    [34]*) session $1 ;;
    *) variant $1 ;;
  esac
}
parts part "${parts[@]}"
finish
