// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/nfs4_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace stag::probe {
namespace {

constexpr uint32_t kFileSync4 = 2;

std::vector<std::string> DirectoryOf(const Bench& bench) {
  std::string_view path = bench.options().nfs4_path;
  if (path.empty()) Skipped("a directory of NFSv4 is needed: give --nfs4-export");
  std::vector<std::string> names;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) names.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return names;
}

}  // namespace

Nfs4File::Nfs4File(Bench& bench)
    : path_(DirectoryOf(bench)), client_(bench), name_(fmt::format("stag-probe.{:08x}", std::random_device{}())) {
  const Compounded came = client_.Ask(client_.Make([&](nfs_client::nfs4::Compound& c) {
    PutDirectory(c).Open(client_.client(), client_.owner(), name_, true).GetHandle();
  }));
  if (came.status == kErrGrace) Inconclusive("the server is in its grace period");
  Nfs4::Expect(came, nfs::kNfs4Ok, "OPEN of a new file");
  nfs_client::nfs4::CompoundResults results = came.results();
  Bytes handle;
  bool good = results.Sequence() && results.Plain(nfs::kOpPutrootfh);
  for (size_t i = 0; good && i < path_.size(); ++i) good = results.Plain(nfs::kOpLookup);
  if (!good || !results.Open(state_) || !results.GetHandle(handle)) Failed("results of OPEN and GETFH", "others");
  handle_.assign(handle.begin(), handle.end());
  Call call = Write(0, kContent);
  AddRead(call, static_cast<uint32_t>(call.rpc.size()),
          link().Offer({kContent}, endpoint::Access::kRemoteRead, Pattern(kContent)));
  Nfs4::Expect(client_.Ask(call), nfs::kNfs4Ok, "WRITE");
}

Nfs4File::~Nfs4File() {
  // A server may end a connection some time after it refused a Call on it: again, on another. The first slot may have
  // been left in disorder, and so the one that the Call used which was not answered.
  uint32_t slot = client_.slots() - 1;
  const auto ask = [&](const Nfs4::Add& add) { (void)client_.Ask(client_.Make(add, slot)); };
  for (bool again = false;; again = true) {
    try {
      if (again || !link().open()) client_.Reconnect();
      ask([this](nfs_client::nfs4::Compound& c) { c.PutHandle(handle_).Close(state_); });
      for (const std::string& name : {name_, name_ + ".link"})
        ask([&](nfs_client::nfs4::Compound& c) { PutDirectory(c).Remove(name); });
      return;
    } catch (const Ended&) {
      if (again) return;  // it stays; the probe says what is wrong
      if (slot > 0) --slot;
    }
  }
}

Call Nfs4File::Make(const Nfs4::Add& add, bool cache) {
  return client_.At(client_.Next(0, cache), [&](nfs_client::nfs4::Compound& c) { add(c.PutHandle(handle_)); });
}

void Nfs4File::PutWrite(nfs_client::nfs4::Compound& c, uint64_t offset, uint32_t count) const {
  c.Write(state_, offset, count, kFileSync4);
}

nfs_client::nfs4::Compound& Nfs4File::PutDirectory(nfs_client::nfs4::Compound& c) const {
  c.PutRootHandle();
  for (const std::string& name : path_) c.Lookup(name);
  return c;
}

nfs_client::nfs4::CompoundResults Nfs4File::Behind(const Compounded& came) {
  nfs_client::nfs4::CompoundResults results = came.results();
  if (!results.Sequence() || !results.Plain(nfs::kOpPutfh)) Failed("results of SEQUENCE and PUTFH", "others");
  return results;
}

void Nfs4File::ExpectBytes(uint64_t offset, Bytes expected) {
  Data all;
  while (all.size() < expected.size()) {
    const auto count = static_cast<uint32_t>(std::min<size_t>(1024, expected.size() - all.size()));
    const Compounded came =
        client_.Ask(Make([&](nfs_client::nfs4::Compound& c) { c.Read(state_, offset + all.size(), count); }));
    Nfs4::Expect(came, nfs::kNfs4Ok, "READ");
    nfs_client::nfs4::CompoundResults results = Behind(came);
    Bytes data;
    bool eof = false;
    if (!results.Read({}, data, eof) || data.empty()) break;
    all.insert(all.end(), data.begin(), data.end());
  }
  ExpectSame(all, expected, "bytes of the file");
}

}  // namespace stag::probe
