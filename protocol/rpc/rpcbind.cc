// SPDX-License-Identifier: GPL-2.0-or-later
#include "protocol/rpc/rpcbind.h"

#include "protocol/base/cursor.h"

namespace stag::rpc {

namespace {

Bytes String(Cursor& c) {
  const uint64_t length = c.U32();
  const Bytes text = c.Take(length);
  c.Skip((4 - length % 4) % 4);
  return text;
}

Cursor Body(Bytes message, uint64_t length, uint32_t header) {
  if (message.size() < header) return Cursor({}, length > header ? length - header : 0);
  return Cursor(message.subspan(header), length - header);
}

}  // namespace

ParseStatus VisitRpcbindCall(const CallHeader& header, Bytes message, uint64_t length, const NetAddressFn& fn) {
  if (header.status != ParseStatus::kOk) return header.status;
  if (header.program != kRpcbindProgram || (header.version != 3 && header.version != 4))
    return ParseStatus::kUnsupported;
  switch (header.procedure) {
    case kRpcbSet:
    case kRpcbUnset:
    case kRpcbGetaddr:
    case kRpcbGetversaddr:
    case kRpcbGetaddrlist: break;
    default: return ParseStatus::kOk;
  }
  Cursor c = Body(message, length, header.length);
  c.Skip(8);  // program, version
  const Bytes netid = String(c), address = String(c);
  if (c.ok()) fn(netid, address);
  return c.status();
}

ParseStatus VisitRpcbindReply(uint32_t procedure, const ReplyHeader& header, Bytes message, uint64_t length,
                              const NetAddressFn& fn) {
  if (header.status != ParseStatus::kOk) return header.status;
  if (!header.success()) return ParseStatus::kOk;
  Cursor c = Body(message, length, header.length);
  switch (procedure) {
    case kRpcbGetaddr:
    case kRpcbGetversaddr: {
      const Bytes address = String(c);
      if (c.ok()) fn({}, address);
      break;
    }
    case kRpcbDump:
      while (c.ok() && c.U32() == 1) {
        c.Skip(8);
        const Bytes netid = String(c), address = String(c);
        String(c);  // owner
        if (c.ok()) fn(netid, address);
      }
      break;
    case kRpcbGetaddrlist:
      while (c.ok() && c.U32() == 1) {
        const Bytes address = String(c), netid = String(c);
        c.Skip(4);  // semantics
        String(c), String(c);
        if (c.ok()) fn(netid, address);
      }
      break;
    default: break;
  }
  return c.status();
}

}  // namespace stag::rpc
