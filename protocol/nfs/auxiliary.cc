// SPDX-License-Identifier: GPL-2.0-or-later
//
// MOUNT, NSM and NFSACL. Nothing in them is DDP-eligible; they are walked for statuses, handles and their length.
#include "protocol/nfs/walkers.h"

namespace stag::nfs {
namespace {

namespace mount {
enum Procedure : uint32_t { kNull, kMnt, kDump, kUmnt, kUmntall, kExport, kExportall, kPathconf };

void Exports(Stream& s) {
  while (s.Bool()) {
    s.Name();                   // directory
    while (s.Bool()) s.Name();  // groups
  }
}
}  // namespace mount

namespace nsm {
enum Procedure : uint32_t { kNull, kStat, kMon, kUnmon, kUnmonAll, kSimuCrash, kNotify };
}

namespace acl {
// Version 2 has two procedures that version 3 has not, so the number of GETXATTRDIR differs.
enum class Procedure : uint8_t { kNull, kGetacl, kSetacl, kGetattr, kAccess, kGetxattrdir, kUnknown };

Procedure Of(uint32_t version, uint32_t procedure) {
  if (version == 3 && procedure == 3) return Procedure::kGetxattrdir;
  if (procedure > (version == 2 ? 5u : 3u)) return Procedure::kUnknown;
  return static_cast<Procedure>(procedure);
}

void Handle(uint32_t version, Stream& s) {
  if (version == 2) {
    s.Value(ValueKind::kHandle, kNfs2HandleBytes);
  } else {
    s.OpaqueValue(ValueKind::kHandle, kNfs3HandleMax);
  }
}

void Attributes(uint32_t version, Stream& s) {
  if (version == 2) return SkipNfs2Attributes(s);
  SkipPostOpAttributes(s);
}

// secattr: mask, then count and entries of the ACL and of the default ACL.
void SecurityAttributes(Stream& s) {
  s.Skip(4);
  for (int list = 0; list < 2; ++list) {
    s.Skip(4);
    s.SkipArray(12, "wuw");
  }
}
}  // namespace acl

}  // namespace

void WalkMountCall(uint32_t version, uint32_t procedure, Stream& s) {
  using namespace mount;
  if (procedure > (version == 3 ? kExport : kPathconf)) return s.Unsupported();
  if (procedure == kMnt || procedure == kUmnt || procedure == kPathconf) s.Name();
}

void WalkMountReply(uint32_t version, uint32_t procedure, Stream& s) {
  using namespace mount;
  switch (procedure) {
    case kNull:
    case kUmnt:
    case kUmntall: return;
    case kMnt: {
      if (s.Status() != 0) return;
      const Bytes handle = version == 3 ? s.OpaqueValue(ValueKind::kHandle, kNfs3HandleMax)
                                        : s.Value(ValueKind::kHandle, kNfs2HandleBytes);
      if (s.ok()) s.visitor.OnHandle(0, handle);
      if (version == 3) s.SkipWords();  // authentication flavors
      return;
    }
    case kDump:
      while (s.Bool()) s.Fields("NN");
      return;
    case kExport: return Exports(s);
    case kExportall: return version == 3 ? s.Unsupported() : Exports(s);
    case kPathconf: return version == 3 ? s.Unsupported() : s.Skip(40);  // ppathcnf: ten small integers, each a word
    default: return s.Unsupported();
  }
}

void WalkNsmCall(uint32_t procedure, Stream& s) {
  using namespace nsm;
  switch (procedure) {
    case kNull:
    case kSimuCrash: return;
    case kStat: s.Name(); return;
    case kMon: return s.Fields("NNwwws");
    case kUnmon: return s.Fields("NNwww");
    case kUnmonAll: return s.Fields("Nwww");
    case kNotify: return s.Fields("Nw");
    default: return s.Unsupported();
  }
}

void WalkNsmReply(uint32_t procedure, Stream& s) {
  using namespace nsm;
  switch (procedure) {
    case kNull:
    case kSimuCrash:
    case kNotify: return;
    case kStat:
    case kMon: s.Status(); return s.Skip(4);
    case kUnmon:
    case kUnmonAll: return s.Skip(4);
    default: return s.Unsupported();
  }
}

void WalkNfsAclCall(uint32_t version, uint32_t procedure, Stream& s) {
  using acl::Procedure;
  const Procedure which = acl::Of(version, procedure);
  if (which == Procedure::kUnknown) return s.Unsupported();
  if (which == Procedure::kNull) return;
  acl::Handle(version, s);
  if (which == Procedure::kSetacl) {
    acl::SecurityAttributes(s);
  } else if (which != Procedure::kGetattr) {
    s.Skip(4);  // mask, access bits, or whether to create
  }
}

void WalkNfsAclReply(uint32_t version, uint32_t procedure, Stream& s) {
  using acl::Procedure;
  const Procedure which = acl::Of(version, procedure);
  if (which == Procedure::kUnknown) return s.Unsupported();
  if (which == Procedure::kNull) return;
  const bool success = s.Status() == 0;
  if (which == Procedure::kGetxattrdir && success) {
    acl::Handle(version, s);
  }
  // Version 2 gives attributes on success only.
  if (success || version == 3) acl::Attributes(version, s);
  if (!success) return;
  if (which == Procedure::kGetacl) acl::SecurityAttributes(s);
  if (which == Procedure::kAccess) s.Skip(4);
}

}  // namespace stag::nfs
