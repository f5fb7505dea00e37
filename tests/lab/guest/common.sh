# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What scenarios have in common. The machine has a wire: the network devices v0 (10.9.0.1, fd09::1) and v1 (10.9.0.2),
# joined by a veth pair, with rules that send what goes from one to the other over it, and not around: what RDMA devices
# on them say can be captured on v0. The client side is 10.9.0.1, the server side 10.9.0.2.
set -uo pipefail
CLIENT=10.9.0.1 SERVER=10.9.0.2
CLIENT6=fd09::1 SERVER6=fd09::2
STAG=/build/cli/stag WIRE=v0
failures=0

# begin: ends what is left of the scenario before: its processes, mounts and files, and the kernel's NFS server.
begin() {
  [ ! -e /run/scenario ] || pkill -KILL -s "$(cat /run/scenario)"
  echo $$ > /run/scenario
  umount -aflt nfs,nfs4
  if mountpoint -q /proc/fs/nfsd; then
    rpc.nfsd 0
    exportfs -ua
  fi
  ! mountpoint -q /export || umount -R /export
  rm -rf /tmp/* /share/keep
  dmesg -C
  sysctl -qw fs.leases-enable=1
  hostname lab
}

say() { printf -- '-- %s\n' "$*"; }
# fail TEXT: noted; the scenario goes on.
fail() {
  failures=$((failures + 1))
  printf -- '!! %s\n' "$*"
}
# must COMMAND...: fails when the command does.
must() { "$@" || fail "$* ($?)"; }
# die TEXT: the scenario cannot go on.
die() {
  printf -- '!! %s\n' "$*"
  dmesg | tail -n 5
  exit 1
}
# oopses: what the kernel said of itself since the scenario began; such a machine is not used again (lab.py).
oopses() { dmesg | grep -E 'kernel BUG|BUG: |Oops: |soft lockup|hung_task|blocked for more than'; }
finish() {
  [ -n "${oopses_are_known:-}" ] || ! oopses || fail "the kernel is broken"
  [ $failures -eq 0 ] || die "$failures failures"
  exit 0
}

# parts FUNCTION PART...: FUNCTION with each of the parts, in a shell of its own: what one dies of, or leaves, the next does not meet.
# Those that fail are named in /share/keep/failed, and so is one that does not end; what was recorded until then is kept in
# /share/keep/wire.
parts() {
  local part
  mkdir -p /share/keep/wire
  for part in "${@:2}"; do
    echo "${part##*/}" >> /share/keep/failed
    (
      trap 'umount -aflt nfs,nfs4; ! pkill -x tcpdump || sleep 1; kill -KILL $(jobs -p) 2> /dev/null' EXIT
      failures=0
      "$1" "$part"
      [ $failures -eq 0 ]
    ) && sed -i '$d' /share/keep/failed && continue
    fail "the part $part"
    [ ! -e /tmp/wire.pcap ] || mv /tmp/wire.pcap "/share/keep/wire/$part.pcap"
  done
}

# listening PID FILE: waits until the program says in its output that it listens, or ends.
listening() {
  for _ in $(seq 300); do
    ! grep -q '^listening' "$2" && kill -0 "$1" 2> /dev/null || break
    sleep 0.1
  done
}

# forget: what is asked of the server from here on is not what the client remembers.
forget() {
  sync
  echo 3 > /proc/sys/vm/drop_caches
}
# record FILTER..., recorded FILE: what the wire carries between them, in the file.
record() {
  rm -f /tmp/tcpdump
  tcpdump -i $WIRE -B 131072 --time-stamp-precision=nano -w /tmp/wire.pcap "$@" 2> /tmp/tcpdump &
  tcpdump=$!
  for _ in $(seq 300); do
    ! grep -qs 'listening on' /tmp/tcpdump || break
    sleep 0.1
  done
}
recorded() {
  sleep 1
  kill $tcpdump
  wait $tcpdump
  grep -q '^0 packets dropped' /tmp/tcpdump || fail "tcpdump: $(cat /tmp/tcpdump)"
  mv /tmp/wire.pcap "$1"
}

