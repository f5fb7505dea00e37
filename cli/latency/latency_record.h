// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the samples of a file are between two processes (protocol/base/serialize.h): a record for each sample, and one
// at the end of the file, with the names that its file handles have.
#pragma once

#include <map>
#include <string>

#include "analysis/latency_table.h"
#include "protocol/base/serialize.h"

namespace stag {

template <typename Fn>
void Members(session::Phases& v, Fn fn) {
  auto& [ns, complete] = v;
  fn(ns, complete);
}
template <typename Fn>
void Members(analysis::LatencySample& v, Fn fn) {
  auto& [key, name, connection, xid, call_frame, reply_frame, reply_ns, rtt_ns, phases, meanwhile, silence_ns] = v;
  fn(key, name, connection, xid, call_frame, reply_frame, reply_ns, rtt_ns, phases, meanwhile, silence_ns);
}

namespace cli {

enum class LatencyRecord : uint8_t { kSample, kEnd };     // the first byte
using LatencyNames = std::map<std::string, std::string>;  // by the key that stands for a file

}  // namespace cli
}  // namespace stag
