// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/replay/probe/nfs4_server.h"

#include <algorithm>

#include "protocol/nfs/nfs4_operations.h"
#include "protocol/rpc/message.h"
#include "replay/rpcrdma/xdr.h"

namespace stag::probe::test {
namespace {

enum : uint32_t {
  kOk = 0,
  kNoEnt = 2,
  kBadXdr = 10036,
  kInvalid = 22,
  kNoFileHandle = 10020,
  kStale = 70,
  kMinorVersion = 10021,
  kStaleClient = 10022,
  kIllegal = 10044,
  kBadSession = 10052,
  kBadSlot = 10053,
  kCompleteAlready = 10054,
  kMisordered = 10063,
  kSequencePos = 10064,
  kReqTooBig = 10065,
  kRepTooBig = 10066,
  kRepTooBigToCache = 10067,
  kUncached = 10068,
  kTooManyOps = 10070,
  kNotInSession = 10071,
  kClientBusy = 10074,
  kFalseRetry = 10076,
  kBadHighSlot = 10077
};

constexpr uint32_t kSlots = 8, kReplyHeader = 24;
constexpr size_t kCompoundHeader = 12,
                 kSequenceResult = 44;  // bytes: status, empty tag, count; with operation and status
constexpr std::string_view kRoot = "/";

bool IsSessionless(uint32_t op) {
  using namespace nfs;
  return op == kOpExchangeId || op == kOpCreateSession || op == kOpDestroySession || op == kOpDestroyClientid ||
         op == kOpBindConnToSession;
}

void PutAttributes(Writer& out, uint32_t type, uint64_t size) {  // type, change, size
  for (const uint32_t word : {1u, 0x1au, 20u, type}) out.U32(word);
  out.U64(7);
  out.U64(size);
}

}  // namespace

std::vector<std::byte>* Nfs4Server::FileOf(const std::string& handle) {
  const auto file = handle.starts_with("f:") ? files.find(handle.substr(2)) : files.end();
  return file == files.end() ? nullptr : &file->second;
}

void Nfs4Server::OnCall(Bytes call, rpcrdma::ServiceReply& reply) {
  const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
  Writer out(reply.message);
  const bool known = header.program == 100003 && header.version == 4;
  for (const uint32_t word : {header.xid, 1u, 0u, 0u, 0u}) out.U32(word);
  if (!known) {
    out.U32(header.program == 100003 ? 2 : 1);  // PROG_MISMATCH with its range, PROG_UNAVAIL
    if (header.program == 100003) out.U32(4), out.U32(4);
    return;
  }
  if (header.procedure > 1) return out.U32(3);  // PROC_UNAVAIL
  out.U32(0);
  if (header.procedure == 0) return;

  Compound c{.in = Cursor(call.subspan(header.length))};
  c.request_bytes = call.size();
  (void)rpcrdma::GetOpaque(c.in);
  const uint32_t minor = c.in.U32();
  c.operations = c.in.U32();
  uint32_t status = minor == 1 || minor == 2 ? kOk : kMinorVersion, done = 0;
  for (; done < c.operations && status == kOk; ++done) {
    status = ExecuteNext(done, c);
    if (c.repeats) return Put(reply, c.slot->last);
  }
  Cached whole;
  Writer results(whole.results);
  results.U32(status);
  results.U32(0);
  results.U32(done);
  for (rpcrdma::ResultItem item : c.items) {
    item.offset += kReplyHeader + whole.results.size();
    whole.items.push_back(item);
  }
  results.Put(c.results);
  Put(reply, whole);
  if (c.slot) Keep(c, done, std::move(whole));
}

// Executes the next operation, and puts its result behind the others.
uint32_t Nfs4Server::ExecuteNext(uint32_t number, Compound& c) {
  const uint32_t op = c.in.U32();
  Writer results(c.results);
  const size_t at = c.results.size(), items = c.items.size();
  results.U32(nfs::FindOperation(op) ? op : nfs::kOpIllegal);
  results.U32(0);
  uint32_t status = Execute(op, number == 0, c, results);
  if (!c.in.ok()) status = kBadXdr;
  if (c.repeats) return status;
  if (status == kOk && c.session && number > 0) {
    const size_t size = kReplyHeader + kCompoundHeader + c.results.size();
    if (size > c.session->fore.response_bytes)
      status = kRepTooBig;
    else if (c.cache && size > c.session->fore.cached_bytes)
      status = kRepTooBigToCache;
  }
  if (status != kOk) {
    c.results.resize(at + 8);
    c.items.resize(items);
  }
  StoreBe32(c.results.data() + at + 4, status);
  return status;
}

// Puts the Reply of a COMPOUND of `done` operations into its slot.
void Nfs4Server::Keep(const Compound& c, uint32_t done, Cached whole) {
  Cached& last = c.slot->last;
  last = std::move(whole);
  c.slot->operations.assign(c.behind.begin(), c.behind.end());
  if (c.cache || done <= 1) return;
  // Uncached: the result of SEQUENCE, and NFS4ERR_RETRY_UNCACHED_REP for the operation behind it.
  last.items.clear();
  last.results.resize(kCompoundHeader + kSequenceResult);
  Writer uncached(last.results);
  uncached.U32(LoadBe32(c.results.data() + kSequenceResult));
  uncached.U32(kUncached);
  StoreBe32(last.results.data(), kUncached);
  StoreBe32(last.results.data() + 8, 2);
}

void Nfs4Server::Put(rpcrdma::ServiceReply& reply, const Cached& from) {
  reply.message.insert(reply.message.end(), from.results.begin(), from.results.end());
  reply.items = from.items;
}

uint32_t Nfs4Server::Execute(uint32_t op, bool first, Compound& c, Writer& out) {
  using namespace nfs;
  if (first && op != kOpSequence && !IsSessionless(op)) return kNotInSession;
  switch (op) {
    case kOpExchangeId: {
      c.in.U64();
      (void)rpcrdma::GetOpaque(c.in);
      c.in.Skip(12);
      clients_[++last_client_].sequence = 0;
      out.U64(last_client_);
      out.U32(1);
      out.U32(0x10000);  // not pNFS
      out.U32(0);
      out.U64(0);
      rpcrdma::PutString(out, "major");
      rpcrdma::PutString(out, "scope");
      out.U32(0);
      return kOk;
    }
    case kOpCreateSession: return CreateSession(c, out);
    case kOpDestroySession: {
      const Bytes id = c.in.Take(16);
      return c.in.ok() && sessions_.erase(LoadBe32(id.data())) == 1 ? kOk : kBadSession;
    }
    case kOpDestroyClientid: {
      const uint64_t client = c.in.U64();
      if (std::ranges::any_of(sessions_, [&](const auto& s) { return s.second.client == client; })) return kClientBusy;
      return clients_.erase(client) == 1 ? kOk : kStaleClient;
    }
    case kOpSequence: return first ? Sequence(c, out) : kSequencePos;
    case kOpReclaimComplete: {
      c.in.U32();
      Client& client = clients_[c.session->client];
      if (client.reclaimed) return kCompleteAlready;
      client.reclaimed = true;
      return kOk;
    }
    case kOpPutrootfh: c.current = kRoot; return kOk;
    case kOpPutfh: {
      c.current = std::string(rpcrdma::GetString(c.in));
      return c.current == kRoot || FileOf(c.current) || c.current.starts_with("l:") ? kOk : kStale;
    }
    case kOpSavefh: c.saved = c.current; return kOk;
    case kOpRestorefh: c.current = c.saved; return kOk;
    case kOpGetfh: rpcrdma::PutString(out, c.current); return c.current.empty() ? kNoFileHandle : kOk;
    case kOpGetattr: {
      c.in.Skip(c.in.U32() * uint64_t{4});
      const Buffer* const file = FileOf(c.current);
      PutAttributes(out, file ? 1 : 2, file ? file->size() : 0);
      return kOk;
    }
    case kOpLookup: {
      const std::string name(rpcrdma::GetString(c.in));
      if (c.current != kRoot) return kInvalid;
      c.current = links.contains(name) ? "l:" + name : "f:" + name;
      return files.contains(name) || links.contains(name) ? kOk : kNoEnt;
    }
    case kOpOpen: return Open(c, out);
    case kOpClose:
      c.in.Skip(20);
      out.Zeros(16);
      return kOk;
    case kOpDelegreturn: c.in.Skip(16); return kOk;
    case kOpCreate: {  // NF4LNK alone
      if (c.in.U32() != 5) return kInvalid;
      const std::string_view text = rpcrdma::GetString(c.in);
      const std::string name(rpcrdma::GetString(c.in));
      c.in.Skip(c.in.U32() * uint64_t{4});
      (void)rpcrdma::GetOpaque(c.in);
      const auto bytes = std::as_bytes(std::span(text));
      links[name].assign(bytes.begin(), bytes.end());
      c.current = "l:" + name;
      out.Zeros(20 + 4);  // change_info4, attrset
      return kOk;
    }
    case kOpRemove: {
      const std::string name(rpcrdma::GetString(c.in));
      out.Zeros(20);
      return files.erase(name) + links.erase(name) > 0 ? kOk : kNoEnt;
    }
    case kOpReadlink: {
      const auto link = c.current.starts_with("l:") ? links.find(c.current.substr(2)) : links.end();
      if (link == links.end()) return kInvalid;
      c.items.push_back({c.results.size() + 4, static_cast<uint32_t>(link->second.size())});
      out.Opaque(link->second);
      return kOk;
    }
    case kOpRead: return Read(c, out, false);
    case kOpReadPlus: return Read(c, out, true);
    case kOpWrite: return Write(c, out);
    case kOpReaddir: return ReadDirectory(c, out);
    case kOpCopy: return Copy(c, out);
    default: return kIllegal;
  }
}

uint32_t Nfs4Server::CreateSession(Compound& c, Writer& out) {
  const uint64_t id = c.in.U64();
  const uint32_t sequence = c.in.U32();
  const uint32_t flags = c.in.U32();
  const auto channel = [&] {
    Channel wanted;
    c.in.U32();
    for (uint32_t* word :
         {&wanted.request_bytes, &wanted.response_bytes, &wanted.cached_bytes, &wanted.operations, &wanted.requests})
      *word = c.in.U32();
    c.in.Skip(c.in.U32() * uint64_t{4});
    return wanted;
  };
  Channel fore = channel();
  const Channel back = channel();
  const auto client = clients_.find(id);
  if (client == clients_.end()) return kStaleClient;
  if (sequence == client->second.sequence && sequence != 0) {
    out.Put(client->second.created);
    return kOk;
  }
  if (sequence != client->second.sequence + 1) return kMisordered;
  client->second.sequence = sequence;
  fore.requests = std::min(fore.requests, kSlots);
  Session& session = sessions_[++last_session_];
  session = {id, fore, std::vector<Slot>(fore.requests)};
  Writer created(client->second.created);
  created.U32(last_session_);
  created.Zeros(12);
  created.U32(sequence);
  created.U32(flags & 2);  // CONN_BACK_CHAN
  for (const Channel& each : {fore, back})
    for (const uint32_t word :
         {0u, each.request_bytes, each.response_bytes, each.cached_bytes, each.operations, each.requests, 0u})
      created.U32(word);
  out.Put(client->second.created);
  return kOk;
}

uint32_t Nfs4Server::Sequence(Compound& c, Writer& out) {
  const Bytes id = c.in.Take(16);
  const uint32_t sequence = c.in.U32(), slot = c.in.U32(), highest = c.in.U32();
  const bool cache = rpcrdma::GetBool(c.in);
  if (!c.in.ok()) return kBadXdr;
  const auto session = sessions_.find(LoadBe32(id.data()));
  if (session == sessions_.end() || LoadBe32(id.data() + 4) != 0) return kBadSession;
  const Channel& fore = session->second.fore;
  if (c.operations > fore.operations) return kTooManyOps;
  if (c.request_bytes > fore.request_bytes) return kReqTooBig;
  if (slot >= fore.requests) return kBadSlot;
  if (highest >= fore.requests) return kBadHighSlot;
  Slot& state = session->second.slots[slot];
  c.behind = c.in.Rest();
  if (sequence == state.sequence && !state.last.results.empty()) {
    if (!std::ranges::equal(c.behind, state.operations)) return kFalseRetry;
    c.slot = &state;
    c.repeats = true;
    return kOk;
  }
  if (sequence != state.sequence + 1) return kMisordered;
  state.sequence = sequence;
  c.session = &session->second;
  c.slot = &state;
  c.cache = cache;
  out.Put(id);
  for (const uint32_t word : {sequence, slot, fore.requests - 1, fore.requests - 1, 0u}) out.U32(word);
  return kOk;
}

uint32_t Nfs4Server::Open(Compound& c, Writer& out) {
  c.in.Skip(4 + 4 + 4 + 8);
  (void)rpcrdma::GetOpaque(c.in);
  const bool create = c.in.U32() == 1;
  if (create) {
    c.in.U32();
    c.in.Skip(c.in.U32() * uint64_t{4});
    (void)rpcrdma::GetOpaque(c.in);
  }
  c.in.U32();  // CLAIM_NULL
  const std::string name(rpcrdma::GetString(c.in));
  if (c.current != kRoot) return kInvalid;
  if (create) files[name].clear();
  if (!files.contains(name)) return kNoEnt;
  c.current = "f:" + name;
  out.Put(Buffer(16, std::byte{0x55}));
  out.Zeros(20 + 4 + 4 + 4);  // change_info4, rflags, attrset, no delegation
  return kOk;
}

uint32_t Nfs4Server::Read(Compound& c, Writer& out, bool plus) {
  c.in.Skip(16);
  const uint64_t offset = c.in.U64();
  const uint32_t count = c.in.U32();
  const Buffer* const file = FileOf(c.current);
  if (!file) return kInvalid;
  const uint64_t from = std::min<uint64_t>(offset, file->size());
  const Bytes data = Bytes(*file).subspan(from).first(std::min<uint64_t>(count, file->size() - from));
  out.U32(from + data.size() == file->size());
  if (plus) {  // one segment of data, which may not be reduced (RFC 8267 section 6.1)
    out.U32(1);
    out.U32(0);
    out.U64(from);
  } else {
    c.items.push_back({c.results.size() + 4, static_cast<uint32_t>(data.size())});
  }
  out.Opaque(data);
  return kOk;
}

uint32_t Nfs4Server::Write(Compound& c, Writer& out) {
  c.in.Skip(16);
  const uint64_t offset = c.in.U64();
  c.in.U32();
  const Bytes data = rpcrdma::GetOpaque(c.in);
  Buffer* const file = FileOf(c.current);
  if (!file || !c.in.ok()) return kInvalid;
  if (file->size() < offset + data.size()) file->resize(offset + data.size());
  std::ranges::copy(data, file->begin() + static_cast<std::ptrdiff_t>(offset));
  out.U32(static_cast<uint32_t>(data.size()));
  out.U32(2);
  out.U64(99);
  return kOk;
}

uint32_t Nfs4Server::ReadDirectory(Compound& c, Writer& out) {
  const uint64_t cookie = c.in.U64();
  c.in.Skip(8 + 8);
  c.in.Skip(c.in.U32() * uint64_t{4});
  out.U64(1);  // cookie verifier
  uint64_t at = 2;
  for (const auto& [name, content] : files) {
    if (++at <= cookie) continue;
    out.U32(1);
    out.U64(at);
    rpcrdma::PutString(out, name);
    PutAttributes(out, 1, content.size());
  }
  out.U32(0);
  out.U32(1);  // eof
  return kOk;
}

// Synchronous, from the saved file to the current one.
uint32_t Nfs4Server::Copy(Compound& c, Writer& out) {
  c.in.Skip(32);
  const uint64_t from = c.in.U64(), to = c.in.U64(), count = c.in.U64();
  c.in.Skip(8 + 4);
  const Buffer* const source = FileOf(c.saved);
  Buffer* const target = FileOf(c.current);
  if (!source || !target || from + count > source->size()) return kInvalid;
  const Buffer bytes(source->begin() + static_cast<std::ptrdiff_t>(from),
                     source->begin() + static_cast<std::ptrdiff_t>(from + count));
  if (target->size() < to + count) target->resize(to + count);
  std::ranges::copy(bytes, target->begin() + static_cast<std::ptrdiff_t>(to));
  out.U32(0);  // no callback id: it is done
  out.U64(count);
  out.U32(2);
  out.U64(99);
  out.U32(1);  // consecutive
  out.U32(1);  // synchronous
  return kOk;
}

}  // namespace stag::probe::test
