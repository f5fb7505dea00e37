// SPDX-License-Identifier: GPL-2.0-or-later
//
// Fuzz target: link::Decode. The first byte chooses the link type, the second by how much the wire length exceeds what
// was captured. Whatever comes out must lie within the input, and is the same with a list of headers, which follow each
// other without a gap up to the payload.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "protocol/link/packet.h"

namespace {
void Require(bool condition) {
  if (!condition) std::abort();
}

bool Within(stag::Bytes part, stag::Bytes whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  stag::Bytes bytes = std::as_bytes(std::span(data + 2, size - 2));
  stag::Frame frame{
      {1, 0}, static_cast<stag::LinkType>(data[0] % 12), bytes, static_cast<uint32_t>(bytes.size() + data[1])};
  stag::link::Packet p = stag::link::Decode(frame);
  Require(Within(p.payload, bytes) && Within(p.icrc_headers, bytes));
  Require(p.payload.size() <= p.wire_length);
  if (p.carrier == stag::link::Carrier::kOther) Require(p.payload.empty() || p.status != stag::ParseStatus::kOk);

  stag::link::Packet listed;
  std::vector<stag::link::Header> headers;
  stag::link::Decode(frame, listed, headers);
  Require(listed.carrier == p.carrier && listed.status == p.status && listed.payload.data() == p.payload.data() &&
          listed.payload.size() == p.payload.size() && listed.icrc_headers.size() == p.icrc_headers.size());
  size_t at = 0;
  for (const stag::link::Header& header : headers) {
    Require(header.offset == at && header.length > 0);
    at = header.end();
  }
  Require(at <= bytes.size());
  if (!p.payload.empty() && p.status == stag::ParseStatus::kOk) Require(p.payload.data() == bytes.data() + at);
  return 0;
}
