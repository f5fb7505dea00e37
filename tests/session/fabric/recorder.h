// SPDX-License-Identifier: GPL-2.0-or-later
//
// For tests of IbTracker: Play decodes frames, Recorder keeps what came out, Describe makes text of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "protocol/base/crc.h"
#include "session/fabric/decoder.h"
#include "tests/support/event_fields.h"
#include "tests/support/ib_wire.h"

namespace stag::test {

struct Recorded {
  fabric::Event event;  // its views are empty
  fabric::ConnectionInfo connection;
  Buffer bytes, private_data;
};

class Recorder : public fabric::Sink {
 public:
  void OnEvent(const fabric::Event& e) override {
    const EventFields f = FieldsOf(e);
    Recorded& r = events.emplace_back(Recorded{e, *e.connection, Buffer(f.bytes.begin(), f.bytes.end()),
                                               Buffer(f.private_data.begin(), f.private_data.end())});
    if (fabric::Content* content = r.event.content()) content->bytes = {};
    if (auto* setup = std::get_if<fabric::Setup>(&r.event.what)) setup->private_data = {};
    r.event.connection = nullptr;
  }
  std::vector<const Recorded*> Of(fabric::EventKind kind, fabric::ConnectionId id = 0) const {
    std::vector<const Recorded*> out;
    for (const Recorded& r : events)
      if (r.event.kind() == kind && (id == 0 || r.connection.id == id)) out.push_back(&r);
    return out;
  }
  size_t Count(fabric::EventKind kind) const { return Of(kind).size(); }

  std::vector<Recorded> events;
};

// What an event says, without frames: for comparisons between orders of the same packets.
inline std::string Describe(const Recorded& r) {
  const fabric::Event& e = r.event;
  const EventFields f = FieldsOf(e);
  auto number = [](uint64_t v) { return std::to_string(v) + ' '; };
  return number(r.connection.id) + number(static_cast<uint64_t>(e.kind())) +
         number(e.kind() == fabric::EventKind::kOpened ? 0 : e.from) + number(f.handle) + number(f.offset) +
         number(f.length) + number(r.bytes.size()) + number(Crc32(0, r.bytes)) +
         number(static_cast<uint64_t>(f.missing)) + number(static_cast<uint64_t>(f.setup.message)) +
         number(Crc32(0, r.private_data)) + number(static_cast<uint64_t>(f.nak.kind)) +
         number(f.invalidated.value_or(0)) + number(f.first) + number(f.last) + number(f.gap_size) +
         number(static_cast<uint64_t>(f.close_reason));
}

// Decodes frames, each cut to `snap` captured bytes.
inline fabric::DecoderStats Play(const std::vector<WireFrame>& frames, LinkType link, fabric::Sink& sink,
                                 const fabric::DecoderOptions& options = {}, size_t snap = SIZE_MAX) {
  fabric::Decoder decoder(options, sink);
  uint64_t number = 0;
  for (const WireFrame& f : frames) {
    Frame frame{{++number, f.time_ns},
                link,
                Bytes(f.bytes).first(std::min(snap, f.bytes.size())),
                static_cast<uint32_t>(f.bytes.size())};
    decoder.OnFrame(frame);
  }
  decoder.Finish();
  return decoder.stats();
}
inline fabric::DecoderStats Play(IbWire& wire, fabric::Sink& sink, const fabric::DecoderOptions& options = {},
                                 size_t snap = SIZE_MAX) {
  return Play(wire.frames(), wire.link(), sink, options, snap);
}

}  // namespace stag::test
