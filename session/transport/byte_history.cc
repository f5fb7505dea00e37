// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/transport/byte_history.h"

#include <algorithm>
#include <cstring>

namespace stag::transport {
namespace {

constexpr size_t kFirstPieces = 16;  // room for so many at first

// Calls fn(place in the ring, part) for the one or two parts in which `bytes` lie in it.
template <typename Fn>
void InRing(uint64_t begin, Bytes bytes, Fn fn) {
  while (!bytes.empty()) {
    const auto place = static_cast<size_t>(begin % ByteHistory::kBytes);
    const size_t size = std::min<size_t>(bytes.size(), static_cast<size_t>(ByteHistory::kBytes) - place);
    fn(place, bytes.first(size));
    begin += size;
    bytes = bytes.subspan(size);
  }
}

}  // namespace

bool ByteHistory::Add(uint64_t begin, Bytes bytes) {
  if (bytes.size() >= kBytes || bytes.empty() || closed_) return false;
  if (!ring_ && !PlaceOf(shared_.lasting, bytes) && !UseRing()) return false;
  if (!ring_ && pieces_.capacity() == 0 && !MakeRoomForPiece()) return false;
  const uint64_t end = begin + bytes.size(), next = std::max(known_.next(), end);
  // Older bytes were overwritten, or are by these.
  const uint64_t oldest = known_.started() && next > kBytes ? next - kBytes : 0;
  if (begin < oldest) return false;
  if (begin == known_.next()) {  // as nearly all
    Write(begin, bytes);
    known_.Add(begin, end);
    return false;
  }
  bool differs = false;
  uint64_t at = begin;
  const auto part = [&](uint64_t from, uint64_t to) {
    return bytes.subspan(static_cast<size_t>(from - begin), static_cast<size_t>(to - from));
  };
  known_.ForEachSeen(begin, end, [&](uint64_t from, uint64_t to) {
    differs = differs || Differs(from, part(from, to));
    Write(at, part(at, from));
    at = to;
  });
  Write(at, part(at, end));
  known_.Add(begin, end);
  if (known_.full()) {  // what was captured of them is forgotten
    known_.Start(end);
    pieces_.clear();
  }
  return differs;
}

void ByteHistory::Close() {
  ring_.reset();
  std::vector<Piece>().swap(pieces_);
  charge_.Set(0);
  closed_ = true;
}

// Bytes that are not remembered.
void ByteHistory::Write(uint64_t begin, Bytes bytes) {
  if (bytes.empty()) return;
  if (closed_ || (!ring_ && pieces_.size() == pieces_.capacity() && !MakeRoomForPiece())) return;
  if (ring_) return WriteInRing(begin, bytes);
  AddPiece({begin, *PlaceOf(shared_.lasting, bytes), bytes.size()});
}

// From bytes that are remembered.
bool ByteHistory::Differs(uint64_t begin, Bytes bytes) const {
  if (closed_) return false;
  if (!ring_) return DiffersFromPieces(begin, bytes);
  bool differs = false;
  InRing(begin, bytes, [&](size_t place, Bytes part) {
    differs = differs || std::memcmp(&ring_[place], part.data(), part.size()) != 0;
  });
  return differs;
}

void ByteHistory::WriteInRing(uint64_t begin, Bytes bytes) {
  InRing(begin, bytes, [&](size_t place, Bytes part) { std::memcpy(&ring_[place], part.data(), part.size()); });
}

void ByteHistory::AddPiece(const Piece& piece) {
  if (pieces_.empty() || pieces_.back().begin < piece.begin) return pieces_.push_back(piece);
  pieces_.insert(std::ranges::lower_bound(pieces_, piece.begin, {}, &Piece::begin), piece);
}

bool ByteHistory::DiffersFromPieces(uint64_t begin, Bytes bytes) const {
  const uint64_t end = begin + bytes.size();
  auto piece = std::ranges::upper_bound(pieces_, begin, {}, &Piece::end);
  for (; piece != pieces_.end() && piece->begin < end; ++piece) {
    const uint64_t from = std::max(begin, piece->begin), to = std::min(end, piece->end());
    const Bytes first = shared_.lasting->Again(piece->place + from - piece->begin, static_cast<size_t>(to - from));
    if (!std::equal(first.begin(), first.end(), &bytes[static_cast<size_t>(from - begin)])) return true;
  }
  return false;
}

// False: there is too little memory. What was remembered is forgotten, if it was anything.
bool ByteHistory::Take(uint64_t bytes) {
  if (shared_.TakeBuffer(charge_, bytes)) return true;
  if (charge_.bytes() > 0) Close();
  return false;
}

// Pieces of bytes that are too old go. Where so many are left that they take more memory than their bytes, the bytes
// are remembered.
bool ByteHistory::MakeRoomForPiece() {
  const uint64_t oldest = known_.next() > kBytes ? known_.next() - kBytes : 0;
  pieces_.erase(pieces_.begin(), std::ranges::upper_bound(pieces_, oldest, {}, &Piece::end));
  if (pieces_.size() < pieces_.capacity() / 4 * 3 && !pieces_.empty()) return true;
  if (pieces_.capacity() >= kMostPieces) return UseRing();
  const size_t more = std::max<size_t>(kFirstPieces, pieces_.capacity());
  if (!Take(more * sizeof(Piece))) return false;
  pieces_.reserve(pieces_.capacity() + more);
  return true;
}

bool ByteHistory::UseRing() {
  if (!Take(kBytes)) return false;
  ring_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(kBytes));
  for (const Piece& piece : pieces_) {
    const Bytes bytes = shared_.lasting->Again(piece.place, piece.size);
    closed_ = closed_ || bytes.size() < piece.size;  // the file has become shorter
    WriteInRing(piece.begin, bytes);
  }
  std::vector<Piece>().swap(pieces_);
  charge_.Set(kBytes);
  return true;
}

}  // namespace stag::transport
