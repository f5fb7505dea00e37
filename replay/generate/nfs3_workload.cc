// SPDX-License-Identifier: GPL-2.0-or-later
//
// NFSv3: files of this connection's own in one directory.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/nfs/walk.h"
#include "replay/generate/workload.h"

namespace stag::generate {
namespace {

constexpr uint32_t kVersion = 3, kListNames = 8192, kListBytes = 32768;

std::string StatusText(uint32_t status) {
  const char* name = nfs::StatusName(kVersion, status);
  return name ? name : fmt::format("status {}", status);
}

class Nfs3Workload final : public Workload {
 public:
  Nfs3Workload(const LoadOptions& options, std::vector<Part> share)
      : options_(options),
        share_(std::move(share)),
        calls_(nfs::kNfsProgram, kVersion, options.credential),
        planner_(options) {}

  Result<void> Begin(nfs_client::Caller& caller, bool again) override {
    planner_.Begin(caller.requester());
    if (again) return {};
    if (auto fine = CheckSizes(caller); !fine) return fine;
    for (uint32_t i = 0; i < share_.size(); ++i)
      if (auto ready = share_[i].creates ? Make(caller, i) : Find(caller, i); !ready) return ready;
    return {};
  }

  Result<void> End(nfs_client::Caller& caller) override {
    if (options_.keep) return {};
    for (; !made_.empty(); made_.pop_back()) {
      Start(nfs_client::nfs3::kRemove);
      nfs_client::nfs3::PutName(arguments_, options_.directory, made_.back());
      const auto results = caller.Ask({.message = message_}, true);
      if (!results) return Fail(fmt::format("{} stays on the server: {}", made_.back(), results.error().message));
      const nfs_client::nfs3::Status removed = nfs_client::nfs3::DecodeRemove(*results);
      if (removed.status != 0) return Fail(fmt::format("REMOVE of {}: {}", made_.back(), StatusText(removed.status)));
    }
    return {};
  }

  void Encode(Job& job, rpcrdma::CallSpec& call) override {
    const Bytes handle = job.part < files_.size() ? Bytes(files_[job.part]) : Bytes{};
    uint64_t results = 0;
    switch (job.operation) {
      case Operation::kGetattr:
        Start(nfs_client::nfs3::kGetattr);
        nfs_client::nfs3::PutHandle(arguments_, handle);
        results = nfs_client::nfs3::kGetattrSize;
        break;
      case Operation::kLookup:
        Start(nfs_client::nfs3::kLookup);
        nfs_client::nfs3::PutName(arguments_, options_.directory, Name(job.part));
        results = nfs_client::nfs3::kLookupSize;
        break;
      case Operation::kRead:
        Start(nfs_client::nfs3::kRead);
        nfs_client::nfs3::PutRead(arguments_, handle, job.offset, job.size);
        results = nfs_client::nfs3::kReadSize;
        break;
      case Operation::kWrite:
        Start(nfs_client::nfs3::kWrite);
        nfs_client::nfs3::PutWrite(arguments_, handle, job.offset, job.size, options_.stable);
        call.message = message_;
        planner_.PlanReply(call, nfs_client::nfs3::kWriteSize);
        return planner_.PutData(call, job, share_[job.part].file, job.offset, true);
      case Operation::kReaddirplus:
        Start(nfs_client::nfs3::kReaddirplus);
        nfs_client::nfs3::PutReaddirplus(arguments_, options_.directory, kListNames, kListBytes);
        results = 4 + kListBytes;
        break;
      default: Start(0);
    }
    call.message = message_;
    planner_.PlanReply(call, results, job.operation == Operation::kRead ? job.size : 0);
  }

  Verdict Judge(const Job& job, Bytes results, std::span<const Bytes> chunks) override {
    Verdict verdict;
    switch (job.operation) {
      case Operation::kGetattr: {
        const nfs_client::nfs3::GetattrResult got = nfs_client::nfs3::DecodeGetattr(results);
        if (Fine(got, verdict) &&
            (got.attributes.type != nfs_client::nfs3::kTypeRegular || got.attributes.size != options_.file_size))
          Wrong(verdict, "attributes of another file");
        break;
      }
      case Operation::kLookup: {
        const nfs_client::nfs3::HandleResult got = nfs_client::nfs3::DecodeLookup(results);
        if (Fine(got, verdict) && !std::ranges::equal(got.handle, files_[job.part]))
          Wrong(verdict, "the handle of another file");
        break;
      }
      case Operation::kRead: {
        const nfs_client::nfs3::ReadResult got = nfs_client::nfs3::DecodeRead(results, chunks);
        if (!Fine(got, verdict)) break;
        if (got.data.size() > job.size) Wrong(verdict, "more data than was asked for");
        verdict.data = got.data;
        verdict.eof = got.eof;
        break;
      }
      case Operation::kWrite: {
        const nfs_client::nfs3::WriteResult got = nfs_client::nfs3::DecodeWrite(results);
        if (!Fine(got, verdict)) break;
        if (got.count > job.size) Wrong(verdict, "more was written than was sent");
        verdict.written = std::min(got.count, job.size);
        verdict.verifier = got.verifier;
        break;
      }
      case Operation::kReaddirplus: Fine(nfs_client::nfs3::DecodeReaddirplus(results), verdict); break;
      default: break;
    }
    return verdict;
  }

