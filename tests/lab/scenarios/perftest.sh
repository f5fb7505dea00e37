#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [ROUNDS]: Sends, RDMA Writes and Reads of our verbs endpoint beside perftest's, with ratios; rxe, siw
. /src/tests/lab/guest/common.sh
kind=${1:-rxe} rounds=${2:-3}
least=0.3 # of perftest's rate: on an emulated machine that others use, single ratios say little (docs/line-rate.md)
several=2
[ $kind != siw ] || several=1 # with more, perftest's Reads hang over siw
wire
devices $kind

# ours OPERATION SIZE DEPTH CONNECTIONS COUNT: thousands a second.
ours() {
  timeout 120 /build/tests/bench/one_way ${kind}0 ${kind}1 $SERVER "$@" 2> /tmp/ours | awk '{ print $1 / 1000 }'
}
# theirs OPERATION SIZE DEPTH CONNECTIONS COUNT: the same by perftest, which counts in millions.
theirs() {
  local options=(-R -F -N -s $2 -t $3 -q $4 -n $5 --output=message_rate)
  [ $1 != send ] || options+=(-r $((3 * $3)))
  timeout 120 ib_$1_bw -d ${kind}1 "${options[@]}" > /tmp/theirs.server 2>&1 &
  for _ in $(seq 100); do
    rdma resource show cm_id | grep -q 'LISTEN.*:18515' && break
    sleep 0.05
  done
  timeout 60 ib_$1_bw -d ${kind}0 "${options[@]}" $SERVER 2> /tmp/theirs | awk '/^[ 0-9.]+$/ { print $1 * 1000 }'
  kill $! 2> /dev/null
  wait $!
}
# best A B: the larger one.
best() { awk -v a="${1:-0}" -v b="${2:-0}" 'BEGIN { print (b > a ? b : a) }'; }

say "thousands a second, the best of $rounds rounds"
printf '%-6s %7s %6s %12s %10s %10s %6s\n' '' size depth connections perftest stag ratio
while read -r operation size depth connections count; do
  our=0 their=0
  for _ in $(seq $rounds); do
    their=$(best $their "$(theirs $operation $size $depth $connections $count)")
    our=$(best $our "$(ours $operation $size $depth $connections $count)")
  done
  [ $their != 0 ] || die "perftest: $(cat /tmp/theirs /tmp/theirs.server)"
  [ $our != 0 ] || die "one_way: $(cat /tmp/ours)"
  ratio=$(awk -v a=$our -v b=$their 'BEGIN { printf "%.2f", a / b }')
  printf '%-6s %7s %6s %12s %10.3f %10.3f %6s\n' $operation $size $depth $connections $their $our $ratio
  awk "BEGIN { exit !($ratio < $least) }" && fail "$operation of $size: $ratio of perftest"
done << LOADS
send 64 32 1 10000
send 4096 32 $several 3000
send 65536 32 1 400
write 64 32 1 10000
write 4096 32 $several 3000
write 65536 32 1 400
read 64 32 1 10000
read 4096 32 $several 3000
read 65536 32 1 400
LOADS
finish
