#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND: stag generate --mode nfs3 and nfs4 against the kernel's NFS server, every byte and message checked; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
wire
devices $kind
fresh_knfsd
# load NAME OPTION...: of stag generate.
load() {
  say "$1"
  shift
  $STAG generate --to $SERVER:20049 --transport ${kind}0 --seed 1 --file-size 1M --verify --check "$@" \
    > /tmp/load 2>&1 || fail "stag generate $* ($?): $(cat /tmp/load)"
  grep -E '^(all|verified) | of load | errors, ' /tmp/load
}
load "NFSv3" --mode nfs3 --export /export --calls 400 --mix read=50,write=30,getattr=10,lookup=5,readdirplus=5
load "NFSv3, up to the largest size" --mode nfs3 --export /export --calls 40 --size 1-256K --connections 2 --depth 4
load "NFSv4.1" --mode nfs4 --calls 400
load "NFSv4.1, up to the largest size" --mode nfs4 --calls 40 --size 1-256K --connections 2 --depth 4
[ -z "$(ls /export)" ] || fail "stag generate left files: $(ls /export)"
finish
