// SPDX-License-Identifier: GPL-2.0-or-later
//
// TcpStream: one direction of a TCP connection as a 64-bit byte stream. It knows the next byte to process and holds
// back, bounded, what came too early. It only stores: when a hole is given up, or when a segment must wait for the
// other direction, is decided by IwarpConnection.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "session/fabric/tracker.h"

namespace stag::fabric {

// A piece of the stream. `bytes` is what was captured of it, from its start; the rest up to `end` was cut by the
// capture.
struct TcpPiece {
  uint64_t begin = 0, end = 0;  // with a FIN, `end` counts one more
  bool fin = false;
  bool starts_segment = false;  // `begin` is where a TCP segment began
  bool has_ack = false;
  uint64_t ack = 0;  // position in the other direction that its sender had received
  FrameRef frame;
  Bytes bytes;

  uint64_t data_end() const { return end - (fin ? 1 : 0); }
};

// Storage for held pieces, recycled over all connections of a tracker. It is charged while it is here, too.
class PiecePool {
 public:
  struct Storage {
    explicit Storage(Budget& budget) : charge(budget) {}
    Charge charge;
    std::vector<std::byte> bytes;
  };
  explicit PiecePool(TrackerContext& context) : context_(context) {}
  // With room for so many bytes, and as many more of bookkeeping as are charged; null when the budget is used up.
  std::optional<Storage> Take(size_t bytes);
  void Give(Storage storage);
  void Clear() { spare_.clear(); }

 private:
  TrackerContext& context_;
  std::vector<Storage> spare_;
};

class TcpStream {
 public:
  TcpStream(TrackerContext& context, PiecePool& pool) : context_(context), pool_(pool) {}
  ~TcpStream() = default;
  TcpStream(const TcpStream&) = delete;
  TcpStream& operator=(const TcpStream&) = delete;

  // `sequence` is that of the next byte to process.
  void Start(uint32_t sequence);
  bool started() const { return started_; }
  // Moves next() back to `position`; nothing has been processed yet.
  void StartEarlier(uint64_t position) { first_ = next_ = position; }
  // The position of the first byte that is known of.
  uint64_t first() const { return first_; }
  // The position of a sequence number: the one nearest to next() (RFC 9293 section 3.4).
  uint64_t Unwrap(uint32_t sequence) const;
  uint64_t next() const { return next_; }
  void Advance(uint64_t bytes) { next_ += bytes; }

  // The highest position that the other side acknowledged (at least 0; may be beyond next()). Beyond all bytes that
  // were seen, an acknowledgment counts when the next one says no less: a single wrong one moves nothing.
  uint64_t acknowledged() const { return acknowledged_; }
  // False when it is too far from next() to belong to this stream.
  bool NoteAcknowledged(uint64_t position, const FrameRef& frame);
  // The first frame that acknowledged the byte at next(). REQUIRES: acknowledged() > next().
  const FrameRef& acknowledged_in() const { return beyond_frame_; }
  // Near enough to next() to belong to this stream.
  bool IsPlausible(uint64_t position) const;

  enum class Held : uint8_t { kAdded, kDuplicate, kFull };
  // Copies what is new in `piece` (behind next() and not held yet: the first copy of a byte wins). kFull: a limit is
  // reached; parts may have been added.
  Held Hold(TcpPiece piece);
  // Puts back the rest of a piece that was being processed: `piece.begin` is next(). False when the budget is
  // exhausted.
  bool HoldFirst(const TcpPiece& piece);

  bool empty() const { return held_.empty(); }
  // Nothing is held, and nothing is missing that was acknowledged.
  bool quiet() const { return held_.empty() && acknowledged_ <= next_; }
  // The earliest piece held. begin <= next() never leaves bytes before next() in it.
  const TcpPiece& front() const { return held_.front().piece; }
  bool front_is_next() const { return !held_.empty() && held_.front().piece.begin == next_; }
  // Takes the earliest piece out; it is valid until the next call of Pop or Clear.
  TcpPiece Pop();
  // Drops everything before `position`, which becomes next().
  void SkipTo(uint64_t position);
  void Clear();

  size_t held_pieces() const { return held_.size(); }
  // The end of what is held without a hole from front() on; and whether more is held behind it.
  uint64_t contiguous_end() const { return held_.empty() ? next_ : stretch_end_; }
  bool has_hole() const { return !held_.empty() && held_.back().piece.end > stretch_end_; }

  // Copies up to out.size() bytes at `position`. Returns how many; `cut` tells that the next one was cut by the capture
  // (otherwise it has not come yet).
  size_t Peek(uint64_t position, MutableBytes out, bool& cut) const;
  // Calls fn(piece) for the pieces held without a hole from the one that holds `position`; fn returns false to stop.
  template <typename Fn>
  void ForEachFrom(uint64_t position, Fn fn) const {
    uint64_t at = position;
    for (size_t i = Find(position); i < held_.size(); ++i) {
      const TcpPiece& piece = held_[i].piece;
      if (piece.begin > at || !fn(piece)) return;
      at = piece.end;
    }
  }

 private:
  struct Stored {
    TcpPiece piece;  // its bytes are in `storage`
    PiecePool::Storage storage;
  };
  size_t Find(uint64_t position) const;  // index of the first held piece that ends behind `position`
  bool Insert(size_t index, const TcpPiece& piece);
  void ExtendStretch(size_t index);

  TrackerContext& context_;
  PiecePool& pool_;
  bool started_ = false;
  uint64_t first_ = 0, next_ = 0, acknowledged_ = 0;
  uint64_t claimed_ = 0;  // by the last acknowledgment, beyond what was seen; 0: it was not
  uint64_t beyond_ = 0;   // acknowledged, or claimed to be, in `beyond_frame_`; up to next(): it tells nothing
  FrameRef beyond_frame_;
  uint64_t held_bytes_ = 0;
  uint64_t stretch_end_ = 0;  // contiguous_end(), where something is held
  std::deque<Stored> held_;   // ascending, without overlaps
  std::optional<Stored> popped_;
};

}  // namespace stag::fabric
