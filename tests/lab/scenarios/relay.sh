#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [PART...]: the kernel's client mounts its server through stag relay, which judges both sides: 3 4.1 latency; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
parts=("${@:2}")
[ ${#parts[@]} -gt 0 ] || parts=(3 4.1 latency)
wire
devices $kind
fresh_knfsd
files=/tmp/files mnt=/mnt/stag
umount -f $mnt 2> /dev/null
rm -rf $files /tmp/relay.out /tmp/relay.err /tmp/both.pcapng
mkdir -p $files $mnt
modprobe -a rpcrdma nfs nfsv3 nfsv4

# The relay stands at the client side of the wire: clients come to it from the server side, and it goes back there.
start_relay() {
  : > /tmp/relay.out
  $STAG relay --transport ${kind}0 --listen $CLIENT:20050 --to $SERVER:20049 "$@" > /tmp/relay.out 2> /tmp/relay.err &
  relay=$!
  listening $relay /tmp/relay.out
}
end_relay() {
  kill -INT $relay
  wait $relay || fail "stag relay ended with $?: $(cat /tmp/relay.out /tmp/relay.err)"
  # Whether --check and --record keep up is the machine's affair.
  said=$(grep -vE '^stag: .* slower than the traffic, which waited ' /tmp/relay.err)
  [ -z "$said" ] || fail "$said"
}

# workload FOLDER: on the mount; its contents are compared with what the server has.
workload() {
  local at=$1
  must mkdir $mnt/$at
  for size in 0 1 3 1000 4097 65536 100001 1000003; do
    head -c $size /dev/urandom > $files/f$size
    must cp $files/f$size $mnt/$at/f$size
  done
  must dd if=$files/f1000003 of=$mnt/$at/direct bs=256K oflag=direct iflag=fullblock status=none
  must dd if=$files/f100001 of=$mnt/$at/pieces bs=33333 conv=fsync status=none
  for i in $(seq 100); do : > $mnt/$at/$(printf 'n%.0s' $(seq 100))$i; done
  must ln -s f3 $mnt/$at/link
  forget
  for size in 0 1 3 1000 4097 65536 100001 1000003; do must cmp $files/f$size $mnt/$at/f$size; done
  must cmp $files/f1000003 $mnt/$at/direct
  must cmp $files/f100001 $mnt/$at/pieces
  must cmp $files/f1000003 /export/$at/f1000003
  [ "$(ls $mnt/$at | grep -c nnn)" = 100 ] || fail "a directory of 100 long names has $(ls $mnt/$at | grep -c nnn)"
  must rm $mnt/$at/nnn*
}

# mounted VERSION: with a workload, and a callback where there are any.
mounted() {
  local version=$1 from=/ options=
  say "NFSv$version"
  start_relay --check --record /tmp/both.pcapng
  [ $version != 3 ] || from=/export options=,mountproto=tcp,nolock
  timeout 120 mount -t nfs -o vers=$version,proto=rdma,port=20050$options $CLIENT:$from $mnt ||
    die "mount failed: $(cat /tmp/relay.out /tmp/relay.err)"
  workload v$version
  if [ $version = 4.1 ]; then
    say "a delegation is recalled: the server calls back"
    must cat $mnt/v4.1/f1000 > /dev/null
    exec 9< $mnt/v4.1/f4097
    echo more >> /export/v4.1/f4097
    exec 9<&-
    forget
    must cmp $mnt/v4.1/f4097 /export/v4.1/f4097
  fi
  must umount $mnt
  end_relay
  grep -E '^(client|server|callbacks)|errors, |rested|^calls|^answers' /tmp/relay.out
  [ $version = 3 ] || grep -qE '^callbacks, server side +[1-9]' /tmp/relay.out || fail "no callback crossed"
}

# reads ADDRESS PORT: milliseconds that the kernel's client takes for a READ of 4 KiB, one at a time.
reads() {
  timeout 120 mount -t nfs -o vers=3,proto=rdma,port=$2,mountproto=tcp,nolock $1:/export $mnt || die "mount failed"
  LC_ALL=C dd if=$mnt/slow of=/dev/null bs=4K iflag=direct 2>&1 | awk '/copied/ { print $(NF - 3) * 1000 / 300 }'
  umount $mnt
}
# At depth 1, direct and through the relay: NULL by stag generate, and READ by the kernel's client.
latency() {
  say "latency of NULL at depth 1: direct, and through the relay"
  start_relay
  load() { $STAG generate "$@" --mode null --depth 1 --calls 1500 --quiet | grep -E '^(operation|NULL)'; }
  load --to $SERVER:20049 --transport ${kind}0
  load --to $CLIENT:20050 --transport ${kind}1
  head -c 1200K /dev/urandom > /export/slow
  for _ in 1 2 3; do echo "READ of 4 KiB: direct $(reads $SERVER 20049) ms, through the relay $(reads $CLIENT 20050) ms"; done
  end_relay
}

for part in "${parts[@]}"; do
  case $part in
    latency) latency ;;
    *) mounted $part ;;
  esac
done
finish
