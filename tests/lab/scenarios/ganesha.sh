#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [PART...]: nfs-ganesha: the kernel mounts it; stag relay, generate, replay, probe: mount relay load replay probe; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
parts=("${@:2}")
[ ${#parts[@]} -gt 0 ] || parts=(mount relay load replay probe)
wire
devices $kind
[ -x /usr/bin/ganesha.nfsd ] || tar -C / --keep-directory-symlink -xf /share/ganesha.tar
ldconfig
fresh_export
modprobe -a nfs nfsv3 nfsv4
files=/tmp/files mnt=/tmp/mnt keep=/share/keep
mkdir -p $files $mnt $keep /var/lib/nfs/ganesha /var/run/ganesha
echo "nfs-ganesha $(cat /ganesha-version)" > $keep/peer
say "$(cat $keep/peer)"
# It acts as its users, and the software devices refuse a doorbell of a process whose credentials have changed
# (docs/divergences.md): so it has one user. Each connection takes 1 MiB for a credit.
cat > /tmp/ganesha.conf << 'END'
NFS_CORE_PARAM {
  Protocols = 3, 4, NFSRDMA;
  NFS_RDMA_Port = 20049;
  NFS_RDMA_Protocol_Versions = ALL;
  MaxRPCRdmaCredits = 16;
  MNT_Port = 20048;
  Enable_NLM = false;
  Enable_RQUOTA = false;
}
NFSV4 { Graceless = true; RecoveryBackend = fs; }
VFS { only_one_user = true; }
EXPORT {
  Export_Id = 1;
  Path = /export;
  Pseudo = /export;
  Access_Type = RW;
  Squash = No_Root_Squash;
  Protocols = 3, 4;
  Transports = TCP;
  SecType = sys;
  FSAL { Name = VFS; }
}
END
# start_ganesha, end_ganesha: it listens; it is killed, if it has not died by itself.
start_ganesha() {
  /usr/bin/ganesha.nfsd -F -f /tmp/ganesha.conf -N NIV_WARN -L $keep/ganesha.log -p /tmp/ganesha.pid > /tmp/ganesha.out 2>&1 &
  ganesha=$!
  for _ in $(seq 300); do
    ! rdma resource show cm_id | grep -q 'LISTEN.*:20049' || return 0
    kill -0 $ganesha 2> /dev/null || break
    sleep 0.2
  done
  die "nfs-ganesha does not listen: $(cat /tmp/ganesha.out; tail -n 20 $keep/ganesha.log)"
}
alive() { kill -0 $ganesha 2> /dev/null; }
# must_live WHEN: else it is started again.
must_live() {
  alive && return 0
  fail "nfs-ganesha died: $1: $(tail -n 5 $keep/ganesha.log)"
  start_ganesha
}
mount_ganesha() { # VERSION [ADDRESS PORT]
  local options=vers=$1,proto=rdma,port=${3:-20049},rsize=65536,wsize=65536,soft,timeo=100,retrans=2,retry=0
  [ $1 != 3 ] || options+=,nolock,mountproto=tcp,mountport=20048
  timeout 120 mount -t nfs -o $options ${2:-$SERVER}:/export $mnt
}
sizes="0 1 3 1000 4097 65536 100001 1000003"
for size in $sizes; do head -c $size /dev/urandom > $files/f$size; done
# populate: what it serves at first.
populate() {
  rm -rf /export/*
  for size in $sizes; do cp $files/f$size /export; done
  mkdir /export/many
  for i in $(seq 100); do : > /export/many/$(printf 'n%.0s' $(seq 100))$i; done
  ln -s "$(printf 't%.0s' {1..900})" /export/link900
}
workload() {
  for size in $sizes; do must cmp $files/f$size $mnt/f$size; done
  must dd if=$mnt/f1000003 of=/dev/null bs=5001 skip=3 count=3 iflag=direct status=none
  [ "$(ls $mnt/many | wc -l)" = 100 ] || fail "a directory of 100 long names has $(ls $mnt/many | wc -l)"
  [ "$(readlink $mnt/link900 | wc -c)" = 901 ] || fail "a link of 900 bytes is another one"
  must mkdir $mnt/new
  for size in $sizes; do must dd if=$files/f$size of=$mnt/new/f$size bs=64K conv=fsync status=none; done
  for size in $sizes; do must cmp $files/f$size /export/new/f$size; done
  forget
  for size in $sizes; do must cmp $files/f$size $mnt/new/f$size; done
  must mv $mnt/new/f3 $mnt/new/moved
  must ln -s moved $mnt/new/soft
  must rm $mnt/new/f1000
}
# ended: not mounted any more.
ended() { timeout 60 umount -f $mnt || umount -l $mnt; }
# load NAME OPTION...: of stag generate.
load() {
  $STAG generate --to $SERVER:20049 --transport ${kind}0 --seed 1 --check "${@:2}" > /tmp/load 2>&1 ||
    fail "stag generate, $1 ($?): $(cat /tmp/load)"
  grep -E '^(all|verified) | of load | errors, ' /tmp/load
  must_live "under stag generate, $1"
}
pidof -q rpcbind || rpcbind -w || die "rpcbind does not start"
part() {
  start_ganesha
  case $1 in
    mount)
      for version in 3 4.0; do # it refuses 4.1 over RDMA
        say "the kernel's client, NFSv$version"
        populate
        record
        if mount_ganesha $version; then
          workload
          ended
        else
          fail "NFSv$version is not mounted"
        fi
        recorded $keep/$kind-ganesha-nfs$version.pcap
        must_live "while it was mounted with NFSv$version"
      done
      ;;
    relay)
      say "the kernel's client through stag relay"
      populate
      $STAG relay --transport ${kind}0 --listen $CLIENT:20050 --to $SERVER:20049 --check > /tmp/relay.out 2>&1 &
      relay=$!
      listening $relay /tmp/relay.out
      if mount_ganesha 4.0 $CLIENT 20050; then
        workload
        ended
      else
        fail "not mounted through stag relay"
      fi
      kill -INT $relay
      wait $relay
      status=$? # 1: --check has found what it finds without a relay, too
      [ $status -le 1 ] || fail "stag relay ended with $status: $(cat /tmp/relay.out)"
      grep -E '^(client|server)|errors, |^calls|^answers' /tmp/relay.out
      must_live "behind stag relay"
      ;;
    load)
      say "stag generate"
      load null --mode null --calls 400 --depth 8
      load nfs3 --mode nfs3 --export /export --mount-port 20048 --file-size 1M --verify --calls 200 --depth 8
      ;;
    replay)
      for version in 3 4.0; do
        say "stag replay, NFSv$version"
        populate
        root=()
        [ $version != 3 ] || root=(--export /export --mount-port 20048)
        must $STAG replay $keep/$kind-ganesha-nfs$version.pcap --to $SERVER:20049 --transport ${kind}0 "${root[@]}" \
          --expect-match 99 > /tmp/replay 2>&1
        grep -E '^(stag: |differs: |trouble)| calls sent| errors, ' /tmp/replay
        must_live "under stag replay"
      done
      ;;
    probe)
      say "stag probe"
      populate
      # It keeps in the kernel what each connection had that ended: a new server for every few probes, or the machine has no
      # memory; and after each that it dies of.
      $STAG probe --list | awk '/^[a-z0-9]+\.[a-z0-9-]+ / { print $1 }' > /tmp/left
      : > $keep/probe.jsonl
      while [ -s /tmp/left ]; do
        kill -9 $ganesha 2> /dev/null
        wait $ganesha 2> /dev/null
        start_ganesha
        $STAG probe $SERVER:20049 --transport ${kind}0 --export /export --mount-port 20048 --nfs4-export /export --timeout 6s \
          --format jsonl --select "$(head -n 6 /tmp/left | paste -sd ,)" > /tmp/probe.jsonl 2> /tmp/err
        status=$?
        grep '"type":"probe"' /tmp/probe.jsonl >> $keep/probe.jsonl
        grep -o '"id":"[^"]*"' /tmp/probe.jsonl | cut -d '"' -f 4 > /tmp/judged
        if alive; then
          [ $status -le 1 ] || fail "stag probe ended with $status: $(cat /tmp/err)"
          head -n 6 /tmp/left >> /tmp/judged
        else
          echo "nfs-ganesha dies of $(tail -n 1 /tmp/judged)"
          rm -f /export/stag-probe.*
        fi
        [ -s /tmp/judged ] || die "no probe was judged: $(cat /tmp/err)"
        grep -vxFf /tmp/judged /tmp/left > /tmp/still
        mv /tmp/still /tmp/left
      done
      ;;
  esac
  kill $ganesha
  wait $ganesha
}
parts part "${parts[@]}"
finish
