// SPDX-License-Identifier: GPL-2.0-or-later
//
// The procedures of NFSv3. Each decodes all of its arguments first and touches nothing when they are not whole;
// nfs3.cc has those on one file, nfs3_names.cc those on names in directories.
#pragma once

#include "replay/serve/nfs3_xdr.h"
#include "replay/serve/rpc_service.h"

namespace stag::serve {

class Nfs3Program final : public RpcProgram {
 public:
  Nfs3Program(MemoryFs& fs, uint32_t max_transfer);
  rpc::AcceptStat OnProcedure(const rpc::CallHeader& call, Cursor& arguments, rpcrdma::ServiceReply& reply) override;
  rpcrdma::Landing Land(uint64_t before, uint64_t item, uint64_t after) override;

 private:
  using Node = MemoryFs::Node;
  struct Context {
    Cursor& in;
    Writer out;  // appends to reply.message
    rpcrdma::ServiceReply& reply;
    uint32_t uid = 0, gid = 0;  // who makes a node
  };
  struct Procedure {
    void (Nfs3Program::*run)(Context&) = nullptr;
    bool alone = false;  // needs the whole file system for itself: it changes names, nodes or attributes
  };
  static const Procedure kProcedures[];

  void Getattr(Context&);
  void Setattr(Context&);
  void Lookup(Context&);
  void Access(Context&);
  void Readlink(Context&);
  void Read(Context&);
  void Write(Context&);
  void Create(Context&);
  void Mkdir(Context&);
  void Symlink(Context&);
  void Mknod(Context&);
  void Remove(Context&);
  void Rmdir(Context&);
  void Rename(Context&);
  void Link(Context&);
  void Readdir(Context&);
  void Readdirplus(Context&);
  void Fsstat(Context&);
  void Fsinfo(Context&);
  void Pathconf(Context&);
  void Commit(Context&);

  // diropargs3.
  struct Place {
    Bytes directory;
    std::string_view name;
  };
  static Place GetPlace(Cursor& in);

  void PutContents(Context& c, Node& file, uint64_t offset, uint32_t count);
  // Attributes of a node that another thread may be writing to.
  void PutPresent(Writer& out, const Node* node) const;
  // The common form of FSSTAT, FSINFO and PATHCONF: a handle in; status and attributes out. False: that is all.
  bool About(Context& c);
  void RemoveFrom(Context& c, NfsStatus (MemoryFs::*how)(Node&, std::string_view));
  struct Position {
    Bytes directory;
    uint64_t cookie = 0, verifier = 0;
  };
  void List(Context& c, const Position& from, uint64_t name_bytes, uint64_t all_bytes, bool plus);
  bool PutEntry(Writer& out, const Node& node, std::string_view name, uint64_t cookie, uint64_t room, bool plus) const;
  // CREATE, MKDIR, SYMLINK, MKNOD: owner and attributes of a new node; it goes again when they cannot be had.
  NfsStatus Furnish(const Context& c, Node& directory, std::string_view name, Node& made, const NewAttributes& given);
  void PutMade(Context& c, NfsStatus status, const Wcc& before, const Node* directory, const Node* made);

  MemoryFs& fs_;
  const uint32_t max_transfer_;
};

}  // namespace stag::serve
