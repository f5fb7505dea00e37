// SPDX-License-Identifier: GPL-2.0-or-later
//
// The iWARP codecs on arbitrary bytes: nothing crashes, and whatever decodes whole encodes to the same bytes.
#include <cstdint>

#include "protocol/iwarp/ddp.h"
#include "protocol/iwarp/fpdu.h"
#include "protocol/iwarp/mpa.h"

namespace {

using namespace stag;
using namespace stag::iwarp;

void Require(bool condition) {
  if (!condition) __builtin_trap();
}

void TryMpa(Bytes input) {
  MpaFrame frame;
  if (DecodeMpaFrame(input, input.size() + 100, frame) != ParseStatus::kOk) return;
  std::vector<std::byte> again;
  EncodeMpaFrame(frame, again);
  Require(again.size() == MpaFrameSize(input) && std::memcmp(again.data(), input.data(), again.size()) == 0);
}

void TryFpdu(Bytes input, uint64_t position, bool markers) {
  std::vector<std::byte> scratch, again;
  Fpdu fpdu;
  if (DecodeFpdu(input, input.size(), position, markers, scratch, fpdu) != ParseStatus::kOk) return;
  Require(fpdu.size <= input.size() && fpdu.size <= kMaxFpduSize);
  (void)ComputeFpduCrc(input.first(fpdu.size));
  Require(EncodeFpdu(fpdu.ulpdu, position, markers, fpdu.crc_field != 0, again) == fpdu.size);
}

void TryDdp(Bytes input) {
  DdpSegment segment;
  const ParseStatus status = DecodeDdpSegment(input, input.size(), segment);
  if (status != ParseStatus::kOk && status != ParseStatus::kUnsupported) return;
  (void)IsPlausible(segment.header, segment.payload_length);
  std::vector<std::byte> again;
  EncodeDdpSegment(segment.header, segment.payload, again);
  Require(again.size() == input.size() && std::memcmp(again.data(), input.data(), again.size()) == 0);
}

void TryTerminate(Bytes input) {
  Terminate terminate, back;
  if (DecodeTerminate(input, input.size(), terminate) != ParseStatus::kOk) return;
  std::vector<std::byte> again;
  EncodeTerminate(terminate, again);
  Require(DecodeTerminate(again, again.size(), back) == ParseStatus::kOk && back == terminate);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input = std::as_bytes(std::span(data, size));
  TryMpa(input);
  TryDdp(input);
  TryTerminate(input);
  ReadRequest request;
  (void)DecodeReadRequest(input, input.size(), request);
  const uint64_t position = size > 0 ? data[size - 1] * uint64_t{4} : 0;
  TryFpdu(input, position, false);
  TryFpdu(input, position, true);
  return 0;
}
