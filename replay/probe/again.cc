// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of NFSv3 Calls that are sent again, on the same connection and after a reconnect, and of xids that come again
// with something else (RFC 8166 section 4.5.5; RFC 1813 section 4.5, the duplicate request cache).
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <span>

#include "protocol/rpc/message.h"
#include "replay/probe/nfs3_bench.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::probe {
namespace {

using nfs_client::nfs3::kNoEnt;
using nfs_client::nfs3::PutName;

enum : uint32_t { kOk = 0, kExist = 17 };

// What the Calls of a probe are about. The names are in the export's directory, and nobody else's.
struct Place {
  Bytes directory, file;
  std::string a, b;
};

struct Step {
  uint32_t procedure = 0;
  void (*put)(Writer&, const Place&) = nullptr;
};

void PutNoAttributes(Writer& out) { out.Zeros(6 * 4); }  // sattr3: nothing is set

constexpr uint32_t kUnchecked = 0, kGuarded = 1;
void PutCreate(Writer& out, const Place& p, std::string_view name, uint32_t how) {
  PutName(out, p.directory, name);
  out.U32(how);
  PutNoAttributes(out);
}

const Step kCreate{nfs_client::nfs3::kCreate, [](Writer& out, const Place& p) { PutCreate(out, p, p.a, kGuarded); }};
const Step kCreateOther{nfs_client::nfs3::kCreate,
                        [](Writer& out, const Place& p) { PutCreate(out, p, p.b, kUnchecked); }};
const Step kRemove{nfs_client::nfs3::kRemove, [](Writer& out, const Place& p) { PutName(out, p.directory, p.a); }};
const Step kRemoveOther{nfs_client::nfs3::kRemove, [](Writer& out, const Place& p) { PutName(out, p.directory, p.b); }};
const Step kLookupOther{nfs_client::nfs3::kLookup, [](Writer& out, const Place& p) { PutName(out, p.directory, p.b); }};
const Step kMkdir{nfs_client::nfs3::kMkdir, [](Writer& out, const Place& p) {
                    PutName(out, p.directory, p.a);
                    PutNoAttributes(out);
                  }};
const Step kRmdir{nfs_client::nfs3::kRmdir, [](Writer& out, const Place& p) { PutName(out, p.directory, p.a); }};
const Step kSymlink{nfs_client::nfs3::kSymlink, [](Writer& out, const Place& p) {
                      PutName(out, p.directory, p.a);
                      PutNoAttributes(out);
                      rpcrdma::PutString(out, p.b);
                    }};
const Step kRename{nfs_client::nfs3::kRename, [](Writer& out, const Place& p) {
                     PutName(out, p.directory, p.a);
                     PutName(out, p.directory, p.b);
                   }};
const Step kLinkAgain{nfs_client::nfs3::kLink, [](Writer& out, const Place& p) {
                        nfs_client::nfs3::PutHandle(out, p.file);
                        PutName(out, p.directory, p.a);
                      }};

// The names, and that none of them is left.
class Names {
 public:
  explicit Names(Bench& bench) : bench_(bench) {
    NeedFile(bench);
    const uint32_t n = std::random_device{}();
    place_ = {bench.target().directory, bench.target().file, fmt::format("stag-probe.a{:08x}", n),
              fmt::format("stag-probe.b{:08x}", n)};
  }

  Call Make(const Step& step) {
    return MakeNfs3(bench_, step.procedure, [&](Writer& out) { step.put(out, place_); });
  }
  static uint32_t Status(Link& link, const Call& call, const Message& answer) {
    const Data results = Results(link, call, answer);
    if (results.size() < 4) Failed("results with a status", "none");
    return LoadBe32(results.data());
  }
  uint32_t Ask(Link& link, const Call& call) { return Status(link, call, link.Ask(call)); }
  void Must(Link& link, const Step& step) {
    const Call call = Make(step);
    ExpectStatus({true, Ask(link, call)}, fmt::format("procedure {}", step.procedure));
  }

