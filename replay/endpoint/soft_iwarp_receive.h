// SPDX-License-Identifier: GPL-2.0-or-later
//
// FpduReceiver: the bytes of a TCP stream to DDP segments, their payloads brought to where they belong. Without CRC and
// markers a payload is placed as it arrives, long ones by the kernel itself; otherwise an FPDU is placed when all of it
// is there and its CRC is right, so that nothing damaged touches memory (RFC 5044 section 4.4).
#pragma once

#include <vector>

#include "protocol/iwarp/ddp.h"
#include "protocol/iwarp/fpdu.h"
#include "replay/endpoint/soft_iwarp_stream.h"

namespace stag::endpoint {

class FpduReceiver {
 public:
  // What is done with segments. False: it is refused, and nothing more is read.
  class Handler {
   public:
    // A segment begins: `to` is where its `length` bytes of payload go.
    virtual bool OnSegment(const iwarp::DdpHeader& header, uint32_t length, std::byte*& to) = 0;
    // All of it is there, `payload` where OnSegment said.
    virtual bool OnPlaced(const iwarp::DdpHeader& header, Bytes payload) = 0;
    virtual bool OnEmptyFpdu() = 0;
    // MPA error `code` of RFC 5044 section 8: nothing after it can be read.
    virtual void OnBadFpdu(uint8_t code) = 0;

   protected:
    ~Handler() = default;
  };

  FpduReceiver(bool crc, bool markers);

  // Receives what is there, or a part, and hands over everything that is complete. kAgain: nothing was there; kDone
  // also when something was refused.
  Transfer Receive(ByteStream& stream, Handler& handler);
  // The last Receive took all that was there.
  bool drained() const { return drained_; }
  // Some bytes of an FPDU came, and not all.
  bool inside_fpdu() const { return in_segment_ || begin_ != end_; }
  // The segment whose payload is arriving, or nullptr.
  const iwarp::DdpSegment* arriving() const { return in_segment_ ? &segment_ : nullptr; }

 private:
  Transfer ReceiveOnce(ByteStream& stream, Handler& handler);
  size_t Wanted() const;
  size_t staged() const { return end_ - begin_; }
  bool Parse(Handler& handler);
  bool ParseHead(Handler& handler, bool& found);
  bool ParseWhole(Handler& handler, bool& found);
  bool MarkersPointBack(Bytes fpdu) const;

  const bool crc_, markers_;
  std::vector<std::byte> staging_;
  size_t begin_ = 0, end_ = 0;
  bool drained_ = true;
  // The segment that is arriving (not with CRC or markers: there an FPDU is staged whole).
  bool in_segment_ = false;
  iwarp::DdpSegment segment_;
  std::byte* to_ = nullptr;
  uint32_t left_ = 0;     // of the payload
  uint32_t trailer_ = 0;  // padding and CRC
  bool refused_ = false;
  uint32_t expect_long_ = 0;  // short segments until long ones are not expected any more
  uint64_t position_ = 0;     // with markers: in the stream, of begin_
  std::vector<std::byte> scratch_;
};

}  // namespace stag::endpoint
