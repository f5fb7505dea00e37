// SPDX-License-Identifier: GPL-2.0-or-later
//
// WireScript: a test::Script whose actions become packets of a Capture, and the words in which a case says what goes
// wrong on the way and what must be found. RoceScript and IwarpScript are its two fabrics.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pcaps/generator/capture.h"
#include "pcaps/generator/ip_frames.h"
#include "tests/support/script.h"

namespace stag::evidence {

using fabric::Side;

// What the CM exchange says beside the private data. iWARP has the port only.
struct SetupFields {
  uint16_t port = rpcrdma::kServicePort;
  std::array<uint8_t, 2> responder_resources{16, 0}, initiator_depth{0, 16};  // by side
  std::optional<uint64_t> service_id = {};                                    // by default that of the port
  uint16_t reject_reason = 28;  // consumer (InfiniBand Architecture volume 1, table of REJ reasons)
};

class WireScript : public test::Script {
 public:
  SetupFields setup;  // read when the connection is set up

  uint64_t frame() const override { return frame_; }

  // The connection is asked for and refused, with this private data.
  virtual void Reject(const Buffer& client, const Buffer& server) = 0;
  // The next connection of the same peers, in the same capture. Owned by this one.
  virtual WireScript& Another() = 0;

  // Beside the connection: a UDP datagram; a TCP segment of any fields.
  void Udp(Side from, Ports ports, const Buffer& payload);
  void Tcp(Side from, Ports ports, TcpFields fields, const Buffer& payload = {});

  // The last action breaks the rule; or an earlier one did, whose frame this is, and the last action proves it.
  // `see_also`: rules that the same event breaks.
  void Expect(std::string rule, Severity severity = Severity::kError, std::vector<std::string> see_also = {}) {
    ExpectAt(frame(), std::move(rule), severity, std::move(see_also));
  }
  void ExpectOf(uint64_t offender, std::string rule, Severity severity = Severity::kError,
                std::vector<std::string> see_also = {}) {
    capture_.Expect({frame(), offender, std::move(rule), severity, std::move(see_also)});
  }
  // One frame breaks the rule, and another one proves it.
  void ExpectProven(uint64_t offender, uint64_t proof, std::string rule) {
    capture_.Expect({proof, offender, std::move(rule)});
  }
  // The capture ends before the proof could come.
  void ExpectPresumed(uint64_t offender, std::string rule, Severity severity) {
    capture_.Expect({0, offender, std::move(rule), severity, {}, true});
  }
  // Another frame breaks the rule, and proves it.
  void ExpectAt(uint64_t frame, std::string rule, Severity severity = Severity::kError,
                std::vector<std::string> see_also = {}) {
    capture_.Expect({frame, frame, std::move(rule), severity, std::move(see_also)});
  }

  // What `actions` put on the wire is missing from the capture.
  void Lost(const std::function<void()>& actions);
  // So is the last packet of the last action.
  void DropLast();
  // What `from` sends next has the PSNs, or the sequence numbers, of its last action: it sends that again.
  virtual void Rewind(Side from) = 0;
  // The last action's packets come a second time, as their sender or the link repeats them.
  void Repeat();
  // So do these frames.
  void Repeat(uint64_t first, uint64_t last);
  // So does the frame with this number.
  void RepeatFrame(uint64_t frame);
  // The packets of two actions, of different sides, take turns. Expect what comes of them with ExpectAt.
  void Interleave(const std::function<void()>& a, const std::function<void()>& b);
  // The last two frames change places in the capture.
  void SwapLast() { capture_.SwapLast(); }
  // From here on only the first bytes of each frame are captured.
  void Snap(size_t length);
  // Sends what is still owed, such as acknowledgments. The end of the capture.
  virtual void Settle() = 0;

 protected:
  explicit WireScript(Capture& capture) : capture_(capture) {}
  // Brackets of every action: what was owed goes out first, and the action's frames are noted.
  void Begin();
  void End() { frame_ = capture_.size(); }

  Capture& capture_;

 private:
  uint64_t first_frame_ = 0, frame_ = 0;
};

enum class Fabric : uint8_t { kRoce, kIwarp };
std::unique_ptr<WireScript> MakeScript(Fabric fabric, Capture& capture);

}  // namespace stag::evidence
