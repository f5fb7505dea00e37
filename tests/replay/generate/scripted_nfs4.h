// SPDX-License-Identifier: GPL-2.0-or-later
//
// The little of an NFSv4.1 server that the load needs, written from RFC 8881 alone: one directory, files in memory, and
// a strict look at sessions: sequence numbers, slots, state ids.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "replay/rpcrdma/responder.h"
#include "replay/rpcrdma/xdr.h"
#include "tests/support/messages.h"

namespace stag::test {

class ScriptedNfs4 : public rpcrdma::Service {
 public:
  // What may be told to it.
  uint32_t slots = 8;
  uint32_t grace_answers = 0;   // so many OPENs get NFS4ERR_GRACE
  uint32_t bad_session_at = 0;  // the SEQUENCE of this number gets NFS4ERR_BADSESSION, and all sessions end
  // What happened.
  std::map<std::string, Buffer> files;
  std::vector<std::string> complaints;
  uint32_t sequences = 0, sessions_made = 0, highest_slot_used = 0;
  size_t clients = 0, open_sessions = 0, open_states = 0;

  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override {
    const rpc::CallHeader header = rpc::DecodeCall(call, call.size());
    Expect(header.status == ParseStatus::kOk && header.program == 100003 && header.version == 4, "the RPC header");
    reply.message = MakeReply(header.xid);
    Cursor in(call.subspan(header.length));
    (void)rpcrdma::GetOpaque(in);
    Expect(in.U32() == 1, "the minor version");
    const uint32_t count = in.U32();
    Buffer results;
    current_.clear();
    uint32_t status = 0, done = 0;
    std::vector<std::pair<size_t, uint32_t>> items;  // offset in `results`, length
    for (; done < count && status == 0; ++done) {
      const uint32_t op = in.U32();
      Expect(op == 53 || done > 0 || op == 42 || op == 43 || op == 44 || op == 57, "SEQUENCE first");
      Writer out(results);
      out.U32(op);
      const size_t status_at = out.size();
      out.U32(0);
      status = Execute(op, in, out, items);
      StoreBe32(results.data() + status_at, status);
      if (status != 0) results.resize(status_at + 4);
    }
    Expect(in.ok() && (status != 0 || in.remaining() == 0), "the arguments");
    Writer out(reply.message);
    out.U32(status);
    out.U32(0);
    out.U32(done);
    const size_t base = out.size();
    out.Put(results);
    for (const auto& [at, length] : items) reply.items.push_back({base + at, length});
  }

 private:
  enum : uint32_t { kNoEnt = 2, kBadSession = 10052, kGrace = 10013, kBadStateId = 10025, kMisordered = 10063 };
  struct Session {
    std::vector<uint32_t> last;
  };

  void Expect(bool fine, const char* what) {
    if (!fine) complaints.emplace_back(what);
  }
  std::string GetText(Cursor& in) { return std::string(rpcrdma::GetString(in)); }

