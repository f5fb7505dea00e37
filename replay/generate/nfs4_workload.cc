// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFSv4.1: a client, a session and open files of this connection's own.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "protocol/nfs/walk.h"
#include "replay/generate/workload.h"
#include "replay/nfs_client/nfs4_session.h"

namespace stag::generate {
namespace {

constexpr uint32_t kTypeRegular = 1;

std::string Owner(uint32_t connection) {
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  return fmt::format("stag-generate {} {} {}", host, ::getpid(), connection);
}

// After these the session is of no more use (RFC 8881 section 15.1).
bool EndsSession(uint32_t status) {
  enum : uint32_t { kStaleClient = 10022, kBadSession = 10052, kConnNotBound = 10055, kMisordered = 10063 };
  enum : uint32_t { kDeadSession = 10078 };
  return status == kStaleClient || status == kBadSession || status == kConnNotBound || status == kMisordered ||
         status == kDeadSession;
}

class Nfs4Workload final : public Workload {
 public:
  Nfs4Workload(const LoadOptions& options, uint32_t connection, std::vector<Part> share)
      : options_(options),
        share_(std::move(share)),
        calls_(nfs::kNfsProgram, 4, options.credential),
        planner_(options),
        largest_(std::max(LargestSize(options.jobs), share_.empty() ? 0 : kFillSize)),
        session_(calls_, Owner(connection), options.depth, largest_) {}

  Result<void> Begin(nfs_client::Caller& caller, bool again) override {
    planner_.Begin(caller.requester());
    if (auto begun = session_.Begin(caller); !begun) return begun;
    const uint32_t largest = LargestSize(options_.jobs);
    const bool reads = Weight(options_.jobs.mix, Operation::kRead) > 0;
    const bool writes = Weight(options_.jobs.mix, Operation::kWrite) > 0;
    if ((reads && largest > session_.read_max()) || (writes && largest > session_.write_max()))
      return Fail(fmt::format("the session allows READs of {} and WRITEs of {} bytes: give a smaller --size",
                              session_.read_max(), session_.write_max()));
    if (auto found = FindDirectory(caller); !found) return found;
    files_.clear();
    for (uint32_t i = 0; i < share_.size(); ++i) {
      const bool create = share_[i].creates && !again;
      if (auto opened = Open(caller, i, create); !opened) return opened;
      if (!create) continue;
      made_.push_back(FileName(options_, share_[i].file));
      const uint32_t piece = std::min(kFillSize, session_.write_max());
      if (auto filled = FillFile(*this, caller, options_, i, piece); !filled) return filled;
    }
    return {};
  }

  Result<void> End(nfs_client::Caller& caller) override {
    for (const File& file : files_) {
      auto closed = session_.Ask(
          caller, "CLOSE", [&](nfs_client::nfs4::Compound& c) { c.PutHandle(file.handle).Close(file.state); },
          [](nfs_client::nfs4::CompoundResults& r) { return r.Plain(nfs::kOpPutfh) && r.Plain(nfs::kOpClose); }, true);
      if (!closed) return closed;
    }
    files_.clear();
    for (; !options_.keep && !made_.empty(); made_.pop_back()) {
      auto removed = session_.Ask(
          caller, "REMOVE of " + made_.back(),
          [&](nfs_client::nfs4::Compound& c) { c.PutHandle(directory_).Remove(made_.back()); },
          [](nfs_client::nfs4::CompoundResults& r) { return r.Plain(nfs::kOpPutfh) && r.Plain(nfs::kOpRemove); }, true);
      if (!removed) return removed;
    }
    return session_.End(caller);
  }

  bool Ready() const override { return session_.Ready(); }

  void Encode(Job& job, rpcrdma::CallSpec& call) override {
    const nfs_client::nfs4::Sequence sequence = session_.Take();
    job.slot = sequence.slot;
    message_.clear();
    nfs_client::nfs4::Compound compound(calls_, message_);
    compound.Put(sequence);
    if (job.part < files_.size()) compound.PutHandle(files_[job.part].handle);
    switch (job.operation) {
      case Operation::kGetattr: compound.GetAttributes(); break;
      case Operation::kRead: compound.Read(files_[job.part].state, job.offset, job.size); break;
      case Operation::kWrite:
        compound.Write(files_[job.part].state, job.offset, job.size, options_.stable);
        call.message = message_;
        planner_.PlanReply(call, nfs_client::nfs4::kResultsSize);
        return planner_.PutData(call, job, share_[job.part].file, job.offset, true);
      default: break;
    }
    call.message = message_;
    planner_.PlanReply(call, nfs_client::nfs4::kResultsSize, job.operation == Operation::kRead ? job.size : 0);
  }

