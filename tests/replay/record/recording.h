// SPDX-License-Identifier: GPL-2.0-or-later
//
// Recording: a FrameRecorder on a file of its own, and what is read back from that; Lines: events as text, to be
// compared.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "replay/record/recorder.h"
#include "tests/session/fabric/recorder.h"
#include "tests/support/run_capture.h"

namespace stag::record::test {

using EventList = stag::test::Recorder;

inline std::string Hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes)
    text += "0123456789abcdef"[static_cast<uint8_t>(b) >> 4], text += "0123456789abcdef"[static_cast<uint8_t>(b) & 15];
  return text;
}

inline std::string Text(const std::optional<uint32_t>& v) { return v ? std::to_string(*v) : "-"; }

// What an event says, but for frames and times. Private data without the zeros that fill its field.
inline std::string Line(const stag::test::Recorded& r) {
  const fabric::Event& e = r.event;
  const stag::test::EventFields f = stag::test::FieldsOf(e);
  std::vector<std::byte> private_data = r.private_data;
  while (!private_data.empty() && private_data.back() == std::byte{0}) private_data.pop_back();
  const auto n = [](auto v) { return std::to_string(static_cast<uint64_t>(v)) + ' '; };
  std::string text = "connection " + n(r.connection.id);
  switch (e.kind()) {
    case fabric::EventKind::kSetup:
      return text + "setup " + n(f.setup.message) + n(e.from) + Hex(private_data) + " reads " +
             Text(f.setup.reads_served) + ' ' + Text(f.setup.reads_issued) + " reason " + n(f.setup.reject_reason);
    case fabric::EventKind::kOpened: return text + "opened";
    case fabric::EventKind::kClosed: return text + "closed " + n(f.close_reason);
    case fabric::EventKind::kGap: return text + "gap " + n(e.from);
    case fabric::EventKind::kAnomaly: return text + "anomaly " + n(e.from) + n(f.anomaly.kind);
    case fabric::EventKind::kNak:
      return text + "nak " + n(e.from) + n(f.nak.kind) + n(f.nak.terminate_layer) + n(f.nak.terminate_type) +
             n(f.nak.terminate_code) + n(f.handle) + n(f.offset) + n(f.length);
    case fabric::EventKind::kSend: text += "send "; break;
    case fabric::EventKind::kWrite: text += "write "; break;
    case fabric::EventKind::kReadRequest: text += "read "; break;
    case fabric::EventKind::kReadResponse: text += "response "; break;
  }
  return text + n(e.from) + n(f.handle) + n(f.offset) + n(f.length) + n(Crc32(0, r.bytes)) + n(r.bytes.size()) +
         n(f.missing) + Text(f.invalidated) + ' ' + Text(f.immediate) + ' ' + n(f.solicited);
}

// The events in their order; the parts of a Write or Read Response that follow each other are one.
inline std::vector<std::string> Lines(const EventList& events) {
  std::vector<std::string> lines;
  std::vector<stag::test::Recorded> whole;
  for (const stag::test::Recorded& r : events.events) {
    const auto part_of = [&](const stag::test::Recorded& before) {
      return before.connection.id == r.connection.id && before.event.kind() == r.event.kind() &&
             before.event.from == r.event.from && before.event.rdma().handle == r.event.rdma().handle &&
             before.event.rdma().offset + before.event.rdma().length == r.event.rdma().offset;
    };
    const bool placed =
        r.event.kind() == fabric::EventKind::kWrite || r.event.kind() == fabric::EventKind::kReadResponse;
    if (placed && !whole.empty() && part_of(whole.back())) {
      whole.back().event.content()->length += r.event.rdma().length;
      whole.back().bytes.insert(whole.back().bytes.end(), r.bytes.begin(), r.bytes.end());
    } else {
      whole.push_back(r);
    }
  }
  for (const stag::test::Recorded& r : whole) lines.push_back(Line(r));
  return lines;
}

class Recording {
 public:
  Recording() {
    char name[] = "/tmp/stag_record_XXXXXX";
    directory_ = ::mkdtemp(name);
    path = directory_ + "/recording.pcapng";
    auto created = FrameRecorder::Create(path, "stag test", "a test");
    EXPECT_TRUE(created) << created.error().message;
    recorder = std::move(*created);
  }
  ~Recording() { std::filesystem::remove_all(directory_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Ends the recording and reads it.
  EventList ReadBack() {
    recorder->Finish();
    EXPECT_EQ(recorder->trouble(), "");
    EXPECT_EQ(recorder->lost() + recorder->left_out(), 0u);
    EventList events;
    const std::vector<stag::test::OwnedFrame> frames = stag::test::LoadFrames(path);
    EXPECT_EQ(frames.size(), recorder->frames());
    stats = stag::test::Decode(frames, {.verify_crc = true}, events);
    return events;
  }

  std::string path;
  std::unique_ptr<FrameRecorder> recorder;
  fabric::DecoderStats stats;

 private:
  std::string directory_;
};

// Events go to both.
struct Both : fabric::Sink {
  Both(fabric::Sink& first, fabric::Sink& second) : a(first), b(second) {}
  void OnEvent(const fabric::Event& event) override {
    a.OnEvent(event);
    b.OnEvent(event);
  }
  fabric::Sink &a, &b;
};

}  // namespace stag::record::test
