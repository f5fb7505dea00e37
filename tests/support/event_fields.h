// SPDX-License-Identifier: GPL-2.0-or-later
//
// For tests: the fields of an event of any kind in one struct, and events whose kind is a value.
#pragma once

#include "session/fabric/fabric_event.h"

namespace stag::test {

// A field that the event's kind does not have is as in a new one.
struct EventFields {
  Bytes bytes, private_data;
  uint64_t length = 0, offset = 0, gap_size = 0;
  uint32_t handle = 0;
  fabric::Missing missing = fabric::Missing::kNothing;
  bool first = false, last = false, solicited = false;
  std::optional<uint32_t> invalidated, immediate;
  fabric::Setup setup;
  fabric::Nak nak;
  fabric::Anomaly anomaly;
  fabric::CloseReason close_reason = fabric::CloseReason::kEndOfCapture;
};

inline EventFields FieldsOf(const fabric::Event& event) {
  EventFields f;
  if (const fabric::Content* content = event.content()) {
    f.bytes = content->bytes;
    f.length = content->length;
    f.missing = content->missing;
  }
  switch (event.kind()) {
    case fabric::EventKind::kSetup:
      f.setup = event.setup();
      f.private_data = f.setup.private_data;
      break;
    case fabric::EventKind::kOpened: break;
    case fabric::EventKind::kClosed: f.close_reason = event.closed().reason; break;
    case fabric::EventKind::kSend:
      f.solicited = event.send().solicited;
      f.invalidated = event.send().invalidated;
      f.immediate = event.send().immediate;
      break;
    case fabric::EventKind::kWrite:
    case fabric::EventKind::kReadRequest:
    case fabric::EventKind::kReadResponse:
      f.handle = event.rdma().handle;
      f.offset = event.rdma().offset;
      f.first = event.rdma().first;
      f.last = event.rdma().last;
      f.immediate = event.rdma().immediate;
      break;
    case fabric::EventKind::kNak:
      f.nak = event.nak();
      f.handle = f.nak.handle;
      f.offset = f.nak.offset;
      f.length = f.nak.length;
      break;
    case fabric::EventKind::kGap: f.gap_size = event.gap().size; break;
    case fabric::EventKind::kAnomaly: f.anomaly = event.anomaly(); break;
  }
  return f;
}

// An event of that kind, with the fields that the kind has.
inline fabric::Event EventOf(fabric::EventKind kind, const EventFields& f = {}) {
  const auto packet = [&](auto what) {
    static_cast<fabric::Content&>(what) = {f.bytes, f.length, f.missing};
    what.handle = f.handle;
    what.offset = f.offset;
    what.first = f.first;
    what.last = f.last;
    what.immediate = f.immediate;
    return what;
  };
  fabric::Event event;
  switch (kind) {
    case fabric::EventKind::kSetup:
      event.what = f.setup;
      if (!f.private_data.empty()) std::get<fabric::Setup>(event.what).private_data = f.private_data;
      break;
    case fabric::EventKind::kOpened: event.what = fabric::Opened{}; break;
    case fabric::EventKind::kClosed: event.what = fabric::Closed{f.close_reason}; break;
    case fabric::EventKind::kSend:
      event.what = fabric::Send{{f.bytes, f.length, f.missing}, f.solicited, f.invalidated, f.immediate};
      break;
    case fabric::EventKind::kWrite: event.what = packet(fabric::Write{}); break;
    case fabric::EventKind::kReadRequest: event.what = packet(fabric::ReadRequest{}); break;
    case fabric::EventKind::kReadResponse: event.what = packet(fabric::ReadResponse{}); break;
    case fabric::EventKind::kNak: event.what = f.nak; break;
    case fabric::EventKind::kGap: event.what = fabric::Gap{f.gap_size}; break;
    case fabric::EventKind::kAnomaly: event.what = f.anomaly; break;
  }
  return event;
}

}  // namespace stag::test
