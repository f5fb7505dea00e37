// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/script.h"

namespace stag::test {

namespace {

Buffer Encoded(const std::optional<rpcrdma::PrivateData>& settings) {
  Buffer data;
  if (settings) rpcrdma::Encode(*settings, data);
  return data;
}

}  // namespace

void Script::Open(std::optional<rpcrdma::PrivateData> client, std::optional<rpcrdma::PrivateData> server) {
  OpenWith(Encoded(client), Encoded(server));
}

void Script::Send(fabric::Side from, const rpcrdma::Header& header, const Buffer& payload,
                  std::optional<uint32_t> invalidated) {
  SendMessage(from, MessageBytes(header, payload), invalidated);
}

void Script::Read(fabric::Side reader, uint32_t handle, uint64_t offset, const Buffer& bytes) {
  ReadRequest(reader, handle, offset, static_cast<uint32_t>(bytes.size()));
  ReadResponse(fabric::Side(1 - reader), handle, offset, bytes);
}

Buffer MessageBytes(const rpcrdma::Header& header, const Buffer& payload) {
  Buffer bytes;
  rpcrdma::Encode(header, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

}  // namespace stag::test
