#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [FAULT...]: what stag transport counts, beside the kernel's counters; nothing loss reorder duplicate corrupt; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
faults=("${@:2}")
[ ${#faults[@]} -gt 0 ] || faults=(nothing loss reorder duplicate corrupt)
modprobe -a sch_netem nfs nfsv3
files=/tmp/files mnt=/mnt/transport keep=/share/keep
umount -f $mnt 2> /dev/null
rm -rf $keep
mkdir -p $files $mnt $keep
head -c 3000000 /dev/urandom > $files/data

# What the switch does to the packets of both directions, behind the places where they are captured: v0 and v1 show all that
# their side sends, and of the other side what arrives.
declare -A disturb=([nothing]="" [loss]="loss 0.5%" [reorder]="delay 1ms reorder 99%" [duplicate]="duplicate 2%"
  [corrupt]="corrupt 0.5%")
netem() {
  for s in s0 s1; do
    tc qdisc delete dev $s root 2> /dev/null
    [ $# = 0 ] || must tc qdisc add dev $s root netem limit 10000 "$@"
  done
}
# counters FILE: of the devices, and of TCP, on which iWARP stands.
counters() {
  for device in ${kind}0 ${kind}1; do
    for counter in /sys/class/infiniband/$device/ports/1/hw_counters/*; do
      echo "$device ${counter##*/} $(cat $counter)"
    done
  done > $1
  grep ^Tcp: /proc/net/snmp > $1.tcp
}
workload() {
  must cp $files/data $mnt/data
  sync
  echo 3 > /proc/sys/vm/drop_caches
  must cmp $files/data $mnt/data
}

for fault in "${faults[@]}"; do
  say "$fault: ${disturb[$fault]:-undisturbed}"
  wire 1500 switch
  devices $kind
  fresh_knfsd
  counters $keep/$fault.before
  record_ends $keep/$fault
  timeout 120 mount -t nfs -o vers=3,proto=rdma,port=20049,rsize=16384,wsize=16384,nolock,mountproto=tcp $SERVER:/export $mnt ||
    die "mount failed"
  # shellcheck disable=SC2086 # words
  [ -z "${disturb[$fault]}" ] || netem ${disturb[$fault]}
  workload
  netem
  sleep 3
  counters $keep/$fault.after
  recorded_ends
  must umount $mnt
  rpc.nfsd 0
done
ls -l $keep
finish
