#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND [VERSION...]: client and server in machines of their own, whose kernels may differ (--client-kernel); rxe, siw
. /src/tests/lab/guest/common.sh
. /src/tests/lab/guest/variants.sh
kind=${1:-rxe}
versions=("${@:2}")
[ ${#versions[@]} -gt 0 ] || versions=(3 4.1 4.2)
mnt=/mnt/nfs keep=/share/keep WIRE=eth0
mkdir -p /peer $mnt $keep
mountpoint -q /peer || mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none peer /peer || die "no other machine"
# at_server COMMAND...: runs in the server's machine, which takes orders as this one does.
at_server() {
  local order
  order=/peer/$(date +%s%N)
  echo "$*" > $order.part
  mv $order.part $order.order
  until [ -e $order.status ]; do sleep 0.2; done
  cat $order.out
  return "$(cat $order.status)"
}
# end_of_wire ADDRESS: this machine's network device, and the RDMA device on it.
end_of_wire() {
  ethtool -K eth0 tso off gso off gro off > /dev/null 2>&1
  ip addr replace "$1/24" dev eth0
  ip link set eth0 up
  modprobe -a rdma_ucm ib_uverbs "$([ $kind = rxe ] && echo rdma_rxe || echo siw)" || die "no kernel module for $kind"
  rdma link delete ${kind}0 2> /dev/null
  rdma link add ${kind}0 type $kind netdev eth0 || die "no $kind device"
}
at_server ". /src/tests/lab/guest/common.sh; . /src/tests/lab/guest/variants.sh; kind=$kind; $(declare -f end_of_wire)
  end_of_wire $SERVER; fresh_knfsd; for size in 100 5000 300007; do lines \$size > /export/old\$size; done
  ln -s $(printf 't%.0s' {1..900}) /export/link900; chmod -R a+rwX /export; hostname server
  no_grace; finish" ||
  die "the server does not start"
end_of_wire $CLIENT
modprobe -a nfs nfsv3 nfsv4
must ping -q -c 3 $SERVER > /dev/null
say "client $(uname -r), server $(at_server uname -r)"

for version in "${versions[@]}"; do
  capture=$keep/$kind-apart-nfs$version.pcap
  say "NFSv$version"
  record
  options=vers=$version,proto=rdma,port=20049,rsize=65536,wsize=65536 root=/
  [ $version != 3 ] || root=/export options+=,nolock,mountproto=tcp
  timeout 240 mount -t nfs -o $options $SERVER:$root $mnt || die "mount failed"
  for size in 100 5000 300007; do must cmp <(lines $size) $mnt/old$size; done
  [ "$(readlink $mnt/link900 | wc -c)" = 901 ] || fail "a link of 900 bytes is another one"
  must mkdir $mnt/new$version
  for size in 0 1 4097 100001; do
    lines $size > /tmp/lines
    must dd if=/tmp/lines of=$mnt/new$version/f$size bs=64K conv=fsync status=none
    [ "$(at_server "cksum < /export/new$version/f$size")" = "$(cksum < /tmp/lines)" ] || fail "the server has another file of $size bytes"
  done
  forget
  for size in 0 1 4097 100001; do must cmp <(lines $size) $mnt/new$version/f$size; done
  if [ $version != 3 ]; then
    exec 9< $mnt/new$version/f4097 # with a delegation, which is recalled
    at_server "echo more >> /export/new$version/f4097"
    exec 9<&-
    forget
    [ "$(at_server "cksum < /export/new$version/f4097")" = "$(cksum < $mnt/new$version/f4097)" ] || fail "the client has an old file"
  fi
  must ls -l $mnt/new$version > /dev/null
  must rm $mnt/new$version/f1
  must umount $mnt
  recorded $capture
  must $STAG check --ignore PVT-006 $capture > /tmp/check
  grep -E "errors, |^(error|warning)" /tmp/check
done
finish
