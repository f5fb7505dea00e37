# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Of the scenario nfs: less common ways to mount, and what NFSv4.1 and 4.2 alone can do. Each variant has a function of its
# name, which mounts and works on $mnt while the wire is recorded; one with the prefix before_ prepares what is not recorded.
# Files hold lines whose contents are known (tests/golden/known.py), so that captures are small, and tell nothing.
VARIANTS=(large credits nconnect ipv6 callbacks copy xattrs krb5i krb5p)

# lines SIZE: the first bytes of `00000001 steering tag` and so on.
lines() { seq -f '%08.0f steering tag' 500000 | head -c "$1"; }
# at_once COUNT COMMAND...: the command with 1, 2, ... as its last argument, all at the same time.
at_once() {
  local pids=() i pid
  for i in $(seq "$1"); do
    "${@:2}" "$i" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || fail "${*:2}, of $1 at once"; done
}
# mount_variant OPTIONS [FROM]
mount_variant() {
  timeout 240 mount -t nfs -o proto=rdma,port=20049,actimeo=600,"$1" "${2:-$SERVER:/}" $mnt && return 0
  tail -n 20 /tmp/kerberos/log 2> /dev/null
  die "mount -o $1 failed"
}
# written FILE OPTION...: by dd, and the server has it. read_back FILE: what the client then reads is the same.
written() {
  must dd if=/tmp/lines of=$mnt/"$1" status=none "${@:2}"
  must cmp /tmp/lines /export/"$1"
}
read_back() {
  forget
  must cmp /tmp/lines $mnt/"$1"
}

# 4 MiB for each READ and WRITE: the server's largest size is a setting; what the client takes is what the kernel can.
before_large() {
  rpc.nfsd 0
  largest=$(cat /proc/fs/nfsd/max_block_size)
  echo $((4 << 20)) > /proc/fs/nfsd/max_block_size
  rpc.nfsd --rdma=20049 8
  lines $((5 << 20)) > /tmp/lines
}
large() {
  mount_variant vers=4.2,rsize=4194304,wsize=4194304
  say "$(grep -o 'rsize=[0-9]*,wsize=[0-9]*' /proc/mounts)"
  written file bs=4M oflag=direct iflag=fullblock
  must cmp <(dd if=$mnt/file bs=4M iflag=direct status=none) /tmp/lines
}
after_large() {
  rpc.nfsd 0
  echo "$largest" > /proc/fs/nfsd/max_block_size
}

# 128 credits, and as many Calls at the same time as they allow: small WRITEs of one file; NFSv3, which has no slots.
before_credits() {
  rpc.nfsd 0
  granted=$(cat /proc/sys/sunrpc/svc_rdma/max_requests)
  echo 128 > /proc/sys/sunrpc/svc_rdma/max_requests
  echo 128 > /proc/sys/sunrpc/rdma_slot_table_entries
  rpc.nfsd --rdma=20049 8
  lines 700001 > /tmp/lines
}
credits() {
  mount_variant vers=3,nolock,mountproto=tcp,rsize=4096,wsize=4096 $SERVER:/export
  written file bs=64K conv=fsync
  read_back file
}
after_credits() {
  $STAG credits "$1" | grep -E 'requested|granted|outstanding  '
  echo "$granted" > /proc/sys/sunrpc/svc_rdma/max_requests
}

# 16 connections of one mount: with NFSv4 over RDMA since Linux 6.10; with NFSv3 else.
before_nconnect() { lines 65537 > /tmp/lines; }
nconnect() {
  mount_variant vers=4.1,nconnect=16
  if ! grep -q 'nconnect=16' /proc/mounts; then
    umount $mnt
    mount_variant vers=3,nolock,mountproto=tcp,nconnect=16 $SERVER:/export
  fi
  grep -o 'vers=[0-9.]*,\|nconnect=[0-9]*' /proc/mounts | paste -sd ' '
  each() { written file"$1" bs=16K conv=fsync; }
  at_once 16 each
  forget
  each() { read_back file"$1"; }
  at_once 16 each
}
after_nconnect() {
  local used
  used=$($STAG connections --format jsonl "$1" | grep -c '"type":"connection"')
  [ "$used" -ge 16 ] || fail "$used connections"
}