  uint32_t Execute(uint32_t op, Cursor& in, Writer& out, std::vector<std::pair<size_t, uint32_t>>& items) {
    switch (op) {
      case 42: {  // EXCHANGE_ID
        in.U64();
        Expect(!GetText(in).empty(), "an owner");
        Expect(in.U32() == 0 && in.U32() == 0 && in.U32() == 0, "flags, SP4_NONE, no implementation id");
        out.U64(++last_client_);
        out.U32(1);
        out.U32(0x10000);
        out.U32(0);
        out.U64(0);
        rpcrdma::PutString(out, "major");
        rpcrdma::PutString(out, "scope");
        out.U32(0);
        ++clients;
        return 0;
      }
      case 43: {  // CREATE_SESSION
        Expect(in.U64() == last_client_ && in.U32() == 1 && in.U32() == 0, "client id, sequence, flags");
        uint32_t fore[6], back[6];
        for (uint32_t& word : fore) word = in.U32();
        Expect(in.U32() == 0, "no rdma_ird");
        for (uint32_t& word : back) word = in.U32();
        Expect(in.U32() == 0, "no rdma_ird");
        Expect(back[1] >= 2048 && back[2] >= 2048 && back[4] >= 2 && back[5] >= 1, "a backchannel that could work");
        in.U32();
        Expect(in.U32() == 1 && in.U32() == 0, "AUTH_NONE for callbacks");
        const uint8_t id = static_cast<uint8_t>(++sessions_made);
        const uint32_t granted = std::min(fore[5], slots);
        live_[id].last.assign(granted, 0);
        open_sessions = live_.size();
        out.Put(Buffer(16, std::byte{id}));
        out.U32(1);
        out.U32(0);
        for (const uint32_t word : {0u, fore[1], fore[2], 0u, fore[4], granted, 0u}) out.U32(word);
        for (const uint32_t word : {0u, back[1], back[2], 0u, back[4], back[5], 0u}) out.U32(word);
        return 0;
      }
      case 44:  // DESTROY_SESSION
        Expect(live_.erase(std::to_integer<uint8_t>(in.Take(16)[0])) == 1, "a session to destroy");
        open_sessions = live_.size();
        return 0;
      case 57:  // DESTROY_CLIENTID
        in.U64();
        --clients;
        return 0;
      case 53: {  // SEQUENCE
        const Bytes id = in.Take(16);
        const uint32_t sequence = in.U32(), slot = in.U32(), highest = in.U32();
        Expect(in.U32() == 0, "sa_cachethis");
        if (++sequences == bad_session_at) live_.clear();
        const auto found = live_.find(std::to_integer<uint8_t>(id[0]));
        if (found == live_.end()) return kBadSession;
        if (slot >= found->second.last.size() || highest < slot) return kMisordered;
        if (sequence != found->second.last[slot] + 1) return kMisordered;
        found->second.last[slot] = sequence;
        highest_slot_used = std::max(highest_slot_used, slot);
        out.Put(id);
        for (const uint32_t word : {sequence, slot, highest, slots - 1, 0u}) out.U32(word);
        return 0;
      }
      case 58: Expect(in.U32() == 0, "one_fs"); return 0;    // RECLAIM_COMPLETE
      case 24: current_ = "/"; return 0;                     // PUTROOTFH
      case 22: current_ = GetText(in); return 0;             // PUTFH
      case 10: rpcrdma::PutString(out, current_); return 0;  // GETFH
      case 15: {                                             // LOOKUP: the root has one directory
        const std::string name = GetText(in);
        if (current_ != "/" || name != "export") return kNoEnt;
        current_ = "/export/";
        return 0;
      }
      case 18: return Open(in, out);
      case 4:  // CLOSE
        in.U32();
        Expect(std::to_integer<uint8_t>(in.Take(16)[0]) == 0x55, "a state id");
        --open_states;
        out.Put(Buffer(16));
        return 0;
      case 28: {  // REMOVE
        const std::string name = current_ + GetText(in);
        if (files.erase(name) == 0) return kNoEnt;
        for (int i = 0; i < 5; ++i) out.U32(0);
        return 0;
      }
      case 9: {  // GETATTR of type, change, size
        Expect(in.U32() == 1 && in.U32() == 0x1a, "the attributes");
        for (const uint32_t word : {1u, 0x1au, 20u, 1u}) out.U32(word);
        out.U64(1);
        out.U64(files[current_].size());
        return 0;
      }
      case 25: {  // READ
        if (std::to_integer<uint8_t>(in.Take(16)[0]) != 0x55) return kBadStateId;
        const uint64_t offset = in.U64();
        const uint32_t count = in.U32();
        const Buffer& file = files[current_];
        Expect(offset <= file.size(), "an offset inside the file");
        const Bytes data = Bytes(file).subspan(offset).first(std::min<size_t>(count, file.size() - offset));
        out.U32(offset + data.size() == file.size());
        items.emplace_back(out.size() + 4, static_cast<uint32_t>(data.size()));
        out.Opaque(data);
        return 0;
      }
      case 38: {  // WRITE
        if (std::to_integer<uint8_t>(in.Take(16)[0]) != 0x55) return kBadStateId;
        const uint64_t offset = in.U64();
        in.U32();
        const Bytes data = rpcrdma::GetOpaque(in);
        Buffer& file = files[current_];
        if (file.size() < offset + data.size()) file.resize(offset + data.size());
        std::ranges::copy(data, file.begin() + static_cast<std::ptrdiff_t>(offset));
        out.U32(static_cast<uint32_t>(data.size()));
        out.U32(2);
        out.U64(99);
        return 0;
      }
      default: Expect(false, "an operation that is known"); return 10044;
    }
  }

  uint32_t Open(Cursor& in, Writer& out) {
    Expect(in.U32() == 0, "seqid");
    Expect((in.U32() & 3) == 3 && in.U32() == 0, "share access and deny");
    in.U64();
    Expect(!GetText(in).empty(), "an open owner");
    const bool create = in.U32() == 1;
    if (create) {
      Expect(in.U32() == 0, "UNCHECKED4");
      const uint32_t words = in.U32();
      in.Skip(words * 4);
      (void)rpcrdma::GetOpaque(in);
    }
    Expect(in.U32() == 0, "CLAIM_NULL");
    const std::string name = current_ + GetText(in);
    if (grace_answers > 0) {
      --grace_answers;
      return kGrace;
    }
    if (!create && !files.contains(name)) return kNoEnt;
    if (create) files[name].clear();
    current_ = name;
    ++open_states;
    out.Put(Buffer(16, std::byte{0x55}));
    for (int i = 0; i < 5; ++i) out.U32(0);  // change_info4
    out.U32(4);                              // rflags
    out.U32(0);                              // attrset
    out.U32(0);                              // no delegation
    return 0;
  }

  uint64_t last_client_ = 0;
  std::map<uint8_t, Session> live_;
  std::string current_;
};

}  // namespace stag::test
