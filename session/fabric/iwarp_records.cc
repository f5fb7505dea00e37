// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/iwarp_records.h"

#include <algorithm>

#include "protocol/iwarp/mpa.h"

namespace stag::fabric {

namespace {

constexpr uint32_t kLastFragment = 0x80000000u, kMaxFragment = 16u << 20;

// A record mark with an RPC version 2 message behind it.
bool BeginsRpc(Bytes bytes) {
  if (bytes.size() < 16) return false;
  const uint32_t fragment = LoadBe32(bytes.data()) & ~kLastFragment;
  const uint32_t type = LoadBe32(bytes.data() + 8), next = LoadBe32(bytes.data() + 12);
  return fragment >= 12 && fragment <= kMaxFragment && ((type == 0 && next == 2) || (type == 1 && next <= 1));
}

}  // namespace

bool RecordStream::BeginsWithMpa(Bytes bytes) const {
  const iwarp::MpaKey key = iwarp::RecogniseMpaKey(bytes.first(std::min(bytes.size(), iwarp::kMpaKeySize)));
  return bytes.size() >= iwarp::kMpaKeySize && key != iwarp::MpaKey::kNone;
}

void RecordStream::OnMark(uint32_t mark, Bytes message) {
  const bool first = !more_fragments_;
  left_ = mark & ~kLastFragment;
  more_fragments_ = (mark & kLastFragment) == 0;
  if (!first || message.size() < 8) return;
  const uint32_t type = LoadBe32(message.data() + 4);
  calls_ += type == 0;
  replies_ += type == 1;
}

void RecordStream::Lose() {
  *this = {};
  lost_ = true;
}

uint64_t RecordStream::Take(Bytes bytes, uint64_t wire) {
  if (BeginsWithMpa(bytes) || bytes_ >= kMaxBytes || (bytes_ == 0 && !BeginsRpc(bytes))) {
    if (!BeginsWithMpa(bytes)) Lose();
    return 0;
  }
  uint64_t used = 0;
  while (used < wire) {
    if (left_ > 0) {
      const uint64_t n = std::min<uint64_t>(left_, wire - used);
      left_ -= static_cast<uint32_t>(n);
      used += n;
      continue;
    }
    if (used >= bytes.size()) {  // a mark that was not captured: nobody knows where the record ends
      Lose();
      return 0;
    }
    const Bytes rest = bytes.subspan(static_cast<size_t>(used));
    if (mark_size_ == 0 && !more_fragments_ && BeginsWithMpa(rest)) break;
    mark_[mark_size_++] = rest[0];
    ++used;
    if (mark_size_ < mark_.size()) continue;
    mark_size_ = 0;
    OnMark(LoadBe32(mark_.data()), rest.subspan(1));
    if (left_ > kMaxFragment) {
      Lose();
      return 0;
    }
  }
  bytes_ += used;
  return used;
}

}  // namespace stag::fabric
