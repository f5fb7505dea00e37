// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fabric: what the tests for any fabric run over. Software iWARP on the loopback interface; or, in the lab, what the
// environment says: STAG_TEST_CLIENT and STAG_TEST_SERVER name transports (`stag devices`), STAG_TEST_ADDRESS is where
// the server listens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "replay/endpoint/transports.h"

namespace stag::endpoint::test {

class FabricUnderTest {
 public:
  Transport& client() { return *client_; }
  Transport& server() { return *server_; }
  const std::string& address() const { return address_; }
  // Whether an end is told why its connection broke, how deep Reads may go, and is refused whole operations: siw tells
  // programs little, and iWARP refuses by the segment.
  static bool Tells(Transport& transport, const Endpoint& endpoint) {
    return transport.name() == "iwarp" || endpoint.info().fabric != fabric::FabricKind::kIwarp;
  }
  // The RDMA Reads that a server which wants to answer `own` at a time answers a client that wants `asked`. siw answers
  // as many as are asked for (its relaxed_ird_negotiation; RFC 6581 section 9 lets the responder choose its IRD), and
  // its program is not told.
  uint16_t ReadsServed(uint16_t own, uint16_t asked) const {
    return client_->name() == "iwarp" && server_->name() != "iwarp" ? asked : std::min(own, asked);
  }
  // Whether the client keeps to the number of RDMA Reads under way that was agreed on. By RFC 6581 section 9 the
  // initiator's ORD may not exceed the IRD of the reply; siw rounds it up to a power of two.
  bool keeps_read_depth(uint16_t depth) const {
    return client_->name() == "iwarp" || server_->name() != "iwarp" || std::has_single_bit(depth);
  }
  // Whether the events of an end that only posts Sends tell of the peer's RDMA operations.
  bool hidden() const { return client_->name() != "iwarp"; }

 private:
  static std::string Setting(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value ? value : otherwise;
  }
  static std::unique_ptr<Transport> Open(const std::string& name) {
    auto opened = OpenTransport(name);
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      std::abort();
    }
    return std::move(*opened);
  }

  std::unique_ptr<Transport> client_ = Open(Setting("STAG_TEST_CLIENT", "iwarp"));
  std::unique_ptr<Transport> server_ = Open(Setting("STAG_TEST_SERVER", "iwarp"));
  std::string address_ = Setting("STAG_TEST_ADDRESS", "127.0.0.1");
};

inline FabricUnderTest& Fabric() {
  static FabricUnderTest fabric;
  return fabric;
}

}  // namespace stag::endpoint::test
