// SPDX-License-Identifier: GPL-2.0-or-later
//
// Carry: the values of a report as bytes, between processes of one version of the program. What is packed and what is
// unpacked is one list of members each, and a structured binding: a member that a struct gains does not compile until
// it is carried, too. Numbers are LEB128.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "conformance/report/ladder.h"
#include "conformance/report/reporter.h"

namespace stag::conformance {

// Appends to a string.
class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  void Number(uint64_t& v) {
    uint64_t left = v;
    for (; left >= 0x80; left >>= 7) out_.push_back(static_cast<char>(left | 0x80));
    out_.push_back(static_cast<char>(left));
  }
  void Text(std::string& v) {
    uint64_t size = v.size();
    Number(size);
    out_.append(v);
  }
  void Count(uint64_t& v) { Number(v); }

 private:
  std::string& out_;
};

// The counterpart. What does not fit fails for good, and leaves zeros.
class Unpacker {
 public:
  explicit Unpacker(std::string_view in) : in_(in) {}

  void Number(uint64_t& v) {
    v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (in_.empty()) return Fail();
      const auto byte = static_cast<unsigned char>(in_.front());
      in_.remove_prefix(1);
      v |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return;
    }
    Fail();
  }
  void Text(std::string& v) {
    uint64_t size = 0;
    Count(size);
    v = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  // Of what follows: at least a byte each.
  void Count(uint64_t& v) {
    Number(v);
    if (v <= in_.size()) return;
    v = 0;
    Fail();
  }
  // Everything was there, and nothing else.
  bool done() const { return ok_ && in_.empty(); }

 private:
  void Fail() {
    ok_ = false;
    in_ = {};
  }
  std::string_view in_;
  bool ok_ = true;
};

// --- The members of each struct, all of them.

