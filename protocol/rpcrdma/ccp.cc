// SPDX-License-Identifier: GPL-2.0-or-later
//
// Bodies of the Connection Configuration Protocol of draft-08 section 6.2: three words each way.
#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"
#include "protocol/rpcrdma/header.h"

namespace stag::rpcrdma {

ParseStatus Decode(Bytes body, uint64_t length, CcpArguments& arguments) {
  Cursor cursor(body, length);
  arguments = {};
  arguments.maxcall_sendsize = cursor.U32();
  arguments.maxreply_sendsize = cursor.U32();
  arguments.maxrdmaread = cursor.U32();
  return cursor.status();
}

ParseStatus Decode(Bytes body, uint64_t length, CcpResults& results) {
  Cursor cursor(body, length);
  results = {};
  results.maxcall_sendsize = cursor.U32();
  results.align = cursor.U32();
  results.maxrdmaread = cursor.U32();
  return cursor.status();
}

void Encode(const CcpArguments& arguments, std::vector<std::byte>& out) {
  Writer w(out);
  w.U32(arguments.maxcall_sendsize);
  w.U32(arguments.maxreply_sendsize);
  w.U32(arguments.maxrdmaread);
}

void Encode(const CcpResults& results, std::vector<std::byte>& out) {
  Writer w(out);
  w.U32(results.maxcall_sendsize);
  w.U32(results.align);
  w.U32(results.maxrdmaread);
}

}  // namespace stag::rpcrdma
