// SPDX-License-Identifier: GPL-2.0-or-later
//
// Transport header and private data of arbitrary bytes. The first byte says how many bytes beyond the input the wire
// had; the rest is the Send. A header that decodes must encode to the bytes it came from.
#include <cstdint>

#include "protocol/rpcrdma/header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stag;
  if (size == 0) return 0;
  const uint64_t beyond = data[0];
  const Bytes bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);

  static rpcrdma::Header header;
  const ParseStatus status = rpcrdma::Decode(bytes, bytes.size() + beyond, header);
  uint64_t segments = 0;
  for (const rpcrdma::Chunk& chunk : header.write_chunks) segments += header.Of(chunk).size();
  if (header.reply_chunk) segments += header.Of(*header.reply_chunk).size();
  if (segments > header.segments.size()) __builtin_trap();
  if (header.defect_offset > bytes.size() + beyond) __builtin_trap();
  if (status == ParseStatus::kOk) {
    std::vector<std::byte> again;
    rpcrdma::Encode(header, again);
    if (again.size() != header.length || again.size() > bytes.size()) __builtin_trap();
    if (std::memcmp(again.data(), bytes.data(), again.size()) != 0) __builtin_trap();
  }

  const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(bytes);
  if (search.found != rpcrdma::PrivateDataSearch::Found::kNothing && search.offset + 4 > bytes.size()) __builtin_trap();
  rpcrdma::CcpArguments arguments;
  rpcrdma::CcpResults results;
  if (rpcrdma::Decode(bytes, bytes.size() + beyond, arguments) !=
      rpcrdma::Decode(bytes, bytes.size() + beyond, results))
    __builtin_trap();
  return 0;
}