  // Runs `body`, and removes what it may have left.
  template <typename Body>
  void Use(Body body) {
    try {
      body(bench_.Connect());
    } catch (const Ended&) {
      Clean();
      throw;
    }
    Clean();
  }

 private:
  void Clean() {
    Link* const link = bench_.TryConnect();
    for (const Step& step : {kRemove, kRmdir, kRemoveOther}) {
      const Call call = Make(step);
      if (link && link->TrySend(call.Encoded())) (void)link->Next(bench_.options().patience.answer);
    }
  }

  Bench& bench_;
  Place place_;
};

std::string StatusText(uint32_t status) {
  const char* name = nfs::StatusName(3, status);
  return name ? name : std::to_string(status);
}

// `what` succeeds, and is sent again twice with its xid: on the same connection, and on another. It succeeds as before,
// or gets what it gets when it is executed again. `before` makes it possible.
void Repeat(Bench& bench, const Step& what, uint32_t executed_again, std::initializer_list<Step> before) {
  Names names(bench);
  names.Use([&](Link& first) {
    for (const Step& step : before) names.Must(first, step);
    const Call call = names.Make(what);
    ExpectStatus({true, names.Ask(first, call)}, "the first time");
    for (const bool reconnected : {false, true}) {
      bench.Case(reconnected ? "after a reconnect" : "on the same connection");
      if (reconnected) first.Disconnect();
      const uint32_t status = names.Ask(reconnected ? bench.Connect() : first, call);
      if (status == kOk) continue;
      if (status != executed_again)
        Failed(fmt::format("NFS3_OK, as the first time, or {}, when it is executed again", StatusText(executed_again)),
               StatusText(status));
      bench.Advise(
          fmt::format("{}: {}, for the Call was executed again; a duplicate request cache (RFC 1813 section "
                      "4.5) would give the Reply of the first time",
                      bench.current_case(), StatusText(status)));
    }
  });
}

void CreateAgain(Bench& bench) { Repeat(bench, kCreate, kExist, {}); }
void RemoveAgain(Bench& bench) { Repeat(bench, kRemove, kNoEnt, {kCreate}); }
void MkdirAgain(Bench& bench) { Repeat(bench, kMkdir, kExist, {}); }
void RmdirAgain(Bench& bench) { Repeat(bench, kRmdir, kNoEnt, {kMkdir}); }
void SymlinkAgain(Bench& bench) { Repeat(bench, kSymlink, kExist, {}); }
void RenameAgain(Bench& bench) { Repeat(bench, kRename, kNoEnt, {kCreate}); }
void LinkAgain(Bench& bench) { Repeat(bench, kLinkAgain, kExist, {}); }

// The xid of a REMOVE that is done, on another connection: another procedure is not answered in its stead.
void OtherProcedure(Bench& bench) {
  Names names(bench);
  names.Use([&](Link& first) {
    names.Must(first, kCreate);
    const Call remove = names.Make(kRemove);
    ExpectStatus({true, names.Ask(first, remove)}, "a REMOVE");
    Link& second = bench.Connect();
    Call getattr = MakeNfs3(bench, nfs_client::nfs3::kGetattr,
                            [&](Writer& out) { nfs_client::nfs3::PutHandle(out, bench.target().file); });
    SetXid(getattr, remove.header.xid);
    const Data results = Results(second, getattr, second.Ask(getattr));
    const nfs_client::nfs3::GetattrResult result = nfs_client::nfs3::DecodeGetattr(results);
    ExpectStatus(result, "a GETATTR");
    if (result.attributes.size < kFileSize) Failed("the attributes of the file", "others");
  });
}

// The same with another file to remove, which is removed.
void OtherArguments(Bench& bench) {
  Names names(bench);
  names.Use([&](Link& first) {
    names.Must(first, kCreate);
    names.Must(first, kCreateOther);
    const Call remove = names.Make(kRemove);
    ExpectStatus({true, names.Ask(first, remove)}, "a REMOVE");
    Link& second = bench.Connect();
    Call other = names.Make(kRemoveOther);
    SetXid(other, remove.header.xid);
    ExpectStatus({true, names.Ask(second, other)}, "a REMOVE of another file");
    if (names.Ask(second, names.Make(kLookupOther)) != kNoEnt)
      Failed("the other file is removed, for it is another Call", "it is still there");
  });
}

// A client may change its credential's stamp, or verifier, when it sends a Call again (MUS-013).
void OtherStamp(Bench& bench) {
  constexpr size_t kStamp = 32;  // its place in a Call with AUTH_SYS
  Names names(bench);
  names.Use([&](Link& first) {
    const Call mkdir = names.Make(kMkdir);
    ExpectStatus({true, names.Ask(first, mkdir)}, "a MKDIR");
    const uint32_t same = names.Ask(first, mkdir);
    Call stamped = mkdir;
    StoreBe32(stamped.rpc.data() + kStamp, LoadBe32(stamped.rpc.data() + kStamp) + 1);
    const uint32_t status = names.Ask(bench.Connect(), stamped);
    if (status != kOk && status != kExist)
      Failed("NFS3_OK, as the first time, or NFS3ERR_EXIST, when it is executed again", StatusText(status));
    if (status != same)
      bench.Advise(
          "with another stamp in its credential a Call is executed again, which without it has its Reply "
          "from a cache (RFC 1813 section 4.5)");
  });
}

// A READ again, with memory of its own each time: each gets its data.
void OtherChunk(Bench& bench) {
  constexpr uint32_t kCount = 5000;
  NeedFile(bench);
  Call call = ReadCall(bench, 0, kCount);
  for (int i = 0; i < 3; ++i) {
    bench.Case(fmt::format("time {}", i + 1));
    Link& link = bench.Connect();
    Call again = call;
    AddWrite(again, link.Offer({2000, 4000}, endpoint::Access::kRemoteWrite));
    const Message answer = link.Ask(again);
    const Data results = Results(link, again, answer);
    const Data chunk = link.Collect(again, answer, 0);
    const Bytes chunks[] = {chunk};
    const nfs_client::nfs3::ReadResult result = nfs_client::nfs3::DecodeRead(results, chunks);
    ExpectStatus(result, "a READ");
    ExpectSame(result.data, Pattern(kCount), "bytes of the file");
    link.Disconnect();
  }
}

// A WRITE again, with memory of its own each time, and then as a Long Call.
void WriteAgain(Bench& bench, bool long_call) {
  constexpr uint32_t kCount = 3001;
  NeedFile(bench);
  const Data data = Pattern(kCount);
  const Call head = WriteCall(bench, kPlayground, kCount);
  const Call whole = WholeWriteCall(bench, kPlayground, data);
  for (int i = 0; i < 3; ++i) {
    bench.Case(fmt::format("time {}", i + 1));
    Link& link = bench.Connect();
    Call again = head;
    if (long_call && i > 0) {
      again.rpc = whole.rpc;
      SetXid(again, head.header.xid);
      link.MakeLong(again);
    } else {
      AddRead(again, static_cast<uint32_t>(again.rpc.size()),
              link.Offer({1000, kCount - 1000}, endpoint::Access::kRemoteRead, data));
    }
    ExpectWritten(link, again, link.Ask(again), kCount);
    ExpectSame(ReadInline(bench, link, kPlayground, kCount), data, "bytes that were written");
    link.Disconnect();
  }
}
void OtherMemory(Bench& bench) { WriteAgain(bench, false); }
void OtherForm(Bench& bench) { WriteAgain(bench, true); }

// The same REMOVE twice, both under way: one answer or two, the first of which says what became of it.
void UnderWay(Bench& bench) {
  Names names(bench);
  names.Use([&](Link& link) {
    names.Must(link, kCreate);
    const Call remove = names.Make(kRemove);
    link.Send(remove);
    link.Send(remove);
    ExpectStatus({true, Names::Status(link, remove, link.Answer(remove))}, "a REMOVE");
    const Call null = bench.Null();
    link.Send(null);
    auto answer = link.Next(bench.options().patience.answer);
    if (answer && answer->header.xid == remove.header.xid) {
      const uint32_t status = Names::Status(link, remove, *answer);
      if (status != kOk && status != kNoEnt) Failed("NFS3_OK or NFS3ERR_NOENT the second time", StatusText(status));
      answer = link.Next(bench.options().patience.answer);
    }
    if (!answer) Failed("an answer to the NULL behind it", link.open() ? "nothing" : link.trouble());
    bench.ExpectNull(link, null, *answer);
  });
}

constexpr std::string_view kCacheSections = "RFC 1813 4.5, RFC 8166 4.5.5";
constexpr std::string_view kTwice =
    "It succeeds; then it is sent again with its xid, on the same connection and on another. The answer is that of the "
    "first time; that of a second execution is advice (needs --export).";

}  // namespace

