// SPDX-License-Identifier: GPL-2.0-or-later
//
// RecordStream: RPC with record marks (RFC 5531 section 11) on a TCP stream that may turn to MPA later (RFC 8166
// section 3.2). Follows one direction from its first byte, to tell where the records end. Owns nothing, keeps a few
// words.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/base/bytes.h"

namespace stag::fabric {

class RecordStream {
 public:
  // How much of a stream is looked at before it is taken for RPC over TCP that stays so.
  static constexpr uint64_t kMaxBytes = 256u << 10;

  // Takes bytes of the stream, `wire` of which `bytes` is the captured prefix, up to the start of an MPA frame: at the
  // end of a record, or at the start of `bytes` within one. Returns how many it took; 0: an MPA frame stands there, or
  // nothing that could be a record (then not active() afterwards).
  uint64_t Take(Bytes bytes, uint64_t wire);

  // Bytes of the stream are missing: it is not followed any more, and how many messages it had is not known.
  void Lose();
  bool lost() const { return lost_; }

  bool active() const { return bytes_ > 0; }
  // A record is not complete.
  bool within_record() const { return left_ > 0 || mark_size_ > 0 || more_fragments_; }
  uint32_t calls() const { return calls_; }
  uint32_t replies() const { return replies_; }

 private:
  bool BeginsWithMpa(Bytes bytes) const;
  void OnMark(uint32_t mark, Bytes message);

  uint64_t bytes_ = 0;
  uint32_t left_ = 0;  // bytes of the fragment still to come
  bool more_fragments_ = false;
  std::array<std::byte, 4> mark_{};
  uint32_t mark_size_ = 0;  // bytes of the mark that are there; 0 within a fragment
  uint32_t calls_ = 0, replies_ = 0;
  bool lost_ = false;
};

}  // namespace stag::fabric
