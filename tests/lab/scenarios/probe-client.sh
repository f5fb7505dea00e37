#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [PROBE...]: stag probe --listen judges the kernel's NFS client; rxe, siw, siw-soft
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
select=()
[ $# -lt 2 ] || select=(--select "$(IFS=, && echo "${*:2}")")
wire
devices "${kind%-soft}"
[ "$kind" = rxe ] || siw_waits
modprobe -a nfs nfsv3 rpcrdma
transport=${kind}1
[ "$kind" != siw-soft ] || transport=iwarp
mkdir -p /tmp/mnt
# What stag probe --listen exports: the byte at offset i is i mod 251.
for i in $(seq 0 250); do printf "\\x$(printf %02x $i)"; done > /tmp/pattern
for _ in $(seq 13); do cat /tmp/pattern /tmp/pattern > /tmp/twice && mv /tmp/twice /tmp/pattern; done
head -c 100 /tmp/pattern > /tmp/small
truncate -s 1M /tmp/pattern
head -c 100001 /tmp/pattern > /tmp/part
# The work: mount, list, read, write, read again. Each operation is tried to its end, so that a wrong byte is seen behind a failure.
cat > /tmp/work.sh << 'END'
exec 2>&1
failed=0 wrong=0
try() { "$@" || { failed=1; echo "failed: $*"; }; }
# same FILE FILE: equal; that one cannot be read is a failure, and no difference.
same() {
  cmp "$1" "$2" > /tmp/cmp
  case $? in
    0) ;;
    1) wrong=1; cat /tmp/cmp ;;
    *) failed=1; echo "failed: cmp $1 $2" ;;
  esac
}
timeout 60 mount -t nfs -o vers=3,proto=rdma,port=$PORT,mountproto=tcp,mountport=$MOUNT_PORT,nolock,soft,timeo=30,retrans=3,retry=0,rsize=65536,wsize=65536 \
  $ADDR:/ /tmp/mnt || exit 1
trap 'umount -f /tmp/mnt || umount -l /tmp/mnt' EXIT
try ls -l /tmp/mnt > /tmp/listed
for i in 1 2 3; do same /tmp/small /tmp/mnt/file-$i; done
same /tmp/pattern /tmp/mnt/data
try dd if=/tmp/part of=/tmp/mnt/copy bs=64K conv=fsync status=none
try dd if=/tmp/small of=/tmp/mnt/small conv=fsync status=none
try ln -sfn a-target /tmp/mnt/link # may be there: the work is done again
sync
echo 3 > /proc/sys/vm/drop_caches
same /tmp/part /tmp/mnt/copy
same /tmp/small /tmp/mnt/small
target=$(readlink /tmp/mnt/link) || failed=1 # READLINK comes with a Reply chunk
[ "${target:-a-target}" = a-target ] || wrong=1
[ $wrong = 0 ] || exit 3
exit $failed
END
mkdir -p /share/keep
$STAG probe --listen $SERVER:20049 --mount-port 20048 --transport $transport --client-command 'bash /tmp/work.sh' --timeout 120s \
  --settle 200ms --format jsonl --record /tmp/probe.pcapng "${select[@]}" > /share/keep/probe.jsonl 2> /tmp/err
status=$?
cat /tmp/err
[ $status -le 1 ] || fail "stag probe ends with $status"
cp /tmp/probe.pcapng /share/keep
grep -o '"type":"summary".*' /share/keep/probe.jsonl
finish
