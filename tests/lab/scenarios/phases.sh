#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND: a delay of one direction of the wire is in the phase of READ and WRITE that it belongs to, and in no other; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
modprobe -a sch_netem nfs nfsv3
mnt=/mnt/phases keep=/share/keep
umount -f $mnt 2> /dev/null
rm -rf $keep
mkdir -p $mnt $keep

wire 1500 switch
devices "$kind"
fresh_knfsd
timeout 120 mount -t nfs -o vers=3,proto=rdma,port=20049,rsize=8192,wsize=8192,nolock,mountproto=tcp $SERVER:/export $mnt ||
  die "mount failed"
must dd if=/dev/urandom of=$mnt/data bs=8k count=24 oflag=direct status=none

# What a port of the switch delays is behind v0 and v1, where packets are captured: s0 sends to the client, s1 to the server.
for delayed in none s0 s1; do
  say "delayed: $delayed"
  record_ends $keep/$delayed
  [ $delayed = none ] || must tc qdisc add dev $delayed root netem delay 60ms limit 10000
  must dd if=$mnt/data of=/dev/null bs=8k iflag=direct status=none
  must dd if=/dev/zero of=$mnt/data bs=8k count=24 oflag=direct conv=notrunc status=none
  [ $delayed = none ] || must tc qdisc delete dev $delayed root
  sleep 1
  recorded_ends
done
must umount $mnt
rpc.nfsd 0
finish
