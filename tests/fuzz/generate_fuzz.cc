// SPDX-License-Identifier: GPL-2.0-or-later
//
// A hostile server's results for every operation of a load. The input: a byte for which, two for how much of the rest
// came in the Write chunk, that and the results. What is taken for good lies in the input.
#include "replay/nfs_client/nfs3_calls.h"
#include "replay/nfs_client/nfs4_calls.h"

namespace {

using namespace stag;
using namespace stag::nfs_client;

void Require(bool condition) {
  if (!condition) __builtin_trap();
}

void Inside(Bytes part, Bytes whole) {
  if (part.empty()) return;
  Require(part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void Nfs4(uint8_t what, Bytes results, std::span<const Bytes> chunks, Bytes all) {
  nfs4::CompoundResults r(results);
  uint64_t number = 0;
  uint32_t word = 0;
  Bytes bytes;
  bool flag = false;
  nfs4::SessionId id{};
  nfs4::Channel channel;
  bool good = false;
  switch (what) {
    case 0: good = r.ExchangeId(number, word); break;
    case 1: good = r.CreateSession(id, channel); break;
    case 2: good = r.Sequence() && r.Plain(nfs::kOpPutfh) && r.Open(id) && r.GetHandle(bytes); break;
    case 3: good = r.Sequence() && r.Plain(nfs::kOpPutfh) && r.GetAttributes(word, number); break;
    case 4: good = r.Sequence() && r.Plain(nfs::kOpPutfh) && r.Read(chunks, bytes, flag); break;
    case 5: good = r.Sequence() && r.Plain(nfs::kOpPutfh) && r.Write(word, number); break;
    default: good = r.Sequence() && r.Plain(nfs::kOpReclaimComplete); break;
  }
  Require(!good || (r.ok() && r.status() == 0));
  if (good) Inside(bytes, all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Cursor input(std::as_bytes(std::span(data, size)));
  const uint8_t what = input.U8();
  const uint16_t chunk_size = input.U16();
  const Bytes all = input.Rest();
  const Bytes chunk = all.first(std::min<size_t>(chunk_size, all.size()));
  const Bytes results = all.subspan(chunk.size());
  const std::span<const Bytes> chunks(&chunk, what & 0x80 ? 1 : 0);
  switch (what & 0x7f) {
    case 0: (void)nfs3::DecodeGetattr(results); break;
    case 1: Inside(nfs3::DecodeLookup(results).handle, all); break;
    case 2: Inside(nfs3::DecodeRead(results, chunks).data, all); break;
    case 3: (void)nfs3::DecodeWrite(results); break;
    case 4: Inside(nfs3::DecodeCreate(results).handle, all); break;
    case 5: (void)nfs3::DecodeRemove(results); break;
    case 6: {
      const nfs3::ListResult list = nfs3::DecodeReaddirplus(results);
      Require(!list.ok || list.entries <= results.size() / 32);
      break;
    }
    case 7: (void)nfs3::DecodeFsinfo(results); break;
    case 8: Inside(nfs_client::TakeResults(results).bytes, all); break;
    default: Nfs4(static_cast<uint8_t>((what & 0x7f) - 9), results, chunks, all);
  }
  return 0;
}