 private:
  std::string Name(uint32_t part) const { return FileName(options_, share_[part].file); }
  void Start(uint32_t procedure) {
    message_.clear();
    calls_.Begin(procedure, message_);
  }

  static void Wrong(Verdict& verdict, std::string_view what) {
    verdict.failure = what;
    verdict.wrong = true;
  }
  static bool Fine(const nfs_client::nfs3::Status& result, Verdict& verdict) {
    if (!result.ok) {
      Wrong(verdict, "results that cannot be read");
    } else if (result.status != 0) {
      verdict.failure = StatusText(result.status);
    }
    return verdict.failure.empty();
  }

  Result<void> CheckSizes(nfs_client::Caller& caller) {
    Start(nfs_client::nfs3::kFsinfo);
    nfs_client::nfs3::PutHandle(arguments_, options_.directory);
    const auto results = caller.Ask({.message = message_});
    if (!results) return Fail("FSINFO: " + results.error().message);
    const nfs_client::nfs3::FsinfoResult info = nfs_client::nfs3::DecodeFsinfo(*results);
    if (!info.ok) return Fail("FSINFO: results that cannot be read");
    if (info.status != 0)
      return Fail(fmt::format("the directory's file handle is not good: FSINFO says {}", StatusText(info.status)));
    fill_size_ = std::min(kFillSize, info.write_max);
    if (fill_size_ == 0) return Fail("FSINFO: the server takes no data (wtmax 0)");
    const uint32_t largest = LargestSize(options_.jobs);
    const bool reads = Weight(options_.jobs.mix, Operation::kRead) > 0;
    const bool writes = Weight(options_.jobs.mix, Operation::kWrite) > 0;
    if ((reads && largest > info.read_max) || (writes && largest > info.write_max))
      return Fail(fmt::format("the server's largest READ is {} and its largest WRITE {} bytes: give a smaller --size",
                              info.read_max, info.write_max));
    return {};
  }

  // CREATE, which cuts a file that is there; LOOKUP when it gives no handle; contents.
  Result<void> Make(nfs_client::Caller& caller, uint32_t part) {
    Start(nfs_client::nfs3::kCreate);
    constexpr uint32_t kMode = 0644;
    nfs_client::nfs3::PutCreate(arguments_, options_.directory, Name(part), kMode);
    const auto results = caller.Ask({.message = message_});
    if (!results) return Fail(fmt::format("CREATE of {}: {}", Name(part), results.error().message));
    const nfs_client::nfs3::HandleResult made = nfs_client::nfs3::DecodeCreate(*results);
    if (!made.ok) return Fail("CREATE: results that cannot be read");
    if (made.status != 0)
      return Fail(fmt::format("cannot make files in {}: CREATE of {} says {}", options_.path, Name(part),
                              StatusText(made.status)));
    made_.push_back(Name(part));
    if (made.handle.empty()) {
      if (auto found = Find(caller, part); !found) return found;
    } else {
      files_.emplace_back(made.handle.begin(), made.handle.end());
    }
    return FillFile(*this, caller, options_, part, fill_size_);
  }

  Result<void> Find(nfs_client::Caller& caller, uint32_t part) {
    Start(nfs_client::nfs3::kLookup);
    nfs_client::nfs3::PutName(arguments_, options_.directory, Name(part));
    const auto results = caller.Ask({.message = message_});
    if (!results) return Fail(fmt::format("LOOKUP of {}: {}", Name(part), results.error().message));
    const nfs_client::nfs3::HandleResult found = nfs_client::nfs3::DecodeLookup(*results);
    if (!found.ok) return Fail("LOOKUP: results that cannot be read");
    if (found.status != 0) return Fail(fmt::format("LOOKUP of {}: {}", Name(part), StatusText(found.status)));
    files_.emplace_back(found.handle.begin(), found.handle.end());
    return {};
  }

  const LoadOptions& options_;
  const std::vector<Part> share_;
  const nfs_client::RpcCalls calls_;
  Planner planner_;
  std::vector<std::byte> message_;
  Writer arguments_{message_};
  std::vector<std::vector<std::byte>> files_;  // handles, by part
  std::vector<std::string> made_;              // files that this connection has to remove
  uint32_t fill_size_ = kFillSize;
};

}  // namespace

std::unique_ptr<Workload> MakeNfs3Workload(const LoadOptions& options, std::vector<Part> share) {
  return std::make_unique<Nfs3Workload>(options, std::move(share));
}

}  // namespace stag::generate
