#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [TRANSPORT]: the Linux client mounts stag serve --mode nfs-memory; rxe, siw, or siw iwarp (software iWARP serves)
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
wire
devices $kind
transport=${2:-${kind}1}
say "the kernel's client over $kind, stag serve by $transport"
$STAG serve --mode nfs-memory --transport $transport --listen $SERVER:20049 --mount-port 20048 --file data=3M --check \
  > /tmp/serve.out 2>&1 &
serve=$!
for _ in $(seq 300); do
  ! grep -q '^listening' /tmp/serve.out || break
  kill -0 $serve 2> /dev/null || break
  sleep 0.1
done
grep -q '^listening' /tmp/serve.out || { cat /tmp/serve.out; die "stag serve does not listen"; }
capture /tmp/serve.pcap
nfs_mount 3 / mountport=20048
# The byte at offset i is i mod 251.
pattern() { for i in $(seq 0 250); do printf "\\x$(printf %02x $i)"; done; }
pattern > /tmp/pattern
for _ in $(seq 13); do cat /tmp/pattern; done > /tmp/pattern13
must cmp -n 3000 /tmp/pattern13 /mnt/data
[ "$(stat -c %s /mnt/data)" = 3145728 ] || fail "data has $(stat -c %s /mnt/data) bytes"
workload /mnt
umount /mnt || fail "umount"
capture_done
kill -INT $serve
wait $serve || fail "stag serve ended with $?"
cat /tmp/serve.out
must $STAG check /tmp/serve.pcap
finish
