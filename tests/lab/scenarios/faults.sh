#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND: what goes wrong on the way: server restarted, silence, packets lost, poor settings; no call is lost; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
wire
devices $kind
fresh_knfsd
mnt=/mnt/stag
mkdir -p $mnt
umount -f $mnt 2> /dev/null
modprobe -a nfs nfsv3

restart_server() {
  rpc.nfsd 0
  sleep 1
  rpc.nfsd --rdma=20049 8
}
# netem OPTION...: what becomes of packets, both ways; without one: nothing.
netem() {
  for v in v0 v1; do
    tc qdisc delete dev $v root 2> /dev/null
    [ $# = 0 ] || tc qdisc add dev $v root netem "$@"
  done
}
silence() {
  netem loss 100%
  sleep 5
  netem
}
lose_packets() { netem loss 1%; }
nothing() { :; }
load_options=(--to $SERVER:20049 --transport ${kind}0 --mode nfs3 --export /export --seed 1 --file-size 256K --verify --check)

# field NAME: of the summary in /tmp/out.
field() { grep -E '"type":"(generated|replayed)"' /tmp/out | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d : -f 2; }
file_made() { [ -e /export/stag-generate.1.0 ]; }
file_written() { [ "$(stat -c %s /export/stag-generate.1.0 2> /dev/null)" = 262144 ]; }
# during FAULT WHAT BEGUN COMMAND...: the command, and the fault two seconds after BEGUN says that it has; it ends, and says
# what it met.
during() {
  local fault=$1 what=$2 begun=$3
  say "$what"
  timeout 120 "${@:4}" --format jsonl > /tmp/out 2> /tmp/err &
  load=$!
  for _ in $(seq 300); do
    ! $begun || break
    sleep 0.1
  done
  sleep 2
  $fault
  wait $load
  status=$?
  [ $status -le 1 ] || fail "exit status $status: $(cat /tmp/err; cat /proc/fs/nfsd/portlist; dmesg | tail -n 15)"
  grep -o '"type":"trouble".*' /tmp/out
  grep -E '"severity":"(error|warning)"' /tmp/out | head -n 3
}
generate_during() {
  during $1 "stag generate, $2" file_written $STAG generate "${load_options[@]}" --rate 60 --calls 600 --reconnect 100
  [ "$(field calls) $(field ok) $(field lost) $(field wrong) $(field unsent)" = "600 600 0 0 0" ] ||
    fail "of 600 calls $(field calls) ended, $(field ok) well, $(field lost) were lost, $(field wrong) wrong, $(field unsent) unsent"
  echo "600 calls ended well, $(field resent) sent again, on $(field connections) connection(s)"
}
replay_during() {
  during $1 "stag replay, $2" file_made $STAG replay /tmp/load.pcapng --to $SERVER:20049 --transport ${kind}0 --export /export \
    --rate 50 --reconnect 100 --check
  [ "$(field sent)" = "$(($(field answered) + $(field lost) + $(field timed_out)))" ] || fail "calls are missing: $(cat /tmp/out)"
  [ "$(($(field lost) + $(field timed_out) + $(field not_sent)))" = 0 ] || fail "calls were lost: $(cat /tmp/out)"
  echo "$(field sent) calls sent, $(field matched) of $(field compared) with the recorded status, $(field resent) sent again," \
    "on $(field connections) connection(s)"
}

must $STAG generate "${load_options[@]}" --calls 500 --record /tmp/load.pcapng > /tmp/out
for fault in "nothing:undisturbed" "restart_server:the server is restarted" "silence:nothing passes for 5 s" \
  "lose_packets:one packet of a hundred is lost"; do
  generate_during ${fault%%:*} "${fault#*:}"
  netem
  replay_during ${fault%%:*} "${fault#*:}"
  netem
done

for poor in "--no-private-data" "--send-size 1024 --receive-size 1024" "--credits 1"; do
  say "stag generate $poor"
  must $STAG generate "${load_options[@]}" --calls 200 $poor > /tmp/out
  grep -E '^all | errors, ' /tmp/out
done
rpc.nfsd 0
head -c 1000003 /dev/urandom > /tmp/file
for poor in "--no-private-data" "--send-size 1024 --receive-size 1024" "--credits 1"; do
  say "stag serve $poor, the kernel's client"
  $STAG serve --mode nfs-memory --transport ${kind}1 --listen $SERVER:20050 --mount-port 20048 --check $poor > /tmp/out 2>&1 &
  serve=$!
  for _ in $(seq 300); do
    ! grep -q '^listening' /tmp/out && kill -0 $serve 2> /dev/null || break
    sleep 0.1
  done
  if timeout 120 mount -t nfs -o vers=3,proto=rdma,port=20050,mountport=20048,mountproto=tcp,nolock $SERVER:/ $mnt; then
    must dd if=/tmp/file of=$mnt/file bs=64K conv=fsync status=none
    echo 3 > /proc/sys/vm/drop_caches
    must cmp /tmp/file $mnt/file
    must umount $mnt
  else
    fail "mount failed"
  fi
  kill -INT $serve
  wait $serve || fail "stag serve ended with $?: $(cat /tmp/out)"
  grep -E ' calls|errors, ' /tmp/out
done
finish
