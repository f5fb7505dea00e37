// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/iwarp_originals.h"

#include "protocol/base/crc.h"
#include "protocol/iwarp/fpdu.h"

namespace stag::fabric {

void IwarpOriginals::Remember(uint64_t stream, uint64_t begin, Bytes fpdu, std::optional<uint32_t> crc,
                              uint64_t frame) {
  const uint32_t check = crc ? *crc : Crc32c(0, fpdu);
  originals_[PlaceOf(stream, begin)] = {stream, begin,          frame, static_cast<uint32_t>(fpdu.size()),
                                        check,  crc.has_value()};
}

FpduRepeat HoldAgainst(const IwarpOriginal& before, Bytes fpdu) {
  if (!before.has_crc) return Crc32c(0, fpdu) == before.check ? FpduRepeat::kSame : FpduRepeat::kUnverified;
  const uint32_t crc = iwarp::ComputeFpduCrc(fpdu);
  const bool intact = crc == LoadLe32(fpdu.last(iwarp::kCrcSize).data());
  return intact && crc != before.check ? FpduRepeat::kChanged : FpduRepeat::kSame;
}

}  // namespace stag::fabric
