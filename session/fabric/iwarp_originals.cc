// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/iwarp_originals.h"

#include <algorithm>

#include "protocol/base/crc.h"
#include "protocol/iwarp/fpdu.h"

namespace stag::fabric {

void IwarpOriginals::RememberCrc(IwarpOriginal& original, Bytes fpdu, const std::optional<uint32_t>& crc) {
  original.what = crc ? IwarpOriginal::What::kCrc : IwarpOriginal::What::kOurCrc;
  original.crc = crc ? *crc : Crc32c(0, fpdu);
}

FpduRepeat IwarpOriginals::HoldAgainst(const IwarpOriginal& before, Bytes fpdu) const {
  switch (before.what) {
    case IwarpOriginal::What::kCrc: {
      const uint32_t crc = iwarp::ComputeFpduCrc(fpdu);
      const bool intact = crc == LoadLe32(fpdu.last(iwarp::kCrcSize).data());
      return intact && crc != before.crc ? FpduRepeat::kChanged : FpduRepeat::kSame;
    }
    case IwarpOriginal::What::kOurCrc:
      return Crc32c(0, fpdu) == before.crc ? FpduRepeat::kSame : FpduRepeat::kUnverified;
    case IwarpOriginal::What::kBytes: break;
  }
  const Bytes first = lasting_->Again(before.place, fpdu.size());
  return std::equal(first.begin(), first.end(), fpdu.begin()) ? FpduRepeat::kSame : FpduRepeat::kUnverified;
}

}  // namespace stag::fabric
