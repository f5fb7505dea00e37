// SPDX-License-Identifier: GPL-2.0-or-later
//
// Names of the programs that are seen on RPC-over-RDMA connections and of their procedures, as their documents spell
// them without the prefix (NFSPROC3_READ is "READ").
#include <span>

#include "protocol/rpc/message.h"

namespace stag::rpc {
namespace {

using Names = std::span<const char* const>;

constexpr const char* kPortmap2[] = {"NULL", "SET", "UNSET", "GETPORT", "DUMP", "CALLIT"};  // RFC 1833 section 3
constexpr const char* kRpcbind3[] = {"NULL",   "SET",     "UNSET",       "GETADDR",    "DUMP",
                                     "CALLIT", "GETTIME", "UADDR2TADDR", "TADDR2UADDR"};  // RFC 1833 section 2
constexpr const char* kRpcbind4[] = {"NULL",     "SET",         "UNSET",       "GETADDR",     "DUMP",
                                     "BCAST",    "GETTIME",     "UADDR2TADDR", "TADDR2UADDR", "GETVERSADDR",
                                     "INDIRECT", "GETADDRLIST", "GETSTAT"};
constexpr const char* kNfs2[] = {"NULL", "GETATTR",    "SETATTR", "ROOT",   "LOOKUP",  "READLINK",
                                 "READ", "WRITECACHE", "WRITE",   "CREATE", "REMOVE",  "RENAME",
                                 "LINK", "SYMLINK",    "MKDIR",   "RMDIR",  "READDIR", "STATFS"};  // RFC 1094
constexpr const char* kNfs3[] = {"NULL",   "GETATTR", "SETATTR",  "LOOKUP", "ACCESS",  "READLINK",
                                 "READ",   "WRITE",   "CREATE",   "MKDIR",  "SYMLINK", "MKNOD",
                                 "REMOVE", "RMDIR",   "RENAME",   "LINK",   "READDIR", "READDIRPLUS",
                                 "FSSTAT", "FSINFO",  "PATHCONF", "COMMIT"};  // RFC 1813 section 3
constexpr const char* kNfs4[] = {"NULL", "COMPOUND"};  // RFC 7530 section 15, RFC 8881 section 17
constexpr const char* kNfsCallback[] = {"NULL", "CB_COMPOUND"};
constexpr const char* kMount12[] = {"NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT", "EXPORTALL", "PATHCONF"};
constexpr const char* kMount3[] = {"NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT"};  // RFC 1813 section 5
constexpr const char* kNlm[] = {"NULL",     "TEST",       "LOCK",       "CANCEL",      "UNLOCK",      "GRANTED",
                                "TEST_MSG", "LOCK_MSG",   "CANCEL_MSG", "UNLOCK_MSG",  "GRANTED_MSG", "TEST_RES",
                                "LOCK_RES", "CANCEL_RES", "UNLOCK_RES", "GRANTED_RES", nullptr,       nullptr,
                                nullptr,    nullptr,      "SHARE",      "UNSHARE",     "NM_LOCK",     "FREE_ALL"};
constexpr const char* kNsm[] = {"NULL", "STAT", "MON", "UNMON", "UNMON_ALL", "SIMU_CRASH", "NOTIFY"};
constexpr const char* kNfsAcl2[] = {"NULL", "GETACL", "SETACL", "GETATTR", "ACCESS", "GETXATTRDIR"};
constexpr const char* kNfsAcl3[] = {"NULL", "GETACL", "SETACL", "GETXATTRDIR"};
constexpr const char* kCcp[] = {"NULL", "CONF_RDMA"};  // draft-08 section 6.2

struct Program {
  uint32_t number, low_version, high_version;
  const char* name;
  Names procedures;
};

constexpr uint32_t kGluster = 1298437, kGlusterHandshake = 14398633, kGlusterDump = 123451501;

constexpr Program kPrograms[] = {
    {kGluster, 1, ~0u, "GlusterFS", {}},
    {kGlusterHandshake, 1, ~0u, "GlusterFS handshake", {}},
    {kGlusterDump, 1, ~0u, "GlusterFS dump", {}},
    {100000, 2, 2, "PORTMAP", kPortmap2},
    {100000, 3, 3, "RPCBIND", kRpcbind3},
    {100000, 4, 4, "RPCBIND", kRpcbind4},
    {100003, 2, 2, "NFS", kNfs2},
    {100003, 3, 3, "NFS", kNfs3},
    {100003, 4, 4, "NFS", kNfs4},
    {100005, 1, 2, "MOUNT", kMount12},
    {100005, 3, 3, "MOUNT", kMount3},
    {100021, 1, 4, "NLM", kNlm},
    {100024, 1, 1, "NSM", kNsm},
    {100227, 2, 2, "NFSACL", kNfsAcl2},
    {100227, 3, 3, "NFSACL", kNfsAcl3},
    {100400, 1, 1, "CCP", kCcp},
    {100417, 1, 1, "CCP", kCcp},
};

// RFC 5531 section 8.3: "transient" numbers, where NFSv4 clients put their callback program.
constexpr bool IsTransient(uint32_t program) { return program >= 0x40000000u && program < 0x60000000u; }

}  // namespace

bool IsGluster(uint32_t program) {
  return program == kGluster || program == kGlusterHandshake || program == kGlusterDump;
}

const char* ProgramName(uint32_t program, uint32_t version) {
  if (IsTransient(program)) return "NFS_CB";
  const char* any_version = nullptr;
  for (const Program& p : kPrograms) {
    if (p.number != program) continue;
    if (version >= p.low_version && version <= p.high_version) return p.name;
    if (!any_version) any_version = p.name;
  }
  return any_version;
}

const char* ProcedureName(uint32_t program, uint32_t version, uint32_t procedure) {
  if (procedure == 0) return "NULL";
  Names names;
  if (IsTransient(program)) names = kNfsCallback;
  for (const Program& p : kPrograms)
    if (p.number == program && version >= p.low_version && version <= p.high_version) names = p.procedures;
  return procedure < names.size() ? names[procedure] : nullptr;
}

}  // namespace stag::rpc
