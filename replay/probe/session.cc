// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of NFSv4.1 sessions over RDMA: slots, and COMPOUNDs that are sent again (RFC 8881 section 2.10.6).
#include <fmt/format.h>

#include <algorithm>

#include "replay/probe/exchange.h"
#include "replay/probe/nfs4_bench.h"

namespace stag::probe {
namespace {

void AddNothing(nfs_client::nfs4::Compound&) {}
// What succeeds once: executed again, it gets NFS4ERR_COMPLETE_ALREADY.
void AddOnce(nfs_client::nfs4::Compound& compound) { compound.ReclaimComplete(); }

void Create(Bench& bench) {
  Nfs4 client(bench);
  const nfs_client::nfs4::Sequence sequence = client.Next();
  const Compounded came = client.Ask(client.At(sequence, AddNothing));
  Nfs4::Expect(came, nfs::kNfs4Ok, "SEQUENCE");
  Cursor in(Bytes(came.bytes).subspan(came.bytes.size() - came.behind_sequence().size() - 36));
  const Bytes id = in.Take(16);
  const uint32_t number = in.U32(), slot = in.U32();
  in.U32();  // sr_highest_slotid
  const uint32_t target = in.U32();
  if (!std::ranges::equal(id, client.id()) || number != sequence.sequence || slot != sequence.slot)
    Failed("the session, sequence number and slot of the SEQUENCE", "others");
  if (target == UINT32_MAX) Failed("a target for the highest slot", "4294967295");
}

Compounded AskOnce(Nfs4& client, const Call& call) {
  Compounded came = client.Ask(call);
  Nfs4::Expect(came, nfs::kNfs4Ok, "the first time");
  return came;
}

// A COMPOUND that succeeded is sent again twice, each time after what `change` does to it, or to its connection.
void Repeats(Bench& bench, bool cache, void (*change)(Nfs4&, Call&)) {
  Nfs4 client(bench, {.reclaimed = false});
  const Call call = client.At(client.Next(0, cache), AddOnce);
  const Compounded first = AskOnce(client, call);
  for (int i = 0; i < 2; ++i) {
    Call repeated = call;
    change(client, repeated);
    const Compounded again = client.Ask(repeated);
    if (!cache && again.status == kErrUncached) continue;
    if (again.status != first.status)
      Failed(cache ? "NFS4_OK, as the first time" : "NFS4_OK, as the first time, or NFS4ERR_RETRY_UNCACHED_REP",
             again.status == kErrCompleteAlready ? "NFS4ERR_COMPLETE_ALREADY: it was executed again"
                                                 : Nfs4StatusText(again.status));
    if (again.count != first.count || !std::ranges::equal(again.behind_sequence(), first.behind_sequence()))
      Failed("the results of the first time", "others");
  }
  Nfs4::Expect(client.Ask(client.Make(AddRoot)), nfs::kNfs4Ok, "the slot's next COMPOUND");
}

void ChangeNothing(Nfs4&, Call&) {}
void AgainCached(Bench& bench) { Repeats(bench, true, ChangeNothing); }
void AgainUncached(Bench& bench) { Repeats(bench, false, ChangeNothing); }

void AgainOtherXid(Bench& bench) {
  Repeats(bench, true, [](Nfs4&, Call& call) { SetXid(call, call.header.xid + 0x01000000); });
}

void AgainReconnected(Bench& bench) {
  Repeats(bench, true, [](Nfs4& client, Call&) { client.Reconnect(); });
}

void AgainReplyChunk(Bench& bench) {
  Repeats(bench, true, [](Nfs4& client, Call& call) {
    SetReply(call, client.link().Offer({100, 4000}, endpoint::Access::kRemoteWrite));
  });
}

void AgainLongCall(Bench& bench) {
  Repeats(bench, true, [](Nfs4& client, Call& call) {
    client.link().MakeLong(call, {7, static_cast<uint32_t>(call.rpc.size()) - 7});
  });
}

void AgainWriteChunk(Bench& bench) {
  Repeats(bench, true,
          [](Nfs4& client, Call& call) { AddWrite(call, client.link().Offer({512}, endpoint::Access::kRemoteWrite)); });
}

// The slot and sequence number of a COMPOUND that was answered, with other operations: these are not executed.
void AgainOther(Bench& bench) {
  Nfs4 client(bench, {.reclaimed = false});
  const nfs_client::nfs4::Sequence sequence = client.Next(0, true);
  AskOnce(client, client.At(sequence, AddRoot));
  const Compounded other = client.Ask(client.At(sequence, AddOnce));
  if (other.status != nfs::kNfs4Ok && other.status != kErrFalseRetry)
    Failed("NFS4ERR_SEQ_FALSE_RETRY, or the results of the first time", Nfs4StatusText(other.status));
  Nfs4::Expect(client.Ask(client.Make(AddOnce)), nfs::kNfs4Ok,
               "a RECLAIM_COMPLETE, for the one that was no repetition was not executed");
}

// A SEQUENCE that is wrong by what `spoil` does to it.
void Wrong(Bench& bench, uint32_t status, void (*spoil)(Nfs4&, nfs_client::nfs4::Sequence&)) {
  Nfs4 client(bench);
  for (int i = 0; i < 3; ++i) Nfs4::Expect(client.Ask(client.Make(AddRoot)), nfs::kNfs4Ok, "a COMPOUND");
  nfs_client::nfs4::Sequence sequence = client.Next();
  const nfs_client::nfs4::Sequence right = sequence;
  spoil(client, sequence);
  Nfs4::Expect(client.Ask(client.At(sequence, AddRoot)), status, "a SEQUENCE that is wrong");
  Nfs4::Expect(client.Ask(client.At(right, AddRoot)), nfs::kNfs4Ok, "the right SEQUENCE behind it");
}

void Ahead(Bench& bench) {
  Wrong(bench, kErrMisordered, [](Nfs4&, nfs_client::nfs4::Sequence& s) { s.sequence += 1; });
}
void Behind(Bench& bench) {
  Wrong(bench, kErrMisordered, [](Nfs4&, nfs_client::nfs4::Sequence& s) { s.sequence -= 3; });
}
void FarAhead(Bench& bench) {
  Wrong(bench, kErrMisordered, [](Nfs4&, nfs_client::nfs4::Sequence& s) { s.sequence += 0x80000000; });
}
void BadSlot(Bench& bench) {
  Wrong(bench, kErrBadSlot,
        [](Nfs4& client, nfs_client::nfs4::Sequence& s) { s.slot = s.highest_slot = client.fore().requests + 1000; });
}
void BadSession(Bench& bench) {
  Wrong(bench, kErrBadSession, [](Nfs4&, nfs_client::nfs4::Sequence& s) { s.session[3] ^= std::byte{0x55}; });
}

void BadHighSlot(Bench& bench) {
  Nfs4 client(bench);
  nfs_client::nfs4::Sequence sequence = client.Next();
  sequence.highest_slot = client.fore().requests + 1000;
  const Compounded came = client.Ask(client.At(sequence, AddRoot));
  if (came.status == kErrBadHighSlot) return;
  Nfs4::Expect(came, nfs::kNfs4Ok, "a highest slot that was not granted (or NFS4ERR_BAD_HIGH_SLOT)");
  bench.Advise("a highest slot that was not granted is passed over; NFS4ERR_BAD_HIGH_SLOT would say so");
}

// Each slot counts for itself, in whatever order they are used.
void Slots(Bench& bench) {
  Nfs4 client(bench);
  for (int round = 0; round < 3; ++round)
    for (uint32_t i = 0; i < client.slots(); ++i) {
      const uint32_t slot = round % 2 == 0 ? i : client.slots() - 1 - i;
      bench.Case(fmt::format("slot {}, time {}", slot, round + 1));
      Nfs4::Expect(client.Ask(client.Make(AddRoot, slot)), nfs::kNfs4Ok, "a COMPOUND");
    }
}

// The highest slot that is in use falls and rises again, slots between being idle.
void HighestChanges(Bench& bench) {
  Nfs4 client(bench);
  const uint32_t last = client.slots() - 1;
  for (const uint32_t slot : {last, 0u, last / 2, 0u, last, 0u}) {
    bench.Case(fmt::format("highest slot {}", slot));
    Nfs4::Expect(client.Ask(client.Make(AddRoot, slot)), nfs::kNfs4Ok, "a COMPOUND");
  }
}

// A COMPOUND on each slot at once.
void EachSlot(Bench& bench) {
  Nfs4 client(bench);
  Link& link = client.link();
  for (int round = 0; round < 3; ++round) {
    const auto make = [&](size_t slot) {
      nfs_client::nfs4::Sequence sequence = client.Next(static_cast<uint32_t>(slot));
      sequence.highest_slot = client.slots() - 1;
      return client.At(sequence, AddRoot);
    };
    Exchange(bench, link, {.calls = client.slots(), .under_way = client.slots()}, make,
             [&](const Call& call, const Message& answer) {
               Nfs4::Expect(Nfs4::Take(link, call, answer), nfs::kNfs4Ok, "a COMPOUND");
             });
  }
}

// Two connections, which the first SEQUENCE on each makes the session's (SP4_NONE).
void TwoConnections4(Bench& bench) {
  Nfs4 client(bench);
  Link& second = bench.Connect();
  for (int i = 0; i < 3; ++i) {
    Nfs4::Expect(client.Ask(client.Make(AddRoot)), nfs::kNfs4Ok, "a COMPOUND on the first connection");
    const Call call = client.Make(AddRoot);
    Nfs4::Expect(Nfs4::Take(second, call, second.Ask(call)), nfs::kNfs4Ok, "a COMPOUND on the second connection");
  }
}

// A COMPOUND that is not as sessions ask, and one that is behind it.
void Refused(Bench& bench, uint32_t status, std::string_view what, const std::function<Call(Nfs4&)>& make,
             const Nfs4Terms& terms = {}) {
  Nfs4 client(bench, terms);
  Nfs4::Expect(client.Ask(make(client)), status, what);
  Nfs4::Expect(client.Ask(client.At({client.id(), 2, 0, 0}, AddNothing)), nfs::kNfs4Ok, "a SEQUENCE behind it");
}

void NotInSession(Bench& bench) {
  Refused(bench, kErrNotInSession, "a COMPOUND without SEQUENCE", [](Nfs4& client) { return client.Bare(AddRoot); });
}

void SequencePos(Bench& bench) {
  Nfs4 client(bench);
  const Call call =
      client.At(client.Next(), [&](nfs_client::nfs4::Compound& c) { c.Put(client.Next(client.slots() > 1 ? 1 : 0)); });
  Nfs4::Expect(client.Ask(call), kErrSequencePos, "a second SEQUENCE in a COMPOUND");
}

void TooManyOps(Bench& bench) {
  Refused(bench, kErrTooManyOps, "more operations than were granted",
          [](Nfs4& client) {
            return client.At({client.id(), 2, 0, 0}, [&](nfs_client::nfs4::Compound& c) {
              for (uint32_t i = 0; i < client.fore().operations; ++i) c.PutRootHandle();
            });
          },
          {.fore = {8192, 8192, 2048, 4, 2}});
}

void RequestTooBig(Bench& bench) {
  Refused(bench, kErrReqTooBig, "a COMPOUND of more bytes than were granted",
          [](Nfs4& client) {
            return client.At({client.id(), 2, 0, 0}, [&](nfs_client::nfs4::Compound& c) {
              c.PutRootHandle();
              for (uint32_t size = 0; size < client.fore().request_bytes; size += 200) c.Lookup(std::string(200, 'x'));
            });
          },
          {.fore = {1024, 8192, 2048, 16, 2}});
}

constexpr int kManyAttributes = 12;  // of 44 bytes each, at least
void AddMuch(nfs_client::nfs4::Compound& compound) {
  compound.PutRootHandle();
  for (int i = 0; i < kManyAttributes; ++i) compound.GetAttributes();
}

// What comes is as long as was granted, at most; the error is that of the operation that went too far.
void ReplyTooBig(Bench& bench) {
  Nfs4 client(bench, {.fore = {8192, 400, 100, 16, 2}});
  Nfs4::Expect(client.Ask(client.Make(AddMuch)), kErrRepTooBig, "a Reply of more bytes than were granted");
  Nfs4::Expect(client.Ask(client.Make(AddNothing, client.slots() - 1)), nfs::kNfs4Ok, "a SEQUENCE behind it");
}

void ReplyTooBigToCache(Bench& bench) {
  Nfs4 client(bench, {.fore = {8192, 8192, 200, 16, 2}});
  if (client.fore().cached_bytes > 500) Inconclusive("the server caches more than was asked for");
  Nfs4::Expect(client.Ask(client.At(client.Next(0, true), AddMuch)), kErrRepTooBigToCache,
               "a Reply that is to be cached, of more bytes than are");
  bench.Case("not to be cached");
  Nfs4::Expect(client.Ask(client.Make(AddMuch, client.slots() - 1)), nfs::kNfs4Ok,
               "the same Reply, which is not to be cached");
}

void CreateAgain4(Bench& bench) {
  const Nfs4Terms terms;
  Nfs4 client(bench, terms);
  const Compounded again = client.Ask(client.CreateSession(client.client(), client.create_sequence(), terms.fore));
  Nfs4::Expect(again, nfs::kNfs4Ok, "a CREATE_SESSION that is sent again");
  nfs_client::nfs4::SessionId id{};
  nfs_client::nfs4::Channel fore;
  if (!again.results().CreateSession(id, fore) || id != client.id()) Failed("the session of the first time", "another");
  Nfs4::Expect(client.Ask(client.Make(AddRoot)), nfs::kNfs4Ok, "a COMPOUND of the session");
}

void WrongCreate(Bench& bench, uint32_t status, uint64_t client_change, uint32_t sequence_change) {
  const Nfs4Terms terms;
  Nfs4 client(bench, terms);
  Nfs4::Expect(client.Ask(client.CreateSession(client.client() ^ client_change,
                                               client.create_sequence() + sequence_change, terms.fore)),
               status, "a CREATE_SESSION that is wrong");
  Nfs4::Expect(client.Ask(client.Make(AddRoot)), nfs::kNfs4Ok, "a COMPOUND of the session that there is");
}
void CreateMisordered(Bench& bench) { WrongCreate(bench, kErrMisordered, 0, 7); }
void CreateStale(Bench& bench) { WrongCreate(bench, kErrStaleClient, 0x5555, 0); }

void Destroyed(Bench& bench) {
  Nfs4 client(bench);
  Nfs4::Expect(client.Ask(client.Bare([&](nfs_client::nfs4::Compound& c) { c.DestroySession(client.id()); })),
               nfs::kNfs4Ok, "DESTROY_SESSION");
  Nfs4::Expect(client.Ask(client.Make(AddRoot)), kErrBadSession, "a SEQUENCE of a session that is no more");
}

void ClientBusy(Bench& bench) {
  Nfs4 client(bench);
  Nfs4::Expect(client.Ask(client.Bare([&](nfs_client::nfs4::Compound& c) { c.DestroyClientId(client.client()); })),
               kErrClientBusy, "DESTROY_CLIENTID of a client with a session");
  Nfs4::Expect(client.Ask(client.Make(AddRoot)), nfs::kNfs4Ok, "a COMPOUND of the session");
}

void MinorVersion(Bench& bench) {
  Nfs4 client(bench);
  Call call = client.At(client.Next(), AddRoot);
  client.SetMinorVersion(call, 77);
  const Compounded came = client.Ask(call);
  Nfs4::Expect(came, kErrMinorVersion, "minor version 77");
  if (came.count != 0) Failed("no results", fmt::format("{}", came.count));
}

void IllegalOperation(Bench& bench) {
  Nfs4 client(bench);
  const Compounded came =
      client.Ask(client.Make([](nfs_client::nfs4::Compound& c) { c.PutRootHandle().Operation(9999); }));
  Nfs4::Expect(came, kErrOpIllegal, "an operation that there is not");
  if (came.count != 3) Failed("results of three operations", fmt::format("of {}", came.count));
}

constexpr std::string_view kReplay = "RFC 8881 2.10.6.1.3, RFC 8881 18.46.3";

}  // namespace

std::span<const Probe> SessionProbes() {
  static const Probe probes[] = {
      {"session.create", "A session is made and used",
       "EXCHANGE_ID, CREATE_SESSION and a SEQUENCE, whose result has its session, sequence number and slot (NFSv4.1, "
       "as all of session).",
       "RFC 8881 18.35.3, RFC 8881 18.36.3, RFC 8881 18.46.3", "", Create},
      {"session.again-cached", "A COMPOUND that is sent again is answered from the slot's cache",
       "A SEQUENCE with sa_cachethis and a RECLAIM_COMPLETE, which succeeds once, three times with one xid: the "
       "results are the same.",
       kReplay, "", AgainCached},
      {"session.again-uncached", "A COMPOUND that was not to be cached is not executed again",
       "The same without sa_cachethis: the results of the first time, or NFS4ERR_RETRY_UNCACHED_REP.", kReplay, "",
       AgainUncached},
      {"session.again-other-xid", "The xid does not make a COMPOUND another one",
       "The same, sent again with another xid: the slot and the sequence number tell what it is.", kReplay, "XID-001",
       AgainOtherXid},
      {"session.again-reconnected", "A COMPOUND is answered from the cache after a reconnect",
       "The same, sent again on other connections.", "RFC 8881 2.10.6.2, RFC 8881 2.10.6.1.3, RFC 8166 4.5.5",
       "CONN-006", AgainReconnected},
      {"session.again-reply-chunk", "An answer from the cache goes by the Call that asks for it: a Reply chunk",
       "The same, sent again with a Reply chunk that the first time had not.",
       "RFC 8881 2.10.6.1.3, RFC 8166 4.3.3, RFC 8166 4.5.5", "REPLY-004, REPLY-005", AgainReplyChunk},
      {"session.again-write-chunk", "An answer from the cache goes by the Call that asks for it: a Write chunk",
       "The same, sent again with a Write chunk that the first time had not: it comes back unused.",
       "RFC 8881 2.10.6.1.3, RFC 8166 4.3.2, RFC 8166 4.5.5", "WRLIST-001, WRLIST-008", AgainWriteChunk},
      {"session.again-long-call", "A COMPOUND may be sent again in another form",
       "The same, sent again as a Long Call.", "RFC 8881 2.10.6.1.3, RFC 8166 3.5.3, RFC 8166 4.5.5", "LONG-002",
       AgainLongCall},
      {"session.again-other", "What is no repetition is not executed in one's stead",
       "The slot and sequence number of a COMPOUND that was answered, with other operations: NFS4ERR_SEQ_FALSE_RETRY, "
       "or the results of the first time.",
       "RFC 8881 2.10.6.1.3.1, RFC 8881 18.46.3", "", AgainOther},
      {"session.ahead", "A sequence number that is too large by one is refused",
       "NFS4ERR_SEQ_MISORDERED; then the right one succeeds.", "RFC 8881 2.10.6.1, RFC 8881 18.46.3", "", Ahead},
      {"session.far-ahead", "A sequence number that is half the circle ahead is refused",
       "NFS4ERR_SEQ_MISORDERED; then the right one succeeds.", "RFC 8881 2.10.6.1, RFC 8881 18.46.3", "", FarAhead},
      {"session.behind", "A sequence number that is too small is refused",
       "One less than that of the last COMPOUND but one: NFS4ERR_SEQ_MISORDERED; then the right one succeeds.",
       "RFC 8881 2.10.6.1, RFC 8881 18.46.3", "", Behind},
      {"session.bad-slot", "A slot that was not granted is refused",
       "A SEQUENCE of a slot far above those that there are: NFS4ERR_BADSLOT.", "RFC 8881 18.46.3, RFC 8881 15.1.11",
       "", BadSlot},
      {"session.bad-session", "A session that there is not is refused",
       "A SEQUENCE with a wrong session: NFS4ERR_BADSESSION; then the right one succeeds.",
       "RFC 8881 18.46.3, RFC 8881 15.1.11", "", BadSession},
      {"session.bad-high-slot", "A highest slot that was not granted is refused",
       "NFS4ERR_BAD_HIGH_SLOT; that it is passed over is advice.", "RFC 8881 18.46.3, RFC 8881 15.1.11", "",
       BadHighSlot},
      {"session.slots", "Each slot counts for itself",
       "COMPOUNDs on each slot (at most 16), three times over, up, down and up.", "RFC 8881 2.10.6.1", "", Slots},
      {"session.highest-changes", "The highest slot may fall and rise",
       "COMPOUNDs on the last slot, the first, one in the middle, and again, with sa_highest_slotid as it is then.",
       "RFC 8881 2.10.6.1, RFC 8881 18.46.3", "", HighestChanges},
      {"session.window", "Each slot has its COMPOUND under way",
       "As many COMPOUNDs at once as there are slots (at most 16), three times over: each is answered once.",
       "RFC 8881 2.10.6.1, RFC 8166 3.3.1", "CRED-007, XID-004", EachSlot},
      {"session.two-connections", "A session may have two connections",
       "COMPOUNDs of one slot on two connections, by turns.", "RFC 8881 2.10.3.1, RFC 8881 2.10.5", "XID-002",
       TwoConnections4},
      {"session.no-sequence", "A COMPOUND of no session is refused",
       "PUTROOTFH and GETATTR without SEQUENCE: NFS4ERR_OP_NOT_IN_SESSION.", "RFC 8881 2.10.2, RFC 8881 18.46.3", "",
       NotInSession},
      {"session.second-sequence", "SEQUENCE comes first, and once",
       "A COMPOUND of two SEQUENCEs: NFS4ERR_SEQUENCE_POS.", "RFC 8881 18.46.3", "", SequencePos},
      {"session.too-many-operations", "No more operations are taken than were granted",
       "A COMPOUND of one operation more than ca_maxoperations: NFS4ERR_TOO_MANY_OPS.",
       "RFC 8881 18.36.3, RFC 8881 2.10.6.4", "", TooManyOps},
      {"session.request-too-big", "No larger COMPOUND is taken than was granted",
       "A COMPOUND of more bytes than ca_maxrequestsize: NFS4ERR_REQ_TOO_BIG.", "RFC 8881 18.36.3, RFC 8881 2.10.6.4",
       "", RequestTooBig},
      {"session.reply-too-big", "No larger Reply is sent than was granted",
       "A COMPOUND whose Reply exceeds ca_maxresponsesize: NFS4ERR_REP_TOO_BIG.", "RFC 8881 18.36.3, RFC 8881 2.10.6.4",
       "", ReplyTooBig},
      {"session.reply-too-big-cached", "What cannot be cached is refused when it is to be",
       "A COMPOUND with sa_cachethis whose Reply exceeds ca_maxresponsesize_cached: NFS4ERR_REP_TOO_BIG_TO_CACHE; "
       "without, it succeeds.",
       "RFC 8881 18.36.3, RFC 8881 2.10.6.4", "", ReplyTooBigToCache},
      {"session.create-again", "A CREATE_SESSION that is sent again gives the same session",
       "The same CREATE_SESSION twice: one session, which works.", "RFC 8881 18.36.4", "", CreateAgain4},
      {"session.create-misordered", "A CREATE_SESSION out of its order is refused",
       "One whose sequence number is too large: NFS4ERR_SEQ_MISORDERED.", "RFC 8881 18.36.4", "", CreateMisordered},
      {"session.create-stale", "A CREATE_SESSION of a client that there is not is refused",
       "One with another client id: NFS4ERR_STALE_CLIENTID.", "RFC 8881 18.36.4", "", CreateStale},
      {"session.destroyed", "A session that was destroyed is no more",
       "DESTROY_SESSION, then a SEQUENCE: NFS4ERR_BADSESSION.", "RFC 8881 18.37.3", "", Destroyed},
      {"session.client-busy", "A client with a session is not destroyed",
       "DESTROY_CLIENTID while there is a session: NFS4ERR_CLIENTID_BUSY.", "RFC 8881 18.50.3", "", ClientBusy},
      {"session.minor-version", "A minor version that there is not is refused",
       "A COMPOUND of minor version 77: NFS4ERR_MINOR_VERS_MISMATCH, and no results.", "RFC 8881 16.2.3", "",
       MinorVersion},
      {"session.illegal-operation", "An operation that there is not is refused",
       "SEQUENCE, PUTROOTFH and operation 9999: NFS4ERR_OP_ILLEGAL, with the results before it.", "RFC 8881 16.2.3", "",
       IllegalOperation},
  };
  return probes;
}

}  // namespace stag::probe