template <typename Fn>
void Members(FrameRef& v, Fn fn) {
  auto& [number, time_ns] = v;
  fn(number, time_ns);
}
template <typename Fn>
void Members(Address& v, Fn fn) {
  auto& [kind, bytes] = v;
  fn(kind, bytes);
}
template <typename Fn>
void Members(Endpoint& v, Fn fn) {
  auto& [address, number] = v;
  fn(address, number);
}
template <typename Fn>
void Members(Procedure& v, Fn fn) {
  auto& [program, version, procedure] = v;
  fn(program, version, procedure);
}
template <typename Fn>
void Members(Finding& v, Fn fn) {
  auto& [rule, profile, severity, frame, connection, client_to_server, xid, procedure, message, expected, actual,
         related_frames, see_also] = v;
  fn(rule, profile, severity, frame, connection, client_to_server, xid, procedure, message, expected, actual,
     related_frames, see_also);
}
template <typename Fn>
void Members(RuleTally& v, Fn fn) {
  auto& [rule, counts] = v;
  fn(rule, counts);
}
template <typename Fn>
void Members(Summary& v, Fn fn) {
  auto& [files, frames, connections, transactions, gaps, truncated_frames, rules] = v;
  fn(files, frames, connections, transactions, gaps, truncated_frames, rules);
}
template <typename Fn>
void Members(Arrow& v, Fn fn) {
  auto& [serial, kind, client_to_server, frame, first_frame, now, length, last, xid, backward, role, words, proc,
         version, credit, error, read_segments, write_chunks, read_bytes, write_bytes, reply_bytes, reply_chunk, cut,
         invalidated, procedure, operations, operation_count, handle, offset, in_segment, overrun, retired, list, chunk,
         segment_offset, setup, nak, terminate, reject_reason, close_reason, private_data] = v;
  fn(serial, kind, client_to_server, frame, first_frame, now, length, last, xid, backward, role, words, proc, version,
     credit, error, read_segments, write_chunks, read_bytes, write_bytes, reply_bytes, reply_chunk, cut, invalidated,
     procedure, operations, operation_count, handle, offset, in_segment, overrun, retired, list, chunk, segment_offset,
     setup, nak, terminate, reject_reason, close_reason, private_data);
}
template <typename Fn>
void Members(Rung& v, Fn fn) {
  auto& [arrow, mark, folded, folded_bytes, folded_from] = v;
  fn(arrow, mark, folded, folded_bytes, folded_from);
}
template <typename Fn>
void Members(rpcrdma::PrivateData& v, Fn fn) {
  auto& [version, flags, send_size, receive_size] = v;
  fn(version, flags, send_size, receive_size);
}
template <typename Fn>
void Members(rpcrdma::PrivateDataSearch& v, Fn fn) {
  auto& [found, offset, data] = v;
  fn(found, offset, data);
}
template <typename Fn>
void Members(session::SetupData& v, Fn fn) {
  auto& [seen, truncated, frame, bytes, fixed_size, search, reads_served, reads_issued] = v;
  fn(seen, truncated, frame, bytes, fixed_size, search, reads_served, reads_issued);
}
template <typename Fn>
void Members(session::MinMaxLast& v, Fn fn) {
  auto& [any, min, max, last] = v;
  fn(any, min, max, last);
}
// Without the window, which only a running session needs.
template <typename Fn>
void Members(session::CreditState& v, Fn fn) {
  auto& [requested, granted, outstanding, max_outstanding, known, replied, window, request_limit] = v;
  fn(requested, granted, outstanding, max_outstanding, known, replied, request_limit);
}
template <typename Fn>
void Members(session::SideCounters& v, Fn fn) {
  auto& [messages, send_bytes, write_operations, write_bytes, read_operations, read_bytes, naks, gaps,
         send_with_invalidate] = v;
  fn(messages, send_bytes, write_operations, write_bytes, read_operations, read_bytes, naks, gaps,
     send_with_invalidate);
}
template <typename Fn>
void Members(fabric::ConnectionInfo& v, Fn fn) {
  auto& [id, fabric, endpoint, roles_known, service_port, service_id, rdma_hidden] = v;
  fn(id, fabric, endpoint, roles_known, service_port, service_id, rdma_hidden);
}
template <typename Fn>
void Members(session::Connection& v, Fn fn) {
  auto& [info, proof, first_frame, last_frame, now, setup_seen, rejected, opened, closed, close_reason, close_frame,
         reject_reason, lossy, disturbed, setup, client_known, client, credits, counters, calls, replies, errors,
         backward_calls, replies_without_call, truncated_messages, unclear_messages, evicted_transactions,
         other_messages] = v;
  fn(info, proof, first_frame, last_frame, now, setup_seen, rejected, opened, closed, close_reason, close_frame,
     reject_reason, lossy, disturbed, setup, client_known, client, credits, counters, calls, replies, errors,
     backward_calls, replies_without_call, truncated_messages, unclear_messages, evicted_transactions, other_messages);
}

// --- Any value: what `carrier` is, a Packer or an Unpacker, says in which direction.

template <typename Carrier, typename T>
void Carry(Carrier& carrier, T& v) {
  if constexpr (std::integral<T> || std::is_enum_v<T>) {
    auto number = static_cast<uint64_t>(v);
    carrier.Number(number);
    v = static_cast<T>(number);
  } else if constexpr (std::same_as<T, std::string>) {
    carrier.Text(v);
  } else {
    Members(v, [&](auto&... members) { (Carry(carrier, members), ...); });
  }
}
// Rules go by their ids.
template <typename Carrier>
void Carry(Carrier& carrier, std::string_view& v) {
  std::string id(v);
  carrier.Text(id);
  const RuleInfo* const rule = FindRule(id);
  v = rule ? rule->id : std::string_view{};
}
template <typename Carrier>
void Carry(Carrier& carrier, const RuleInfo*& v) {
  std::string_view id = v ? v->id : std::string_view{};
  Carry(carrier, id);
  v = FindRule(id);
}
template <typename Carrier, typename T>
void Carry(Carrier& carrier, std::optional<T>& v) {
  bool there = v.has_value();
  Carry(carrier, there);
  if (there && !v) v.emplace();
  if (there) Carry(carrier, *v);
}
template <typename Carrier, typename T, size_t N>
void Carry(Carrier& carrier, std::array<T, N>& v) {
  for (T& member : v) Carry(carrier, member);
}
template <typename Carrier, typename T>
void Carry(Carrier& carrier, std::vector<T>& v) {
  uint64_t count = v.size();
  carrier.Count(count);
  v.resize(static_cast<size_t>(count));
  for (T& member : v) Carry(carrier, member);
}

}  // namespace stag::conformance
