#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND: small captures for pcaps/real/lab, kept: NFSv3 and 4.2, a relay with callbacks, invalid handles; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
wire
devices $kind
modprobe -a nfs nfsv3 nfsv4
files=/tmp/files mnt=/mnt/captures keep=/share/keep
mkdir -p $files $mnt $keep
# What every file holds, as far as it goes; tests/golden/known.py makes the same.
for size in 100 5000 40000; do seq -f '%08.0f steering tag' 10000 | head -c $size > $files/lines$size; done

# mount_nfs VERSION ADDRESS PORT
mount_nfs() {
  local options=vers=$1,proto=rdma,port=$3,rsize=32768,wsize=32768 root=/
  [ $1 != 3 ] || root=/export options+=,nolock,mountproto=tcp
  timeout 120 mount -t nfs -o $options $2:$root $mnt || die "mount failed"
}
start_server() {
  fresh_knfsd
  no_grace
  cp $files/* /export
  ln -s "$(printf 't%.0s' {1..900})" /export/link900
}
start_relay() {
  : > /tmp/out
  $STAG relay --transport ${kind}0 --listen $CLIENT:20050 --to $SERVER:20049 "$@" > /tmp/out 2>&1 &
  relay=$!
  listening $relay /tmp/out
}
# The same each time: read, list, write, copy.
workload() {
  ls -l $mnt | wc -l
  readlink $mnt/link900 | wc -c
  for size in 100 5000 40000; do must cmp $files/lines$size $mnt/lines$size; done
  must dd if=$files/lines40000 of=$mnt/written bs=40000 conv=fsync status=none
  forget
  must cmp $files/lines40000 $mnt/written
  must cp $mnt/lines5000 $mnt/copied
  must cmp $files/lines5000 /export/copied
  must rm $mnt/copied
}

for version in 3 4.2; do
  say "NFSv$version"
  start_server
  record udp port 4791 or tcp port 20049
  mount_nfs $version $SERVER 20049
  workload
  must umount $mnt
  recorded $keep/$kind-small-nfs$version.pcap
done

say "NFSv4.1 through stag relay; a delegation is recalled"
start_server
record udp port 4791 or tcp port 20049 or tcp port 20050
start_relay
mount_nfs 4.1 $CLIENT 20050
must cat $mnt/lines100 > /dev/null
exec 9< $mnt/lines5000
echo more >> /export/lines5000
exec 9<&-
forget
must cmp $mnt/lines5000 /export/lines5000
must umount $mnt
kill -INT $relay
wait $relay || fail "stag relay ended with $?: $(cat /tmp/out)"
recorded $keep/$kind-relay-nfs4.1.pcap
grep -qE '^callbacks, server side +[1-9]' /tmp/out || fail "no callback crossed"

say "NFSv3 through stag relay, which spoils handles"
start_server
record udp port 4791 or tcp port 20049 or tcp port 20050
start_relay --fault bad-handle@READ/30
mount_nfs 3 $CLIENT 20050
for size in 100 5000 40000; do must cmp $files/lines$size $mnt/lines$size; done
must umount $mnt
kill -INT $relay
wait $relay || fail "stag relay ended with $?: $(cat /tmp/out)"
recorded $keep/$kind-handles-nfs3.pcap
grep -E ' disturbed by ' /tmp/out
ls -l $keep
finish