  Verdict Judge(const Job& job, Bytes bytes, std::span<const Bytes> chunks) override {
    Verdict verdict;
    nfs_client::nfs4::CompoundResults results(bytes);
    const bool sequenced = results.Sequence();
    session_.Release(job.slot, sequenced);
    bool fine = sequenced && results.Plain(nfs::kOpPutfh);
    if (fine && job.operation == Operation::kGetattr) {
      uint32_t type = 0;
      uint64_t size = 0;
      fine = results.GetAttributes(type, size);
      if (fine && (type != kTypeRegular || size != options_.file_size)) Wrong(verdict, "attributes of another file");
    } else if (fine && job.operation == Operation::kRead) {
      fine = results.Read(chunks, verdict.data, verdict.eof);
      if (fine && verdict.data.size() > job.size) Wrong(verdict, "more data than was asked for");
    } else if (fine && job.operation == Operation::kWrite) {
      uint32_t count = 0;
      uint64_t verifier = 0;
      fine = results.Write(count, verifier);
      if (fine && count > job.size) Wrong(verdict, "more was written than was sent");
      if (fine) verdict.written = std::min(count, job.size), verdict.verifier = verifier;
    }
    if (!fine) {
      verdict.failure = nfs_client::FailureText(results);
      verdict.wrong = !results.ok();
      verdict.over = results.ok() && EndsSession(results.status());
    }
    return verdict;
  }

  void Drop(const Job& job) override { session_.Release(job.slot, false); }

 private:
  struct File {
    std::vector<std::byte> handle;
    nfs_client::nfs4::StateId state{};
  };

  static void Wrong(Verdict& verdict, std::string_view what) {
    verdict.failure = what;
    verdict.wrong = true;
  }

  Result<void> FindDirectory(nfs_client::Caller& caller) {
    std::vector<std::string> names;
    for (size_t at = 0; at < options_.path.size();) {
      const size_t end = std::min(options_.path.find('/', at), options_.path.size());
      if (end > at) names.push_back(options_.path.substr(at, end - at));
      at = end + 1;
    }
    // A component at a time: the session allows few operations in a COMPOUND.
    const auto take = [this](nfs_client::nfs4::CompoundResults& r) {
      Bytes handle;
      if (!r.GetHandle(handle)) return false;
      directory_.assign(handle.begin(), handle.end());
      return true;
    };
    auto found = session_.Ask(
        caller, "PUTROOTFH", [](nfs_client::nfs4::Compound& c) { c.PutRootHandle().GetHandle(); },
        [&](nfs_client::nfs4::CompoundResults& r) { return r.Plain(nfs::kOpPutrootfh) && take(r); });
    for (size_t i = 0; found && i < names.size(); ++i)
      found = session_.Ask(
          caller, fmt::format("{} in {}", names[i], options_.path),
          [&](nfs_client::nfs4::Compound& c) { c.PutHandle(directory_).Lookup(names[i]).GetHandle(); },
          [&](nfs_client::nfs4::CompoundResults& r) {
            return r.Plain(nfs::kOpPutfh) && r.Plain(nfs::kOpLookup) && take(r);
          });
    return found;
  }

  Result<void> Open(nfs_client::Caller& caller, uint32_t part, bool create) {
    const std::string name = FileName(options_, share_[part].file);
    File file;
    auto opened = session_.Ask(
        caller, fmt::format("OPEN of {} in {}", name, options_.path),
        [&](nfs_client::nfs4::Compound& c) {
          c.PutHandle(directory_).Open(session_.client(), session_.owner(), name, create).GetHandle();
        },
        [&](nfs_client::nfs4::CompoundResults& r) {
          Bytes handle;
          if (!r.Plain(nfs::kOpPutfh) || !r.Open(file.state) || !r.GetHandle(handle)) return false;
          file.handle.assign(handle.begin(), handle.end());
          return true;
        });
    if (opened) files_.push_back(std::move(file));
    return opened;
  }

  const LoadOptions& options_;
  const std::vector<Part> share_;
  const nfs_client::RpcCalls calls_;
  Planner planner_;
  const uint32_t largest_;
  nfs_client::Nfs4Session session_;
  std::vector<std::byte> message_, directory_;
  std::vector<File> files_;  // by part
  std::vector<std::string> made_;
};

}  // namespace

std::unique_ptr<Workload> MakeNfs4Workload(const LoadOptions& options, uint32_t connection, std::vector<Part> share) {
  return std::make_unique<Nfs4Workload>(options, connection, std::move(share));
}

}  // namespace stag::generate