std::span<const Probe> AgainProbes() {
  static const Probe probes[] = {
      {"again.create", "A CREATE that is sent again is not executed again", kTwice, kCacheSections, "CONN-006",
       CreateAgain},
      {"again.remove", "A REMOVE that is sent again is not executed again", kTwice, kCacheSections, "CONN-006",
       RemoveAgain},
      {"again.mkdir", "A MKDIR that is sent again is not executed again", kTwice, kCacheSections, "CONN-006",
       MkdirAgain},
      {"again.rmdir", "A RMDIR that is sent again is not executed again", kTwice, kCacheSections, "CONN-006",
       RmdirAgain},
      {"again.symlink", "A SYMLINK that is sent again is not executed again", kTwice, kCacheSections, "CONN-006",
       SymlinkAgain},
      {"again.rename", "A RENAME that is sent again is not executed again", kTwice, kCacheSections, "CONN-006",
       RenameAgain},
      {"again.link", "A LINK that is sent again is not executed again", kTwice, kCacheSections, "CONN-006", LinkAgain},
      {"again.other-procedure", "An xid that comes again with another procedure is another Call",
       "A REMOVE, and on another connection a GETATTR with its xid: the attributes come.",
       "RFC 5531 9, RFC 1813 4.5, RFC 8166 4.2.1", "XID-002", OtherProcedure},
      {"again.other-arguments", "An xid that comes again with other arguments is another Call",
       "A REMOVE, and on another connection a REMOVE of another file with its xid: that is removed, too.",
       "RFC 5531 9, RFC 1813 4.5, RFC 8166 4.2.1", "XID-002", OtherArguments},
      {"again.other-stamp", "The stamp of a credential does not make a Call another one",
       "A MKDIR that is sent again, on another connection with another stamp in its AUTH_SYS credential. That it has "
       "another answer than with the same stamp is advice.",
       "RFC 1813 4.5, RFC 8166 4.5.5", "CONN-006", OtherStamp},
      {"again.other-chunk", "A READ that is sent again puts its data into its own memory",
       "A READ three times with one xid, on connections of their own, each with a Write chunk of its own.",
       "RFC 8166 4.5.5, RFC 8166 3.4.6", "CONN-006, MEM-003, WRLIST-006", OtherChunk},
      {"again.other-memory", "A WRITE that is sent again takes its data from its own memory",
       "A WRITE three times with one xid, on connections of their own, each with a Read chunk of its own.",
       "RFC 8166 4.5.5, RFC 8166 3.4.5", "CONN-006, MEM-002", OtherMemory},
      {"again.other-form", "A Call may be sent again in another form",
       "A WRITE with a Read chunk, and on other connections twice as a Long Call with the same xid.",
       "RFC 8166 4.5.5, RFC 8166 3.5.3", "CONN-006, LONG-002", OtherForm},
      {"again.under-way", "A Call that is sent again while it is under way is no harm",
       "A REMOVE twice on one connection, at once: one answer or two, the first of success.",
       "RFC 1813 4.5, RFC 8166 4.2.1", "XID-004", UnderWay},
  };
  return probes;
}

}  // namespace stag::probe
