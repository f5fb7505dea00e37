// SPDX-License-Identifier: GPL-2.0-or-later
//
// Tape: where recorded connections put their frames. Track: one recorded connection, of a fabric.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "capture/file/writer.h"
#include "protocol/link/encode.h"
#include "session/fabric/fabric_event.h"

namespace stag::record {

class Tape {
 public:
  explicit Tape(std::unique_ptr<capture::FileWriter> writer) : writer_(std::move(writer)) {}

  // Of the frames that follow. Time never goes back.
  void set_time(int64_t time_ns) { time_ns_ = std::max(time_ns_, time_ns); }

  // An Ethernet frame, of which the last `cut` bytes are not known. Nothing but a count comes of it once writing
  // failed.
  void Put(Bytes frame, size_t cut = 0) {
    ++frames_;
    const auto written = writer_->Write({{frames_, time_ns_},
                                         LinkType::kEthernet,
                                         frame.first(frame.size() - cut),
                                         static_cast<uint32_t>(frame.size())});
    if (!written && trouble_.empty()) trouble_ = written.error().message;
  }
  // Something of an event cannot be told in frames.
  void Leave() { ++left_out_; }

  void Close() {
    const auto closed = writer_->Close();
    if (!closed && trouble_.empty()) trouble_ = closed.error().message;
  }
  uint64_t frames() const { return frames_ - writer_->lost(); }
  uint64_t lost() const { return writer_->lost(); }
  uint64_t left_out() const { return left_out_; }
  const std::string& trouble() const { return trouble_; }

 private:
  std::unique_ptr<capture::FileWriter> writer_;
  int64_t time_ns_ = 0;
  uint64_t frames_ = 0, left_out_ = 0;
  std::string trouble_;
};

class Track {
 public:
  virtual ~Track() = default;
  // All of one connection.
  virtual void OnEvent(const fabric::Event& event) = 0;
  // The recording ends; the connection may go on.
  virtual void Finish() {}
};

// Software iWARP and other TCP: a TCP segment for each FPDU. RoCEv2 stands for whatever has queue pairs.
std::unique_ptr<Track> MakeIwarpTrack(Tape& tape, const fabric::ConnectionInfo& info);
std::unique_ptr<Track> MakeRoceTrack(Tape& tape, const fabric::ConnectionInfo& info);

// The two ends of a connection on an Ethernet, both with IPv4 or both with IPv6 addresses: GIDs become IPv6 addresses,
// or IPv4 addresses when such are mapped; LIDs become 169.254.x.y; who has none gets one of 192.0.2.0/24.
std::array<link::Host, 2> HostsOf(const fabric::ConnectionInfo& info);

// What is known of the bytes from `at` to `at` + `size` of an event with `bytes`, and zeros for the rest: `data` is of
// that size. A view of the event or of `scratch`.
struct PayloadPart {
  Bytes data;
  size_t unknown = 0;  // at the end of `data`
};
PayloadPart PartOf(Bytes bytes, uint64_t at, size_t size, std::vector<std::byte>& scratch);

}  // namespace stag::record
