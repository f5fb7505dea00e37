// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/ib/opcode.h"

namespace stag::ib {
namespace {

// The low five bits have one meaning in all services that allow them.
constexpr OpcodeInfo Low(unsigned low) {
  OpcodeInfo i;
  auto send = [&i](bool first, bool last) {
    i.operation = Operation::kSend, i.first = first, i.last = last, i.data = true;
  };
  auto write = [&i](bool first, bool last) {
    i.operation = Operation::kWrite, i.first = first, i.last = last, i.data = true, i.reth = first;
  };
  auto response = [&i](bool first, bool last) {
    i.operation = Operation::kReadResponse, i.first = first, i.last = last, i.data = true, i.response = true;
    i.aeth = first || last;
  };
  switch (low) {
    case kSendFirst: send(true, false); break;
    case kSendMiddle: send(false, false); break;
    case kSendLast: send(false, true); break;
    case kSendLastImmediate: send(false, true), i.immediate = true; break;
    case kSendOnly: send(true, true); break;
    case kSendOnlyImmediate: send(true, true), i.immediate = true; break;
    case kSendLastInvalidate: send(false, true), i.ieth = true; break;
    case kSendOnlyInvalidate: send(true, true), i.ieth = true; break;
    case kWriteFirst: write(true, false); break;
    case kWriteMiddle: write(false, false); break;
    case kWriteLast: write(false, true); break;
    case kWriteLastImmediate: write(false, true), i.immediate = true; break;
    case kWriteOnly: write(true, true); break;
    case kWriteOnlyImmediate: write(true, true), i.immediate = true; break;
    case kReadRequest: i.operation = Operation::kReadRequest, i.first = i.last = i.reth = true; break;
    case kReadResponseFirst: response(true, false); break;
    case kReadResponseMiddle: response(false, false); break;
    case kReadResponseLast: response(false, true); break;
    case kReadResponseOnly: response(true, true); break;
    case kAcknowledge: i.operation = Operation::kAck, i.first = i.last = i.response = i.aeth = true; break;
    case kAtomicAcknowledge:
      i.operation = Operation::kAtomicAck, i.first = i.last = i.response = i.aeth = i.atomic_ack = true;
      break;
    case kCompareSwap: i.operation = Operation::kCompareSwap, i.first = i.last = i.atomic = true; break;
    case kFetchAdd: i.operation = Operation::kFetchAdd, i.first = i.last = i.atomic = true; break;
    default: i.first = i.last = true; break;
  }
  return i;
}

constexpr OpcodeInfo Describe(unsigned opcode) {
  unsigned low = opcode & 0x1f;
  OpcodeInfo i = Low(low);
  OpcodeInfo unknown;
  unknown.first = unknown.last = true;
  switch (opcode >> 5) {
    case 0: i.service = Service::kRc; return i;
    case 1:
      if (low > kWriteOnlyImmediate) i = unknown;
      i.service = Service::kUc;
      return i;
    case 2:
      if (low >= kSendLastInvalidate) i = unknown;
      i.service = Service::kRd;
      i.rdeth = true;
      i.deth = !i.response;
      return i;
    case 3:
      if (low != kSendOnly && low != kSendOnlyImmediate) i = unknown;
      i.service = Service::kUd;
      i.deth = true;
      return i;
    case 5:
      i.service = Service::kXrc;
      i.xrceth = !i.response;
      return i;
    default: return unknown;
  }
}

constexpr std::array<OpcodeInfo, 256> MakeTable() {
  std::array<OpcodeInfo, 256> table{};
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    OpcodeInfo& i = table[opcode] = Describe(opcode);
    i.extended = static_cast<uint8_t>((i.rdeth ? 4 : 0) + (i.deth ? 8 : 0) + (i.xrceth ? 4 : 0) + (i.reth ? 16 : 0) +
                                      (i.atomic ? 28 : 0) + (i.aeth ? 4 : 0) + (i.atomic_ack ? 8 : 0) +
                                      (i.immediate ? 4 : 0) + (i.ieth ? 4 : 0));
    i.which = i.extended == 0              ? OpcodeInfo::Extended::kNone
              : i.reth && i.extended == 16 ? OpcodeInfo::Extended::kReth
              : i.aeth && i.extended == 4  ? OpcodeInfo::Extended::kAeth
                                           : OpcodeInfo::Extended::kOthers;
  }
  return table;
}

}  // namespace

constinit const std::array<OpcodeInfo, 256> kOpcodeTable = MakeTable();

}  // namespace stag::ib
