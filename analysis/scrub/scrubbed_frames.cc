// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/scrubbed_frames.h"

#include <algorithm>
#include <array>

#include "protocol/iwarp/fpdu.h"

namespace stag::scrub {

void SkipPlaces(std::vector<Place>& places, uint64_t length) {
  for (Place& place : places) {
    const uint64_t n = std::min(length, place.length);
    place.offset += n;
    place.length -= n;
    length -= n;
  }
}

void WritePlaces(ScrubbedFrames& frames, const std::vector<Place>& places, Bytes bytes) {
  for (const Place& place : places) {
    const size_t n = static_cast<size_t>(std::min<uint64_t>(place.length, bytes.size()));
    frames.Write({place.frame, place.offset, n}, bytes.first(n));
    bytes = bytes.subspan(n);
    if (bytes.empty()) return;
  }
}

void StoreFpduCrc(const std::vector<MutableBytes>& parts, bool right) {
  std::vector<std::byte> fpdu;
  for (const MutableBytes part : parts) fpdu.insert(fpdu.end(), part.begin(), part.end());
  if (fpdu.size() < iwarp::kCrcSize) return;
  uint32_t crc = iwarp::ComputeFpduCrc(fpdu);
  if (!right) crc = crc == 0x55555555u ? 0xaaaaaaaau : crc ^ 0x55555555u;
  std::array<std::byte, iwarp::kCrcSize> field;
  StoreLe32(field.data(), crc);
  size_t left = field.size();
  for (size_t i = parts.size(); i-- > 0 && left > 0;) {
    const size_t n = std::min(left, parts[i].size());
    std::copy_n(field.begin() + static_cast<ptrdiff_t>(left - n), n, parts[i].end() - static_cast<ptrdiff_t>(n));
    left -= n;
  }
}

void ChangeRepeat(MutableBytes bytes, bool fpdu) {
  const size_t behind = fpdu ? iwarp::kCrcSize : 0;
  if (bytes.size() <= behind) return;
  bytes[bytes.size() - behind - 1] ^= std::byte{1};
  if (fpdu && LoadBe32(bytes.last(iwarp::kCrcSize).data()) != 0) StoreFpduCrc({bytes}, true);
}

}  // namespace stag::scrub