# record_ends PREFIX, recorded_ends: what passes each end of the wire, in PREFIX-v0.pcap and PREFIX-v1.pcap. Nothing else runs in
# the background meanwhile.
record_ends() {
  for v in v0 v1; do
    rm -f /tmp/tcpdump.$v
    tcpdump -i $v -B 65536 --time-stamp-precision=nano -w "$1-$v.pcap" udp port 4791 or tcp port 20049 2> /tmp/tcpdump.$v &
  done
  for v in v0 v1; do
    for _ in $(seq 300); do ! grep -qs 'listening on' /tmp/tcpdump.$v || break; sleep 0.1; done
  done
}
recorded_ends() {
  pkill -INT -x tcpdump
  wait $(jobs -p)
  for v in v0 v1; do
    grep -q '^0 packets dropped' /tmp/tcpdump.$v || fail "tcpdump: $(cat /tmp/tcpdump.$v)"
  done
}

# route: what a link loses when it goes down.
route() {
  ip neigh replace $SERVER lladdr "$(cat /sys/class/net/v1/address)" dev v0 nud permanent
  ip neigh replace $CLIENT lladdr "$(cat /sys/class/net/v0/address)" dev v1 nud permanent
  ip route replace $SERVER/32 dev v0 src $CLIENT table 101
  ip route replace $CLIENT/32 dev v1 src $SERVER table 102
}

# wire [MTU [switch]]: makes it anew; with a switch between its ends, which has the ports s0 and s1 (see cables).
wire() {
  modprobe veth
  for v in v0 v1 switch; do ip link delete $v; done 2> /dev/null
  for pref in 1 2 3 4 100; do ip rule delete pref $pref 2> /dev/null; done
  if [ "${2:-}" = switch ]; then
    modprobe bridge
    ip link add switch type bridge
    ip link set switch up
    for i in 0 1; do
      ip link add v$i type veth peer name s$i
      sysctl -qw net.ipv6.conf.s$i.disable_ipv6=1
      ip link set s$i up mtu "${1:-1500}" master switch
    done
  else
    ip link add v0 type veth peer name v1
  fi
  sysctl -qw net.ipv4.conf.all.rp_filter=0
  for v in v0 v1; do
    sysctl -qw net.ipv4.conf.$v.accept_local=1 net.ipv4.conf.$v.rp_filter=0 net.ipv6.conf.$v.disable_ipv6=1
    ethtool -K $v tso off gso off gro off tx off rx off > /dev/null 2>&1
    ip link set $v up mtu "${1:-1500}"
  done
  # A wire keeps packets in order: one processor each for what arrives, whichever processor sent it.
  echo 1 > /sys/class/net/v1/queues/rx-0/rps_cpus
  echo 2 > /sys/class/net/v0/queues/rx-0/rps_cpus
  ip addr add $CLIENT/32 dev v0
  ip addr add $SERVER/32 dev v1
  route
  ip rule add pref 1 iif v0 lookup local # what arrives is for this machine
  ip rule add pref 2 iif v1 lookup local
  ip rule add pref 3 to $SERVER lookup 101 # what leaves takes the wire
  ip rule add pref 4 to $CLIENT lookup 102
  ip rule add pref 100 lookup local
  ip rule delete pref 0 2> /dev/null
  ping -q -c 1 -W 5 -I $CLIENT $SERVER > /dev/null || die "the wire does not work"
}

