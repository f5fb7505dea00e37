// SPDX-License-Identifier: GPL-2.0-or-later
//
// NLM versions 1 and 3 (X/Open XNFS) and 4 (RFC 1813 section 6), which differ in the width of offsets. Nothing in it is
// DDP-eligible; a status follows the cookie.
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

enum Procedure : uint32_t {
  kNull,
  kTest,
  kLock,
  kCancel,
  kUnlock,
  kGranted,
  kTestMsg,
  kLockMsg,
  kCancelMsg,
  kUnlockMsg,
  kGrantedMsg,
  kTestRes,
  kLockRes,
  kCancelRes,
  kUnlockRes,
  kGrantedRes,
  kShare = 20,
  kUnshare,
  kNmLock,
  kFreeAll
};

constexpr uint32_t kDenied = 1;

bool IsKnown(uint32_t procedure) { return procedure <= kGrantedRes || (procedure >= kShare && procedure <= kFreeAll); }

// An offset and a length
void Range(uint32_t version, Stream& s) { s.Skip(version == 4 ? 16 : 8); }

void LockDescription(uint32_t version, Stream& s) {
  s.Fields("Noou");  // caller name, file handle, owner, process id
  Range(version, s);
}

// nlm_res or nlm_testres, after the cookie
void Result(uint32_t version, bool test, bool report, Stream& s) {
  const uint32_t status = report ? s.Status() : s.U32();
  if (!test || status != kDenied) return;
  s.Fields("buo");  // the holder
  Range(version, s);
}

}  // namespace

void WalkNlmCall(uint32_t version, uint32_t procedure, Stream& s) {
  if (!IsKnown(procedure)) return s.Unsupported();
  if (procedure == kNull) return;
  if (procedure == kFreeAll) return s.Fields("Nw");
  s.Opaque();  // cookie
  switch (procedure) {
    case kTest:
    case kTestMsg:
    case kGranted:
    case kGrantedMsg: s.Bool(); return LockDescription(version, s);
    case kLock:
    case kLockMsg:
    case kNmLock:
      s.Fields("bb");
      LockDescription(version, s);
      return s.Fields("bw");
    case kCancel:
    case kCancelMsg: s.Fields("bb"); return LockDescription(version, s);
    case kUnlock:
    case kUnlockMsg: return LockDescription(version, s);
    case kShare:
    case kUnshare: return s.Fields("Noowwb");
    default:  // the answers to _MSG calls are calls themselves
      return Result(version, procedure == kTestRes, false, s);
  }
}

void WalkNlmReply(uint32_t version, uint32_t procedure, Stream& s) {
  if (!IsKnown(procedure)) return s.Unsupported();
  if (procedure == kNull || procedure == kFreeAll || (procedure >= kTestMsg && procedure <= kGrantedRes)) return;
  s.Opaque();  // cookie
  Result(version, procedure == kTest, true, s);
  if (procedure == kShare || procedure == kUnshare) s.Skip(4);  // sequence
}

}  // namespace stag::nfs
