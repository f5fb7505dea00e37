// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/iwarp_tcp.h"

#include <algorithm>

#include "protocol/base/sequence.h"

namespace stag::fabric {
namespace {

constexpr uint64_t kPieceOverhead = 192;  // bookkeeping, counted against the budget
constexpr size_t kMaxSpareCapacity = 64u << 10;
// An acknowledgment or a reset further ahead than this is taken for a packet of another connection.
constexpr uint64_t kMaxAhead = 64u << 20;

// `piece` cut to [from, to).
TcpPiece Cut(const TcpPiece& piece, uint64_t from, uint64_t to) {
  TcpPiece part = piece;
  part.begin = from;
  part.end = to;
  part.fin = piece.fin && to == piece.end;
  part.starts_segment = piece.starts_segment && from == piece.begin;
  const uint64_t skip = std::min<uint64_t>(from - piece.begin, piece.bytes.size());
  part.bytes = piece.bytes.subspan(static_cast<size_t>(skip));
  const uint64_t room = part.data_end() - from;
  if (part.bytes.size() > room) part.bytes = part.bytes.first(static_cast<size_t>(room));
  return part;
}

}  // namespace

std::optional<PiecePool::Storage> PiecePool::Take(size_t bytes) {
  std::optional<Storage> storage;
  if (!spare_.empty()) {
    storage = std::move(spare_.back());
    spare_.pop_back();
  } else {
    storage.emplace(context_.budget());
  }
  // A larger one is allocated anew: the bytes that it had are not worth a copy.
  if (bytes > storage->bytes.capacity()) std::vector<std::byte>().swap(storage->bytes);
  const uint64_t cost = kPieceOverhead + std::max(bytes, storage->bytes.capacity());
  if (!storage->charge.TrySet(cost)) {
    Clear();
    if (!storage->charge.TrySet(cost)) return std::nullopt;
  }
  return storage;
}

void PiecePool::Give(Storage storage) {
  if (storage.bytes.capacity() == 0 || storage.bytes.capacity() > kMaxSpareCapacity ||
      spare_.size() >= context_.limits().spare_pieces)
    return;
  spare_.push_back(std::move(storage));
}

void TcpStream::Start(uint32_t sequence) {
  started_ = true;
  first_ = next_ = FirstPosition(sequence);
  acknowledged_ = claimed_ = beyond_ = 0;
}

uint64_t TcpStream::Unwrap(uint32_t sequence) const { return NearestPosition<32>(next_, sequence); }

bool TcpStream::IsPlausible(uint64_t position) const {
  return position <= next_ + kMaxAhead && next_ <= position + kMaxAhead;
}

bool TcpStream::NoteAcknowledged(uint64_t position, const FrameRef& frame) {
  const bool ahead = position > next_;
  if (ahead && position > next_ + kMaxAhead) return false;
  if (ahead && beyond_ <= next_) {
    beyond_ = position;
    beyond_frame_ = frame;
  }
  if (ahead && (held_.empty() || position > held_.back().piece.end)) {
    if (claimed_ != 0 && position >= claimed_) acknowledged_ = std::max(acknowledged_, claimed_);
    claimed_ = position;
    return true;
  }
  acknowledged_ = std::max(acknowledged_, position);
  claimed_ = 0;
  return true;
}

size_t TcpStream::Find(uint64_t position) const {
  const auto it = std::upper_bound(held_.begin(), held_.end(), position,
                                   [](uint64_t p, const Stored& s) { return p < s.piece.end; });
  return static_cast<size_t>(it - held_.begin());
}

bool TcpStream::Insert(size_t index, const TcpPiece& piece) {
  const DecoderLimits& limits = context_.limits();
  if (held_.size() >= limits.pieces || held_bytes_ + piece.bytes.size() > limits.piece_bytes) return false;
  std::optional<PiecePool::Storage> storage = pool_.Take(piece.bytes.size());
  if (!storage) return false;
  Stored stored{piece, std::move(*storage)};
  stored.storage.bytes.assign(piece.bytes.begin(), piece.bytes.end());
  stored.piece.bytes = stored.storage.bytes;
  held_bytes_ += piece.bytes.size();
  held_.insert(held_.begin() + static_cast<ptrdiff_t>(index), std::move(stored));
  if (index == 0) {
    const bool alone = held_.size() == 1 || piece.end != held_[1].piece.begin;
    if (alone) stretch_end_ = piece.end;
  } else if (piece.begin == stretch_end_) {
    ExtendStretch(index);
  }
  return true;
}

// The piece `index` goes on where the stretch ends.
void TcpStream::ExtendStretch(size_t index) {
  for (; index < held_.size() && held_[index].piece.begin == stretch_end_; ++index)
    stretch_end_ = held_[index].piece.end;
}

TcpStream::Held TcpStream::Hold(TcpPiece piece) {
  if (piece.end <= next_) return Held::kDuplicate;
  if (piece.begin < next_) piece = Cut(piece, next_, piece.end);
  Held result = Held::kDuplicate;
  uint64_t at = piece.begin;
  for (size_t i = Find(at); at < piece.end; ++i) {
    const bool more = i < held_.size();
    const uint64_t until = more ? std::min(held_[i].piece.begin, piece.end) : piece.end;
    const uint64_t resume = more ? held_[i].piece.end : piece.end;
    if (until > at) {
      if (!Insert(i, Cut(piece, at, until))) return Held::kFull;
      result = Held::kAdded;
      ++i;
    }
    at = std::max(at, resume);
  }
  return result;
}

bool TcpStream::HoldFirst(const TcpPiece& piece) { return Insert(0, piece); }

TcpPiece TcpStream::Pop() {
  if (popped_) pool_.Give(std::move(popped_->storage));
  popped_ = std::move(held_.front());
  held_.pop_front();
  held_bytes_ -= popped_->piece.bytes.size();
  if (popped_->piece.end == stretch_end_ && !held_.empty()) {  // the next stretch
    stretch_end_ = held_.front().piece.begin;
    ExtendStretch(0);
  }
  return popped_->piece;
}

void TcpStream::SkipTo(uint64_t position) {
  while (!held_.empty() && held_.front().piece.end <= position) {
    held_bytes_ -= held_.front().piece.bytes.size();
    pool_.Give(std::move(held_.front().storage));
    held_.pop_front();
  }
  if (!held_.empty() && held_.front().piece.begin < position) {
    TcpPiece& piece = held_.front().piece;
    const size_t before = piece.bytes.size();
    piece = Cut(piece, position, piece.end);  // the storage keeps the bytes in front until it is recycled
    held_bytes_ -= before - piece.bytes.size();
  }
  if (!held_.empty() && stretch_end_ <= position) {
    stretch_end_ = held_.front().piece.begin;
    ExtendStretch(0);
  }
  next_ = position;
}

void TcpStream::Clear() {
  for (Stored& stored : held_) pool_.Give(std::move(stored.storage));
  held_.clear();
  held_bytes_ = 0;
  popped_.reset();
}

size_t TcpStream::Peek(uint64_t position, MutableBytes out, bool& cut) const {
  size_t done = 0;
  cut = false;
  ForEachFrom(position, [&](const TcpPiece& piece) {
    const uint64_t at = position + done;
    const uint64_t skip = at - piece.begin;
    const size_t captured = skip < piece.bytes.size() ? piece.bytes.size() - static_cast<size_t>(skip) : 0;
    const size_t n = std::min(captured, out.size() - done);
    if (n > 0) std::memcpy(out.data() + done, piece.bytes.data() + skip, n);
    done += n;
    if (done == out.size()) return false;
    cut = at + n < piece.data_end();
    return !cut;
  });
  return done;
}

}  // namespace stag::fabric
