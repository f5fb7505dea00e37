// SPDX-License-Identifier: GPL-2.0-or-later
//
// Nfs4Server: as much of an NFSv4.1 and 4.2 server as probes ask for, written from RFC 8881 and RFC 7862: clients,
// sessions and their slots with a cache, one directory with files and symbolic links in memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"
#include "replay/rpcrdma/responder.h"

namespace stag::probe::test {

class Nfs4Server final : public rpcrdma::Service {
 public:
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override;

  size_t clients() const { return clients_.size(); }
  std::map<std::string, std::vector<std::byte>> files, links;  // by name; a link's text

 private:
  using Buffer = std::vector<std::byte>;
  struct Cached {  // a Reply from its accept_stat's results on
    Buffer results;
    std::vector<rpcrdma::ResultItem> items;
  };
  struct Slot {
    uint32_t sequence = 0;
    Cached last;
    Buffer operations;  // of the Call that `last` answers
  };
  struct Channel {
    uint32_t request_bytes = 0, response_bytes = 0, cached_bytes = 0, operations = 0, requests = 0;
  };
  struct Session {
    uint64_t client = 0;
    Channel fore;
    std::vector<Slot> slots;
  };
  struct Client {
    uint32_t sequence = 0;  // of the last CREATE_SESSION
    Buffer created;         // its results
    bool reclaimed = false;
  };
  // A COMPOUND as it is worked on.
  struct Compound {
    Cursor in;
    Buffer results = {};
    std::vector<rpcrdma::ResultItem> items = {};
    std::string current = {}, saved = {};  // file handles
    Session* session = nullptr;
    Slot* slot = nullptr;
    bool cache = false, repeats = false;
    size_t request_bytes = 0;
    uint32_t operations = 0;
    Bytes behind = {};  // the operations after the first
  };

  uint32_t ExecuteNext(uint32_t number, Compound& c);
  uint32_t Execute(uint32_t op, bool first, Compound& c, Writer& out);
  static void Keep(const Compound& c, uint32_t done, Cached whole);
  uint32_t Sequence(Compound& c, Writer& out);
  uint32_t CreateSession(Compound& c, Writer& out);
  uint32_t Open(Compound& c, Writer& out);
  uint32_t Read(Compound& c, Writer& out, bool plus);
  uint32_t Write(Compound& c, Writer& out);
  uint32_t ReadDirectory(Compound& c, Writer& out);
  uint32_t Copy(Compound& c, Writer& out);
  Buffer* FileOf(const std::string& handle);
  static void Put(rpcrdma::ServiceReply& reply, const Cached& from);

  std::map<uint64_t, Client> clients_;
  std::map<uint32_t, Session> sessions_;
  uint64_t last_client_ = 0x1000;
  uint32_t last_session_ = 0;
};

}  // namespace stag::probe::test
