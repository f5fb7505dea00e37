// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls with faulty headers, and RDMA_ERRORs word by word.
#pragma once

#include "pcaps/generator/traffic.h"

namespace stag::evidence {

// RDMA_ERROR with any body; with ERR_VERS.
inline Buffer Error(uint32_t xid, std::initializer_list<uint32_t> body, uint32_t version = 1) {
  return test::Join({test::Words({xid, version, 32, rpcrdma::kError}), test::Words(body)});
}
inline Buffer ErrVers(uint32_t xid, uint32_t low, uint32_t high, uint32_t version) {
  return Error(xid, {rpcrdma::kErrVers, low, high}, version);
}

// Calls: of version 2; with 2 where a boolean belongs. And a Reply with such a boolean.
inline Buffer Version2Call(uint32_t xid) {
  return test::Join({test::Words({xid, 2, 32, 0, 0, 0, 0}), test::GetattrCall(xid)});
}
inline Buffer BadBooleanCall(uint32_t xid) {
  return test::Join({test::Words({xid, 1, 32, 0, 0, 0, 2}), test::GetattrCall(xid)});
}
inline Buffer BadBooleanReply(uint32_t xid) {
  return test::Join({test::Words({xid, 1, 32, 0, 0, 0, 2}), test::GetattrReply(xid)});
}

inline void CallGetattr(WireScript& s, uint32_t xid = kXid) {
  s.Send(test::kClient, test::Msg(xid), test::GetattrCall(xid));
}
inline void OpenAndCall(WireScript& s) {
  s.Open();
  CallGetattr(s);
}
inline void OpenAndCall(WireScript& s, const Buffer& bytes) {
  s.Open();
  s.SendBytes(test::kClient, bytes);
}

// Calls with the following xids, each answered.
inline void GoOn(WireScript& s, uint32_t count) {
  for (uint32_t i = 1; i <= count; ++i) {
    CallGetattr(s, kXid + i);
    s.Send(test::kServer, test::Msg(kXid + i), test::GetattrReply(kXid + i));
  }
}

}  // namespace stag::evidence