before_ipv6() { lines 100001 > /tmp/lines; }
ipv6() {
  timeout 240 mount -t nfs -o vers=4.1,proto=rdma6,port=20049 "[$SERVER6]:/" $mnt || die "mount over IPv6 failed"
  written file bs=16K conv=fsync
  read_back file
}

# The KDC, and what NFS needs of Kerberos on either side; it all ends with the variant: a client that has it uses it for
# every NFSv4.1 mount.
kerberos() {
  local where=/tmp/kerberos
  rm -rf $where
  mkdir -p $where
  hostname client.lab
  printf '127.0.0.1 localhost\n%s client.lab\n%s server.lab\n' $CLIENT $SERVER > /etc/hosts
  cat > /etc/krb5.conf << END
[libdefaults]
  default_realm = LAB
  dns_lookup_kdc = false
  rdns = false
  dns_canonicalize_hostname = false
  permitted_enctypes = aes256-cts-hmac-sha1-96
[realms]
  LAB = {
    kdc = 127.0.0.1:88
  }
[domain_realm]
  .lab = LAB
END
  cat > $where/kdc.conf << END
[realms]
  LAB = {
    database_name = $where/principal
    key_stash_file = $where/stash
    acl_file = $where/acl
    master_key_type = aes256-cts-hmac-sha1-96
    supported_enctypes = aes256-cts-hmac-sha1-96:normal
  }
END
  export KRB5_KDC_PROFILE=$where/kdc.conf
  rm -f /etc/krb5.keytab /tmp/krb5cc*
  kdb5_util create -s -r LAB -P lab > $where/log 2>&1 || die "no Kerberos database: $(cat $where/log)"
  for name in nfs/server.lab nfs/client.lab; do
    kadmin.local -q "addprinc -randkey $name" >> $where/log 2>&1
    kadmin.local -q "ktadd -k /etc/krb5.keytab $name" >> $where/log 2>&1
  done
  modprobe rpcsec_gss_krb5 || die "no kernel module for Kerberos"
  krb5kdc -n >> $where/log 2>&1 &
  rpc.gssd -f -p /var/lib/nfs/rpc_pipefs >> $where/log 2>&1 &
  rpc.svcgssd -f -p nfs/server.lab@LAB >> $where/log 2>&1 &
  sed -i 's/insecure/insecure,sec=sys:krb5:krb5i:krb5p/' /etc/exports
  exportfs -ra
  lines 100001 > /tmp/lines
  sleep 2
}
of_kerberos() {
  mount_variant vers=4.1,sec="$1",rsize=65536,wsize=65536 server.lab:/
  written file bs=64K conv=fsync
  read_back file
  must ls -l $mnt > /dev/null
}
end_kerberos() { pkill -x 'krb5kdc|rpc.gssd|rpc.svcgssd'; }
before_krb5i() { kerberos; }
krb5i() { of_kerberos krb5i; }
after_krb5i() { end_kerberos; }
before_krb5p() { kerberos; }
krb5p() { of_kerberos krb5p; }
after_krb5p() { end_kerberos; }

# Delegations of sixteen files, recalled at once: each an NFSv4.1 callback on the same connection.
before_callbacks() {
  for i in $(seq 16); do lines 5000 > /export/file"$i"; done
}
callbacks() {
  local opened=() i fd
  mount_variant vers=4.1
  for i in $(seq 16); do
    exec {fd}< $mnt/file"$i"
    opened+=("$fd")
    must cmp $mnt/file"$i" /export/file"$i"
  done
  each() { echo more >> /export/file"$1"; }
  at_once 16 each
  for fd in "${opened[@]}"; do exec {fd}<&-; done
  forget
  for i in $(seq 16); do must cmp $mnt/file"$i" /export/file"$i"; done
}
after_callbacks() {
  local recalled
  recalled=$($STAG transactions --format jsonl "$1" | grep -c CB_RECALL)
  [ "$recalled" -ge 8 ] || fail "$recalled delegations were recalled"
  echo "$recalled callbacks"
}

