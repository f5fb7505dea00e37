#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What stag says of the devices: rxe and siw, up and down
. /src/tests/lab/guest/common.sh
wire
for kind in rxe siw; do
  devices $kind
  must $STAG devices
  $STAG devices --format jsonl | grep -q "\"name\":\"${kind}1\".*\"usable\":true" || fail "${kind}1"
  $STAG devices --format jsonl | grep -q "\"name\":\"${kind}0\".*\"auto\":true" || fail "auto is not ${kind}0"
done
ip link set v0 down
must $STAG devices
finish