# wire6: IPv6 on the wire as well.
wire6() {
  for v in v0 v1; do sysctl -qw net.ipv6.conf.$v.disable_ipv6=0 net.ipv6.conf.$v.accept_ra=0; done
  for pref in 1 2 3 4 100; do ip -6 rule delete pref $pref 2> /dev/null; done
  ip -6 addr add $CLIENT6/128 dev v0 nodad
  ip -6 addr add $SERVER6/128 dev v1 nodad
  ip -6 neigh replace $SERVER6 lladdr "$(cat /sys/class/net/v1/address)" dev v0 nud permanent
  ip -6 neigh replace $CLIENT6 lladdr "$(cat /sys/class/net/v0/address)" dev v1 nud permanent
  ip -6 route replace $SERVER6/128 dev v0 src $CLIENT6 table 101
  ip -6 route replace $CLIENT6/128 dev v1 src $SERVER6 table 102
  ip -6 rule add pref 1 iif v0 lookup local
  ip -6 rule add pref 2 iif v1 lookup local
  ip -6 rule add pref 3 to $SERVER6 lookup 101
  ip -6 rule add pref 4 to $CLIENT6 lookup 102
  ip -6 rule add pref 100 lookup local
  ip -6 rule delete pref 0 2> /dev/null
  ping -q -c 1 -W 5 -I $CLIENT6 $SERVER6 > /dev/null || die "the wire does not work with IPv6"
}

# cables down|up: pulled out of the switch, or in again; the devices see their links go.
cables() {
  for i in 0 1; do ip link set s$i "$1"; done
}

# devices rxe|siw: RDMA devices ${1}0 at the client side and ${1}1 at the server side, in place of others.
devices() {
  modprobe -a rdma_ucm ib_uverbs "$([ "$1" = rxe ] && echo rdma_rxe || echo siw)" || die "no kernel module for $1"
  for device in /sys/class/infiniband/*; do [ ! -e "$device" ] || rdma link delete "${device##*/}"; done
  rdma link add "${1}0" type "$1" netdev v0 && rdma link add "${1}1" type "$1" netdev v1 || die "no $1 devices"
  for _ in $(seq 100); do
    [ "$(grep -l ACTIVE /sys/class/infiniband/*/ports/1/state | wc -l)" != 2 ] || return 0
    sleep 0.1
  done
  die "the $1 devices do not become active"
}

# siw_waits: siw answers a connection before it looks for what comes on it (siw_accept in siw_cm.c), and what comes between lies
# there until more does. What the server side says takes 3 ms from here on, and the client side asks later.
siw_waits() {
  modprobe sch_netem
  tc qdisc replace dev v1 root netem delay 3ms limit 100000 || die "no delay"
}

# fresh_export: an empty file system at /export.
fresh_export() {
  modprobe -a loop xfs || die "no kernel modules for xfs"
  mkdir -p /export /run/rpcbind
  ! mountpoint -q /export || umount /export || die "/export is in use"
  rm -f /tmp/export.xfs
  truncate -s 1500M /tmp/export.xfs
  mkfs.xfs -q /tmp/export.xfs && mount -o loop /tmp/export.xfs /export || die "no file system to export"
  chmod 777 /export
}
# fresh_knfsd: the kernel's server, with an empty /export, over RDMA at port 20049; in place of one that runs.
fresh_knfsd() {
  modprobe -a nfsd rpcrdma || die "no kernel modules for knfsd"
  mkdir -p /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
  mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
  mountpoint -q /var/lib/nfs/rpc_pipefs || mount -t rpc_pipefs pipes /var/lib/nfs/rpc_pipefs
  rpc.nfsd 0
  exportfs -ua
  fresh_export
  echo '/export *(rw,no_root_squash,no_subtree_check,insecure,fsid=0,async)' > /etc/exports
  pidof -q rpcbind || rpcbind -w || die "rpcbind does not start"
  pidof -q rpc.mountd || rpc.mountd || die "rpc.mountd does not start"
  echo 10 > /proc/fs/nfsd/nfsv4gracetime
  for name in nlm_timeout nlm_grace_period; do echo 3 > /proc/sys/fs/nfs/$name; done # its grace period, seconds
  exportfs -ra
  rpc.nfsd --rdma=20049 8 || die "knfsd does not start"
  grep -q 'rdma 20049' /proc/fs/nfsd/portlist || die "knfsd does not listen for RDMA"
}
# no_grace: the server waits no more for clients of an earlier life. While it does, or lockd, it gives no delegations.
no_grace() {
  for _ in $(seq 20); do ! echo Y > /proc/fs/nfsd/v4_end_grace || break; sleep 0.5; done 2> /dev/null
  sleep 4
}

begin
