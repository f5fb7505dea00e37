#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND: stag probe against the kernel's NFS server fails where docs/divergences.md says; rxe, siw, siw-soft (software iWARP)
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
wire
devices "${kind%-soft}"
fresh_knfsd
transport=${kind}0
[ "$kind" != siw-soft ] || transport=iwarp
$STAG probe $SERVER:20049 --transport $transport --export /export --timeout 10s > /tmp/probe 2>&1
status=$?
grep -v '^passed' /tmp/probe
[ $status = 1 ] || fail "stag probe ends with $status"
known="header.nomsg-without-chunks header.xid-mismatch header.short chunk.empty-write-chunk chunk.empty-segments
       chunk.empty-reply-chunk chunk.no-reply-chunk nfs3.write-long-reduced nfs3.read-empty-chunk nfs3.not-eligible"
found=$(sed -n 's/^failed  *\([^ ]*\).*/\1/p' /tmp/probe)
[ "$(echo $found)" = "$(echo $known)" ] || fail "other probes fail than are known: $(echo $found)"
# chunk.empty-segments: docs/divergences.md.
oopses_are_known=1
[ -z "$(oopses | grep -v 'kernel BUG at lib/sg_pool.c')" ] || fail "the kernel is broken: $(oopses)"
[ -z "$(ls /export)" ] || fail "stag probe left files: $(ls /export)"
finish
