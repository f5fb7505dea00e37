#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [PROBE...]: stag probe judges the kernel's NFS server; rxe, siw, siw-soft (software iWARP asks)
# Of probes that are named, what the wire carries is kept, too.
. /src/tests/lab/guest/common.sh
. /src/tests/lab/guest/variants.sh
kind=${1:-rxe}
# What can harm other servers, and not this one; without a selection also what costs Linux 6.1 a thread (docs/divergences.md).
harmless=region.large-reply-chunk,callback.unasked-reply,callback.unasked-reply-chunks,callback.unasked-reply-short
harmless+=,callback.reply-xid-in-use,callback.answered-twice
select=(--dangerous $harmless,chunk.empty-segments)
[ $# -lt 2 ] || select=(--dangerous $harmless --select "$(IFS=, && echo "${*:2}")")
wire
devices "${kind%-soft}"
[ "$kind" = rxe ] || siw_waits
fresh_knfsd
no_grace
transport=${kind}0
[ "$kind" != siw-soft ] || transport=iwarp
mkdir -p /share/keep/wire
if [ $# -lt 2 ] || [[ " ${*:2}" == *" gss"* ]]; then
  kerberos
  trap end_kerberos EXIT
  select+=(--keytab /etc/krb5.keytab --principal nfs/client.lab --service nfs@server.lab)
fi
[ $# -lt 2 ] || record udp port 4791 or tcp port 20049
$STAG probe $SERVER:20049 --transport $transport --export /export --nfs4-export / --timeout 10s --format jsonl \
  --record /tmp/probe.pcapng "${select[@]}" > /share/keep/probe.jsonl 2> /tmp/err
status=$?
cat /tmp/err
[ $# -lt 2 ] || recorded /share/keep/wire/$kind-probe.pcap
[ $status -le 1 ] || fail "stag probe ends with $status"
cp /tmp/probe.pcapng /share/keep
grep -o '"type":"summary".*' /share/keep/probe.jsonl
oopses_are_known=1
others=$(oopses | awk '/kernel BUG at lib\/sg_pool.c/ { known = 1; next } known && /Oops: invalid opcode/ { next } 1')
[ -z "$others" ] || fail "the kernel is broken: $others"
[ -z "$(ls /export)" ] || fail "stag probe left files: $(ls /export)"
finish
