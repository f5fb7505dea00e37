// SPDX-License-Identifier: GPL-2.0-or-later
//
// The table of operations: RFC 7530 (3 to 39), RFC 8881 (40 to 58), RFC 7862 (59 to 71), RFC 8276 (72 to 75).
#include "protocol/nfs/nfs4_operations.h"

#include <iterator>

#include "protocol/nfs/walk.h"

namespace stag::nfs {
namespace {

constexpr uint32_t kFirst = 3;

constexpr Operation kOperations[] = {
    {"ACCESS", "w", "ww"},
    {"CLOSE", "wi", "i"},
    {"COMMIT", "hw", "y"},
    {"CREATE", nullptr, "cm"},
    {"DELEGPURGE", "k", ""},
    {"DELEGRETURN", nullptr, ""},
    {"GETATTR", "m", "a"},
    {"GETFH", "", nullptr},
    {"LINK", "N", "c"},
    {"LOCK", nullptr, nullptr},
    {"LOCKT", "whhko", nullptr},
    {"LOCKU", "wwihh", "i"},
    {"LOOKUP", nullptr, ""},
    {"LOOKUPP", "", ""},
    {"NVERIFY", "f", ""},
    {"OPEN", nullptr, nullptr},
    {"OPENATTR", "b", ""},
    {"OPEN_CONFIRM", "iw", "i"},
    {"OPEN_DOWNGRADE", "iwww", "i"},
    {"PUTFH", nullptr, ""},
    {"PUTPUBFH", "", ""},
    {"PUTROOTFH", "", ""},
    {"READ", nullptr, nullptr},
    {"READDIR", nullptr, nullptr},
    {"READLINK", "", nullptr},
    {"REMOVE", "N", "c"},
    {"RENAME", "NN", "cc"},
    {"RENEW", "k", ""},
    {"RESTOREFH", "", ""},
    {"SAVEFH", "", ""},
    {"SECINFO", "N", nullptr},
    {"SETATTR", "if", nullptr},
    {"SETCLIENTID", nullptr, nullptr},
    {"SETCLIENTID_CONFIRM", "kv", ""},
    {"VERIFY", "f", ""},
    {"WRITE", nullptr, "wwy"},
    {"RELEASE_LOCKOWNER", "ko", ""},
    {"BACKCHANNEL_CTL", nullptr, ""},
    {"BIND_CONN_TO_SESSION", "xwb", nullptr},
    {"EXCHANGE_ID", nullptr, nullptr},
    {"CREATE_SESSION", nullptr, nullptr},
    {"DESTROY_SESSION", "x", ""},
    {"FREE_STATEID", nullptr, ""},
    {"GET_DIR_DELEGATION", "bmttmm", nullptr},
    {"GETDEVICEINFO", "swwm", nullptr},
    {"GETDEVICELIST", "wwyy", nullptr},
    {"LAYOUTCOMMIT", nullptr, nullptr},
    {"LAYOUTGET", "bwwhhhiw", nullptr},
    {"LAYOUTRETURN", nullptr, nullptr},
    {"SECINFO_NO_NAME", "w", nullptr},
    {"SEQUENCE", "xqb", nullptr},
    {"SET_SSV", "oo", "o"},
    {"TEST_STATEID", nullptr, nullptr},
    {"WANT_DELEGATION", nullptr, nullptr},
    {"DESTROY_CLIENTID", "k", ""},
    {"RECLAIM_COMPLETE", "b", ""},
    {"ALLOCATE", "ihh", ""},
    {"COPY", nullptr, nullptr},
    {"COPY_NOTIFY", nullptr, nullptr},
    {"DEALLOCATE", "ihh", ""},
    {"IO_ADVISE", "ihhm", "m"},
    {"LAYOUTERROR", nullptr, ""},
    {"LAYOUTSTATS", "hhihhhhswo", ""},
    {"OFFLOAD_CANCEL", nullptr, ""},
    {"OFFLOAD_STATUS", nullptr, nullptr},
    {"READ_PLUS", "ihw", nullptr},
    {"SEEK", "ihw", "bh"},
    {"WRITE_SAME", "iwhhhhwho", nullptr},
    {"CLONE", "iihhh", ""},
    {"GETXATTR", "N", "o"},
    {"SETXATTR", "wNo", "c"},
    {"LISTXATTRS", "yw", nullptr},
    {"REMOVEXATTR", "N", "c"},
};
static_assert(std::size(kOperations) == kOpRemovexattr - kFirst + 1);

constexpr Operation kCallbackOperations[] = {
    {"CB_GETATTR", "nm", "f"},
    {"CB_RECALL", nullptr, ""},
    {"CB_LAYOUTRECALL", nullptr, ""},
    {"CB_NOTIFY", nullptr, ""},
    {"CB_PUSH_DELEG", nullptr, ""},
    {"CB_RECALL_ANY", "wm", ""},
    {"CB_RECALLABLE_OBJ_AVAIL", "wm", ""},
    {"CB_RECALL_SLOT", "w", ""},
    {"CB_SEQUENCE", nullptr, "swwww"},
    {"CB_WANTS_CANCELLED", "bb", ""},
    {"CB_NOTIFY_LOCK", "nyo", ""},
    {"CB_NOTIFY_DEVICEID", nullptr, ""},
    {"CB_OFFLOAD", nullptr, ""},
};
static_assert(std::size(kCallbackOperations) == kCbOffload - kFirst + 1);

constexpr Operation kIllegal = {"ILLEGAL", "", ""};
constexpr Operation kCallbackIllegal = {"CB_ILLEGAL", "", ""};

}  // namespace

const Operation* FindOperation(uint32_t op) {
  if (op == kOpIllegal) return &kIllegal;
  return op >= kFirst && op - kFirst < std::size(kOperations) ? &kOperations[op - kFirst] : nullptr;
}

const Operation* FindCallbackOperation(uint32_t op) {
  if (op == kOpIllegal) return &kCallbackIllegal;
  return op >= kFirst && op - kFirst < std::size(kCallbackOperations) ? &kCallbackOperations[op - kFirst] : nullptr;
}

const char* OperationName(uint32_t op) {
  const Operation* operation = FindOperation(op);
  return operation ? operation->name : nullptr;
}

const char* CallbackOperationName(uint32_t op) {
  const Operation* operation = FindCallbackOperation(op);
  return operation ? operation->name : nullptr;
}

}  // namespace stag::nfs
