#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# KIND: the tests of endpoints and of the engine; rxe, siw, soft-siw (software iWARP connects), siw-soft
. /src/tests/lab/guest/common.sh
kind=${1:-rxe}
wire
case $kind in
  rxe | siw) client=${kind}0 server=${kind}1 device=$kind ;;
  soft-siw) client=iwarp server=siw1 device=siw ;;
  siw-soft) client=siw0 server=iwarp device=siw ;;
  *) die "there is no kind $kind" ;;
esac
devices $device
export STAG_TEST_CLIENT=$client STAG_TEST_SERVER=$server STAG_TEST_ADDRESS=$SERVER
say "$client connects to $server"
must /build/tests/replay/endpoint/endpoint_test --gtest_brief=1 --gtest_filter="${2:-*AnyFabric*}"
must /build/tests/replay/rpcrdma/replay_rpcrdma_test --gtest_brief=1 --gtest_filter="${3:-Engine.*}"
finish