# What NFSv4.2 does with files on the server: COPY (its end told by CB_OFFLOAD, where the server does it meanwhile), CLONE,
# ALLOCATE, DEALLOCATE, SEEK.
before_copy() {
  lines 700001 > /tmp/lines
  cp /tmp/lines /export/from
}
copy() {
  mount_variant vers=4.2,rsize=65536,wsize=65536
  must xfs_io -f -c "copy_range $mnt/from" $mnt/copied
  must cmp /tmp/lines /export/copied
  must cp --reflink=always $mnt/from $mnt/cloned
  must cmp /tmp/lines /export/cloned
  must fallocate -l 1000000 $mnt/allocated
  [ "$(stat -c %s /export/allocated)" = 1000000 ] || fail "ALLOCATE made $(stat -c %s /export/allocated) bytes"
  must fallocate -p -o 65536 -l 131072 $mnt/copied
  must xfs_io -r -c 'seek -h 0' -c 'seek -d 65536' $mnt/copied > /tmp/seek
  [ "$(awk '/^(HOLE|DATA)/ { printf "%s ", $2 }' /tmp/seek)" = "65536 196608 " ] || fail "SEEK found $(cat /tmp/seek)"
}
after_copy() {
  local operation
  for operation in COPY CLONE ALLOCATE DEALLOCATE SEEK; do
    $STAG transactions --format jsonl "$1" | grep -q "\"$operation\"" || fail "no $operation"
  done
  echo "$($STAG transactions --format jsonl "$1" | grep -c CB_OFFLOAD) CB_OFFLOAD"
}

# Extended attributes (RFC 8276), of which a large one needs a Read chunk to be set and a Reply chunk to be read.
before_xattrs() { : > /export/file; }
xattrs() {
  mount_variant vers=4.2
  must setfattr -n user.small -v "steering tag" $mnt/file
  must setfattr -n user.large -v "$(lines 20000)" $mnt/file
  [ "$(getfattr --absolute-names --only-values -n user.large /export/file | cksum)" = "$(lines 20000 | cksum)" ] || fail "another attribute was set"
  umount $mnt # what was set would be remembered
  mount_variant vers=4.2
  [ "$(getfattr --absolute-names --only-values -n user.large $mnt/file | cksum)" = "$(lines 20000 | cksum)" ] || fail "another attribute was read"
  [ "$(getfattr --absolute-names --only-values -n user.small $mnt/file)" = "steering tag" ] || fail "another attribute was read"
  [ "$(getfattr --absolute-names $mnt/file | grep -c ^user)" = 2 ] || fail "not the two attributes are listed"
  must setfattr -x user.small $mnt/file
  [ "$(getfattr --absolute-names /export/file | grep -c ^user)" = 1 ] || fail "an attribute was not removed"
}

# variant NAME: recorded and checked.
variant() {
  local capture=$keep/$kind-$1.pcap known=PVT-006 # docs/divergences.md
  [[ $1 != @(nconnect|callbacks) ]] || known+=,CRED-005 # of callbacks
  say "$1, recorded"
  fresh_knfsd
  no_grace
  ! declare -F before_"$1" > /dev/null || before_"$1"
  record
  $1
  must umount $mnt
  recorded "$capture"
  must $STAG check --ignore $known "$capture" > /tmp/check
  grep -E "errors, |^(error|warning)" /tmp/check
  ! declare -F after_"$1" > /dev/null || after_"$1" "$capture"
}
