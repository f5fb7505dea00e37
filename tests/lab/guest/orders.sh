# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Process 1 of a lab machine, once all is mounted. Orders come in /share: NAME.order is a script to run as NAME.run, in a
# session of its own; what it prints goes to NAME.out, its exit status to NAME.status. NAME.cancel ends it and all that it
# started. The machine ends when there was no order for lab_linger seconds, if the kernel's command line has that.
hostname lab
ip link set lo up
ulimit -l unlimited
cd /root
exec {never}<> <(:)
pause() { read -rt 0.1 -u $never; } # a process would take its time, under emulation
idle=$SECONDS
touch /share/ready
while ((SECONDS - idle < ${lab_linger:-1 << 40})); do
  for order in /share/*.order; do
    [ -f "$order" ] || continue
    name=${order%.order}
    mv "$order" "$name.run"
    setsid bash "$name.run" > "$name.out" 2>&1 < /dev/null &
    while [ -e /proc/$!/exe ]; do # a process that ended has none, also when bash missed its SIGCHLD
      [ ! -e "$name.cancel" ] || pkill -KILL -s $!
      pause
    done
    wait $!
    echo $? > "$name.status.part"
    mv "$name.status.part" "$name.status"
    idle=$SECONDS
  done
  pause
done
rm /share/ready
echo o > /proc/sysrq-trigger
pause
sleep 60
