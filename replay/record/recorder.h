// SPDX-License-Identifier: GPL-2.0-or-later
//
// FrameRecorder: writes the fabric events of live connections as frames of a pcapng file, RoCEv2 or iWARP, that stag
// and Wireshark open: what a sniffer would have seen if the hardware let it. Reading the file gives the same events.
// What events do not say is made up; see roce_track.cc and iwarp_track.cc. One pass, memory bounded by the open
// connections and their outstanding Reads; in the steady state nothing is allocated per event. Used by one thread at a
// time.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "protocol/base/result.h"
#include "session/fabric/fabric_event.h"

namespace stag::record {

class FrameWriter;
class PacketSynthesizer;

class FrameRecorder final : public fabric::Sink {
 public:
  // Creates or overwrites `path`, compressed when its name says so. `made_by`: the program and its version; `what`: the
  // command. Both are written into the file.
  static Result<std::unique_ptr<FrameRecorder>> Create(const std::string& path, const std::string& made_by,
                                                       const std::string& what);
  ~FrameRecorder() override;

  void OnEvent(const fabric::Event& event) override;
  // After the last event: closes the file.
  void Finish();

  // Why not all could be written (a full disk), or empty. The file is readable then, and ends with what could.
  const std::string& trouble() const;
  uint64_t frames() const;  // in the file
  uint64_t lost() const;    // frames that could not be written
  // Events that have no form as frames: Read Responses without their request.
  uint64_t left_out() const;

 private:
  explicit FrameRecorder(std::unique_ptr<FrameWriter> writer);

  std::unique_ptr<FrameWriter> writer_;
  std::unordered_map<fabric::ConnectionId, std::unique_ptr<PacketSynthesizer>> packets_;
};

}  // namespace stag::record
