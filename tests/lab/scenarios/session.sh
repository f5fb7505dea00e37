#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [VERSION [MEGABYTES]]: a long session of small calls (attributes, names, small files), kept, as large as that; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe} version=${2:-3} megabytes=${3:-150}
wire
devices $kind
modprobe -a nfs nfsv3 nfsv4
mnt=/mnt/session keep=/share/keep
mkdir -p $mnt $keep
fresh_knfsd
no_grace
for d in $(seq 40); do
  mkdir /export/d$d
  for f in $(seq 50); do echo "file $f of $d" > /export/d$d/f$f; done
done
record udp port 4791 or tcp port 20049
options=vers=$version,proto=rdma,port=20049,actimeo=0
root=/
[ $version != 3 ] || root=/export options+=,nolock,mountproto=tcp
timeout 120 mount -t nfs -o $options $SERVER:$root $mnt || die "mount failed"

# work NAME: attributes, names and small files until there is enough.
work() {
  while [ ! -e /tmp/enough ]; do
    for d in $(seq 40); do
      ls -l $mnt/d$d > /dev/null 2>&1 # another worker removes names
      cat $mnt/d$d/f* > /dev/null
      echo "$1 $d" > $mnt/d$d/of-$1
      rm $mnt/d$d/of-$1
    done
  done
}
rm -f /tmp/enough
for name in a b c; do work $name & workers+=" $!"; done
while [ $(stat -c %s /tmp/wire.pcap) -lt ${megabytes}000000 ]; do sleep 2; done
touch /tmp/enough
wait $workers
must umount $mnt
recorded $keep/$kind-session-nfs$version.pcap
ls -l $keep
finish
