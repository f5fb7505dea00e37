#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [FAULT...]: what goes wrong on the way, and no call is lost: restart silence cables down loss poor handle; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
faults=("${@:2}")
[ ${#faults[@]} -gt 0 ] || faults=(nothing restart silence cables down loss poor handle)
# fresh: nothing is left of what went wrong before.
fresh() {
  [ ! -e /proc/fs/nfsd/threads ] || rpc.nfsd 0
  wire 1500 switch
  devices $kind
  fresh_knfsd
}
mnt=/mnt/stag
mkdir -p $mnt
umount -f $mnt 2> /dev/null
modprobe -a nfs nfsv3

# netem OPTION...: what becomes of packets, both ways; without one: nothing.
netem() {
  for v in v0 v1; do
    tc qdisc delete dev $v root 2> /dev/null
    [ $# = 0 ] || tc qdisc add dev $v root netem "$@"
  done
}
# What happens two seconds after a load has begun; netem ends it, if it has not ended by then.
fault_nothing() { :; }
fault_restart() {
  rpc.nfsd 0
  sleep 1
  rpc.nfsd --rdma=20049 8
}
fault_silence() {
  netem loss 100%
  sleep 5
  netem
}
fault_cables() {
  cables down
  sleep 1
  [ "$(cat /sys/class/net/v0/carrier)" = 0 ] || fail "v0 still has a link"
  sleep 4
  cables up
}
fault_down() {
  ip link set v1 down
  sleep 5
  ip link set v1 up
  route
}
fault_loss() { netem loss 1%; }
declare -A what=([nothing]="undisturbed" [restart]="the server is restarted" [silence]="nothing passes for 5 s"
  [cables]="the links are down for 5 s" [down]="the server's network device is set down for 5 s"
  [loss]="one packet of a hundred is lost")
load_options=(--to $SERVER:20049 --transport ${kind}0 --mode nfs3 --export /export --seed 1 --file-size 256K --verify --check)

# field NAME: of the summary in /tmp/out.
field() { grep -E '"type":"(generated|replayed|relayed)"' /tmp/out | grep -o "\"$1\":[0-9]*" | head -n 1 | cut -d : -f 2; }
file_made() { [ -e /export/stag-generate.1.0 ]; }
file_written() { [ "$(stat -c %s /export/stag-generate.1.0 2> /dev/null)" = 262144 ]; }
# during FAULT BEGUN COMMAND...: the command, and the fault two seconds after BEGUN says that it has; it ends, and says what
# it met.
during() {
  local fault=$1 begun=$2
  timeout 120 "${@:3}" --format jsonl > /tmp/out 2> /tmp/err &
  load=$!
  for _ in $(seq 300); do
    ! $begun || break
    sleep 0.1
  done
  sleep 2
  fault_$fault
  wait $load
  status=$?
  netem
  grep -o '"type":"trouble".*' /tmp/out
  [ $status -le 1 ] || die "exit status $status: $(cat /tmp/err /proc/fs/nfsd/portlist)"
  grep -E '"severity":"(error|warning)"' /tmp/out | head -n 3
}
generate_during() {
  say "stag generate, ${what[$1]}"
  during $1 file_written $STAG generate "${load_options[@]}" --rate 60 --calls 600 --reconnect 100
  # What a server that has just started may say, before it knows its exports again.
  later=$(grep -o '"status":"NFS3ERR_JUKEBOX","calls":[0-9]*' /tmp/out | awk -F : '{ n += $NF } END { print n + 0 }')
  [ $later = 0 ] || [ $1 = restart ] || fail "NFS3ERR_JUKEBOX"
  [ "$(field calls) $(field ok) $(field lost) $(field wrong) $(field unsent)" = "600 $((600 - later)) 0 0 0" ] ||
    fail "of 600 calls $(field calls) ended, $(field ok) well, $(field lost) were lost, $(field wrong) wrong, $(field unsent)" \
      "unsent: $(grep -o '"failures":\[[^]]\+\]' /tmp/out)"
  echo "600 calls ended well (but $later NFS3ERR_JUKEBOX), $(field resent) sent again, on $(field connections) connection(s)"
}
replay_during() {
  say "stag replay, ${what[$1]}"
  during $1 file_made $STAG replay /tmp/load.pcapng --to $SERVER:20049 --transport ${kind}0 --export /export \
    --rate 50 --reconnect 100 --check
  [ "$(field sent)" = "$(($(field answered) + $(field lost) + $(field timed_out)))" ] || fail "calls are missing: $(cat /tmp/out)"
  [ "$(($(field lost) + $(field timed_out) + $(field not_sent)))" = 0 ] || fail "calls were lost: $(cat /tmp/out)"
  echo "$(field sent) calls sent, $(field matched) of $(field compared) with the recorded status, $(field resent) sent again," \
    "on $(field connections) connection(s)"
}

poor_settings() {
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
    listening $serve /tmp/out
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
}

# The kernel's client and server with a relay between them that spoils the first handle in the chunks of some calls: the
# server is refused, both connections break, and the client comes back and calls again.
invalid_handles() {
  say "stag relay with invalid handles, the kernel's client and server"
  head -c 1000003 /dev/urandom > /tmp/file
  : > /tmp/out
  $STAG relay --transport ${kind}0 --listen $CLIENT:20050 --to $SERVER:20049 --check --format jsonl \
    --fault bad-handle@READ/7 --fault bad-handle@WRITE/7 > /tmp/out 2> /tmp/err &
  relay=$!
  listening $relay /tmp/out
  if timeout 120 mount -t nfs -o vers=3,proto=rdma,port=20050,mountproto=tcp,nolock,rsize=32768,wsize=32768 $CLIENT:/export $mnt; then
    must dd if=/tmp/file of=$mnt/file bs=64K conv=fsync status=none
    echo 3 > /proc/sys/vm/drop_caches
    must cmp /tmp/file $mnt/file
    must cmp /tmp/file /export/file
    must umount $mnt
  else
    fail "mount failed"
  fi
  kill -INT $relay
  wait $relay || fail "stag relay ended with $?: $(cat /tmp/err)"
  grep -o '"type":"trouble".*' /tmp/out
  [ "$(field faults)" -gt 1 ] || fail "no handle was spoiled: $(cat /tmp/out)"
  [ "$(field calls)" = "$(($(field replies) + $(field errors) + $(field in_flight)))" ] || fail "calls are missing: $(cat /tmp/out)"
  echo "$(field calls) calls on $(field connections) connections, $(field faults) with an invalid handle, $(field replies) answered," \
    "$(field in_flight) lost with their connection"
}

part() {
  fresh
  case $1 in
    poor) poor_settings ;;
    handle) invalid_handles ;;
    *)
      generate_during $1
      replay_during $1
      ;;
  esac
}
fresh
must $STAG generate "${load_options[@]}" --calls 500 --record /tmp/load.pcapng > /tmp/out
parts part "${faults[@]}"
finish
