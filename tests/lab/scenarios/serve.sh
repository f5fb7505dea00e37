#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND: the kernel's NFS client mounts stag serve --mode nfs-memory; rxe, siw, or siw-soft (software iWARP serves)
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
wire
case $kind in
  rxe | siw) device=$kind transport=${kind}1 ;;
  siw-soft) device=siw transport=iwarp ;;
  *) die "there is no kind $kind" ;;
esac
devices $device
files=/tmp/files mnt=/mnt/stag
umount -f $mnt 2> /dev/null
rm -rf $files /tmp/back /tmp/serve.out
mkdir -p $files/tree/deep $mnt
say "stag serve by $transport"
$STAG serve --mode nfs-memory --transport $transport --listen $SERVER:20050 --mount-port 20048 --file data=3M --check \
  > /tmp/serve.out 2>&1 &
serve=$!
listening $serve /tmp/serve.out
modprobe -a rpcrdma nfs nfsv3
timeout 120 mount -t nfs -o vers=3,proto=rdma,port=20050,mountport=20048,mountproto=tcp,nolock $SERVER:/ $mnt ||
  die "mount failed: $(cat /tmp/serve.out)"
say "$(grep " $mnt " /proc/mounts)"

say "a file that the server had: the byte at offset i is i mod 251"
for i in $(seq 0 250); do printf "\\x$(printf %02x $i)"; done > $files/data
for _ in $(seq 14); do cat $files/data $files/data > $files/twice && mv $files/twice $files/data; done
truncate -s 3M $files/data
must cmp $files/data $mnt/data

say "cp, dd"
sizes="0 1 3 1000 4097 65536 100001 1000003"
for size in $sizes; do
  head -c $size /dev/urandom > $files/tree/f$size
  must cp $files/tree/f$size $mnt/f$size
done
must dd if=$files/tree/f1000003 of=$mnt/direct bs=256K oflag=direct iflag=fullblock status=none
must dd if=$files/tree/f100001 of=$mnt/pieces bs=33333 conv=fsync status=none
forget
for size in $sizes; do must cmp $files/tree/f$size $mnt/f$size; done
must cmp $files/tree/f1000003 $mnt/direct
must cmp $files/tree/f100001 $mnt/pieces
must cmp <(dd if=$mnt/f1000003 bs=5001 skip=3 count=3 iflag=direct status=none) \
  <(dd if=$files/tree/f1000003 bs=5001 skip=3 count=3 status=none)

say "ls -l"
[ "$(cd $mnt && ls -l f* | awk '{ print "f" $5 }' | sort)" = "$(printf 'f%s\n' $sizes | sort)" ] || fail "$(ls -l $mnt)"
must mkdir $mnt/many
for i in $(seq 300); do : > $mnt/many/$(printf 'n%.0s' $(seq 200))$i; done
forget
[ "$(ls $mnt/many | sort -u | wc -l)" = 300 ] || fail "a directory of 300 files has $(ls $mnt/many | wc -l)"

say "tar"
cp $files/tree/f4097 $files/tree/deep
ln -s ../f3 $files/tree/deep/link
must tar -C $files -cf $mnt/tree.tar tree
must tar -C $mnt -xf $mnt/tree.tar
forget
must diff -r $files/tree $mnt/tree
must tar -C $mnt -cf $files/back.tar tree
mkdir /tmp/back
must tar -C /tmp/back -xf $files/back.tar
must diff -r $files/tree /tmp/back/tree

say "mv, ln, rm"
must mv $mnt/f3 $mnt/moved
must ln $mnt/moved $mnt/hard
must rm $mnt/moved
forget
must cmp $files/tree/f3 $mnt/hard
must rm -r $mnt/many $mnt/tree
forget
[ ! -e $mnt/many ] || fail "rm -r leaves $(ls $mnt/many | wc -l) files"

must umount $mnt
kill -INT $serve
wait $serve || fail "stag serve ended with $?: $(cat /tmp/serve.out)"
grep -E 'calls|errors, ' /tmp/serve.out
finish
