// SPDX-License-Identifier: GPL-2.0-or-later
//
// RFC 8797 private data: a search, because whatever other layers put before it has no fixed size.
#include "protocol/base/writer.h"
#include "protocol/rpcrdma/header.h"

namespace stag::rpcrdma {
namespace {

constexpr size_t kPrivateDataBytes = 8;
constexpr uint32_t kSwappedMagic = __builtin_bswap32(kPrivateDataMagic);

// Lower wins among matches that are not version 1 data.
int Rank(PrivateDataSearch::Found found) {
  using Found = PrivateDataSearch::Found;
  switch (found) {
    case Found::kData: return 0;
    case Found::kOtherVersion: return 1;
    case Found::kTruncated: return 2;
    case Found::kByteSwapped: return 3;
    case Found::kNothing: break;
  }
  return 4;
}

PrivateDataSearch At(Bytes bytes, size_t offset) {
  using Found = PrivateDataSearch::Found;
  PrivateDataSearch match;
  const uint32_t identifier = LoadBe32(bytes.data() + offset);
  if (identifier != kPrivateDataMagic && identifier != kSwappedMagic) return match;
  match.offset = offset;
  const bool whole = bytes.size() - offset >= kPrivateDataBytes;
  if (whole) {
    match.data.version = std::to_integer<uint8_t>(bytes[offset + 4]);
    match.data.flags = std::to_integer<uint8_t>(bytes[offset + 5]);
    match.data.send_size = std::to_integer<uint8_t>(bytes[offset + 6]);
    match.data.receive_size = std::to_integer<uint8_t>(bytes[offset + 7]);
  }
  if (identifier == kSwappedMagic) {
    // Without the version behind it the four bytes are chance.
    if (whole && match.data.version == 1) match.found = Found::kByteSwapped;
  } else if (!whole) {
    match.found = Found::kTruncated;
  } else {
    match.found = match.data.version == 1 ? Found::kData : Found::kOtherVersion;
  }
  return match;
}

}  // namespace

PrivateDataSearch FindPrivateData(Bytes private_data) {
  PrivateDataSearch best;
  for (size_t offset = 0; offset + 4 <= private_data.size(); ++offset) {
    const PrivateDataSearch match = At(private_data, offset);
    if (match.found == PrivateDataSearch::Found::kData) return match;
    if (Rank(match.found) < Rank(best.found)) best = match;
  }
  return best;
}

void Encode(const PrivateData& data, std::vector<std::byte>& out) {
  Writer w(out);
  w.U32(kPrivateDataMagic);
  w.U8(data.version);
  w.U8(data.flags);
  w.U8(data.send_size);
  w.U8(data.receive_size);
}

}  // namespace stag::rpcrdma
