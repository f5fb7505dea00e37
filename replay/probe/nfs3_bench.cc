// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/nfs3_bench.h"

#include <fmt/format.h>

#include <algorithm>

namespace stag::probe {

void NeedFile(const Bench& bench) {
  if (bench.target().file.empty()) Skipped("an NFSv3 export is needed: give --export");
}

Call ReadCall(Bench& bench, uint64_t offset, uint32_t count) {
  return MakeNfs3(bench, nfs_client::nfs3::kRead,
                  [&](Writer& out) { nfs_client::nfs3::PutRead(out, bench.target().file, offset, count); });
}

Call WriteCall(Bench& bench, uint64_t offset, size_t count) {
  return MakeNfs3(bench, nfs_client::nfs3::kWrite, [&](Writer& out) {
    nfs_client::nfs3::PutWrite(out, bench.target().file, offset, static_cast<uint32_t>(count),
                               nfs_client::nfs3::kFileSync);
  });
}

Data Results(Link& link, const Call& call, const Message& answer) {
  const Data reply = link.RpcReply(call, answer);
  const nfs_client::RpcResults results = nfs_client::TakeResults(reply);
  if (!results.failure.empty()) Failed("an RPC Reply (SUCCESS)", fmt::format("an RPC Reply ({})", results.failure));
  return {results.bytes.begin(), results.bytes.end()};
}

void ExpectStatus(const nfs_client::nfs3::Status& result, std::string_view what) {
  if (!result.ok) Failed(fmt::format("{} with results that can be read", what), "results that cannot");
  if (result.status == 0) return;
  const char* name = nfs::StatusName(3, result.status);
  Failed(fmt::format("{} that succeeds", what), name ? name : std::to_string(result.status));
}

void ExpectSame(Bytes came, Bytes expected, std::string_view what) {
  if (came.size() != expected.size())
    Failed(fmt::format("{} bytes of {}", expected.size(), what), fmt::format("{} bytes", came.size()));
  const auto [at, ignored] = std::ranges::mismatch(came, expected);
  if (at != came.end())
    Failed(fmt::format("the {} as they are", what), fmt::format("another byte at offset {}", at - came.begin()));
}

Data ReadInline(Bench& bench, Link& link, uint64_t offset, size_t size) {
  Data all;
  while (all.size() < size) {
    const auto count = static_cast<uint32_t>(std::min<size_t>(kInline, size - all.size()));
    const Call call = ReadCall(bench, offset + all.size(), count);
    const Data results = Results(link, call, link.Ask(call));
    const nfs_client::nfs3::ReadResult result = nfs_client::nfs3::DecodeRead(results, {});
    ExpectStatus(result, "a READ");
    if (result.data.empty()) break;
    all.insert(all.end(), result.data.begin(), result.data.end());
  }
  return all;
}

void ExpectWritten(Link& link, const Call& call, const Message& answer, size_t count) {
  const nfs_client::nfs3::WriteResult result = nfs_client::nfs3::DecodeWrite(Results(link, call, answer));
  ExpectStatus(result, "a WRITE");
  if (result.count != count)
    Failed(fmt::format("a WRITE of {} bytes", count), fmt::format("{} bytes written", result.count));
}

Call WholeWriteCall(Bench& bench, uint64_t offset, Bytes data) {
  Call call = WriteCall(bench, offset, data.size());
  Writer out(call.rpc);
  out.Put(data);
  out.Zeros(static_cast<size_t>(RoundUp4(data.size()) - data.size()));
  return call;
}

void WriteInline(Bench& bench, Link& link, uint64_t offset, Bytes data) {
  const Call call = WholeWriteCall(bench, offset, data);
  ExpectWritten(link, call, link.Ask(call), data.size());
}

}  // namespace stag::probe
