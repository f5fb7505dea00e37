// SPDX-License-Identifier: GPL-2.0-or-later
//
// Faults with Calls that are sent again.
#include "replay/nfs_client/nfs3_calls.h"
#include "tests/replay/probe/fault_tools.h"

namespace stag::probe::test {
namespace {

constexpr size_t kProcedureAt = 20, kStatusAt = 24;  // in a Call, and in a Reply

// Whether the Call came before, on any connection; as a hook of sending and of receiving sees it.
size_t Times(const Seen& call, const Scene& scene) { return scene.all.count(call.header.xid); }
bool CameBefore(const Seen& call, const Scene& scene) { return Times(call, scene) > 0; }

// What comes the n-th time gets a status that says nothing of it.
Fault Stale(std::string_view probe, uint32_t procedure, size_t from = 2) {
  return {.probe = probe,
          .words = "NFS3ERR_STALE",
          .send = [=](Seen& message, const Seen& call, Invalidate&, Scene& scene) {
            if (call.Word(kProcedureAt) == procedure && Times(call, scene) >= from)
              StoreBe32(message.rest.data() + kStatusAt, 70);
            return true;
          }};
}

}  // namespace

std::vector<Fault> AgainFaults() {
  using namespace nfs_client::nfs3;
  std::vector<Fault> faults = {Stale("again.create", kCreate),   Stale("again.remove", kRemove),
                               Stale("again.mkdir", kMkdir),     Stale("again.rmdir", kRmdir),
                               Stale("again.symlink", kSymlink), Stale("again.rename", kRename),
                               Stale("again.link", kLink),       Stale("again.other-stamp", kMkdir, 3)};
  const auto again = [](uint32_t procedure) {
    return [procedure](const Seen& m, const Scene& scene) {
      return m.Word(kProcedureAt) == procedure && CameBefore(m, scene);
    };
  };
  faults.push_back(
      On("again.other-procedure", "expected a GETATTR with results that can be read", again(kGetattr), Succeed));
  faults.push_back(On("again.other-arguments", "it is still there", again(kRemove), [](Seen& call, Scene& scene) {
    ReplyWith(scene, call, {0, 0, 0});  // NFS3_OK, and nothing about the directory
    return false;
  }));
  faults.push_back({.probe = "again.other-chunk",
                    .words = "came another byte at offset 0",
                    .write = [](Bytes, uint32_t, uint64_t, Scene& scene) { return scene.ordinal % 3 != 1; }});
  faults.push_back(On(
      "again.other-memory", "the bytes that were written as they are",
      [](const Seen& m, const Scene& scene) { return m.header.reads.size() == 2 && CameBefore(m, scene); },
      [](Seen& message, Scene&) {
        std::swap(message.header.reads[0], message.header.reads[1]);
        return true;
      }));
  faults.push_back(On(
      "again.other-form", kRefused,
      [](const Seen& m, const Scene& scene) { return m.header.proc == rpcrdma::kNomsg && CameBefore(m, scene); },
      kRefuse));
  faults.push_back(On("again.under-way", kEnded, again(kRemove), HangUp));
  for (Fault& fault : faults) fault.alone = true;
  return faults;
}

}  // namespace stag::probe::test
