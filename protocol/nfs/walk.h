// SPDX-License-Identifier: GPL-2.0-or-later
//
// Walks the arguments and results of NFSv2, v3, v4.0, v4.1 and v4.2 (and knows MOUNT, NLM, NSM, NFSACL and callbacks
// well enough to say that nothing in them is DDP-eligible) far enough to find every DDP-eligible data item (RFC 8267),
// the status, the COMPOUND operations, and what `stag extract` needs: which file and where.
//
// The stream that is walked is the *reduced* RPC message (protocol.md section 5): at each DDP-eligible item the visitor
// says whether its bytes stand in the stream or were moved by RDMA. Works on truncated streams: everything visible is
// reported, then the status says where it ended.
#pragma once

#include <vector>

#include "protocol/base/bytes.h"
#include "protocol/rpc/message.h"

namespace stag::nfs {

inline constexpr uint32_t kNfsProgram = 100003, kMountProgram = 100005, kNlmProgram = 100021, kNsmProgram = 100024,
                          kNfsAclProgram = 100227;
inline bool IsCallbackProgram(uint32_t program) { return program >= 0x40000000u && program < 0x60000000u; }
// Programs beside NFS that have no DDP-eligible item (RFC 8267).
inline bool IsSideProtocol(uint32_t program) {
  return program == kMountProgram || program == kNlmProgram || program == kNsmProgram || program == kNfsAclProgram ||
         IsCallbackProgram(program);
}
inline bool IsNfs23(const rpc::CallHeader& call) { return call.program == kNfsProgram && call.version <= 3; }
inline bool IsNfs4(const rpc::CallHeader& call) { return call.program == kNfsProgram && call.version == 4; }

enum class ItemKind : uint8_t { kWriteData, kReadData, kLinkText };

// One DDP-eligible item. `offset`: bytes from the start of the reduced stream (the RPC message) to where its first data
// byte stands or would stand, that is just after its count word. `length`: the count word, without XDR padding.
struct Item {
  ItemKind kind = ItemKind::kReadData;
  uint64_t offset = 0;
  uint32_t length = 0;
  uint32_t op_index = 0;  // index of the COMPOUND operation; 0 for NFSv2 and v3
};

// A value that a server gives out, or that names one client: what a replay has to exchange, and in what two calls may
// differ that ask for the same.
enum class ValueKind : uint8_t {
  kHandle,           // file handle: NFSv2, v3, v4, MOUNT, NFSACL
  kCookie,           // of a directory entry, 8 bytes (NFSv2: 4); in calls not the zero that begins a listing
  kCookieVerifier,   // 8 bytes; in calls only beside a cookie
  kClientId,         // clientid4, 8 bytes
  kConfirmVerifier,  // setclientid_confirm, 8 bytes
  kClientSequence,   // what CREATE_SESSION counts with, 4 bytes, just behind the client id: EXCHANGE_ID's results, and
                     // CREATE_SESSION's arguments
  kSession,          // sessionid4, 16 bytes; not where SEQUENCE's results repeat it
  kSlot,             // SEQUENCE's arguments: sequence, slot and highest slot, 12 bytes, just behind the session
  kSlotCount,        // CREATE_SESSION's results: ca_maxrequests of the fore channel, 4 bytes
  kStateid,          // stateid4, 16 bytes
  kClientVerifier,   // SETCLIENTID, EXCHANGE_ID: the instance of the client, 8 bytes
  kClientOwner       // SETCLIENTID, EXCHANGE_ID: the client; opaque
};
// What the bytes of a field tell, for who must not give it away.
enum class FieldKind : uint8_t {
  kPlain,       // counts, flags, enumerations, statuses, limits; offsets and lengths of what is read, written or locked
  kPadding,     // of XDR
  kName,        // text of a file, a link, a host, an owner, an extended attribute, an implementation
  kOpaque,      // bytes whose meaning is their maker's: handles, cookies, verifiers, identifiers, tokens
  kNumber,      // 4 or 8 bytes: a user, group, file or file system, or how large one is
  kTime,        // of a file: seconds (4 or 8 bytes) and nanoseconds (4)
  kNetId,       // netid of a netaddr4
  kNetAddress,  // universal address of a netaddr4
};
struct Value {
  ValueKind kind = ValueKind::kHandle;
  uint32_t op_index = 0;  // of the COMPOUND operation; 0 in other programs and versions
  uint64_t offset = 0;    // bytes from the start of the stream; of an opaque, just behind its count word
  uint32_t length = 0;    // bytes, without count word and padding
  Bytes name;             // the directory entry that it belongs to (cookies, READDIRPLUS handles); empty: none
};

// Called in stream order. All views point into the stream and are valid during the call.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // Must return true when the item's bytes (and padding) are not in the stream because they were moved in a chunk.
  virtual bool IsReduced(const Item&) { return false; }

  // COMPOUND: operation `op` at `op_index` starts (call), or its result with `status` (reply). An operation that we do
  // not know is reported too, before the walk ends as kUnsupported.
  virtual void OnOperation(uint32_t /*op_index*/, uint32_t /*op*/) {}
  virtual void OnOperationResult(uint32_t /*op_index*/, uint32_t /*op*/, uint32_t /*status*/) {}

  // What a call says of files. READ and WRITE on `handle` (NFSv4: the current handle if a PUTFH in this COMPOUND named
  // it, else empty) at `file_offset`, `count` bytes. For WRITE the matching Item follows (IsReduced is called after).
  virtual void OnRead(uint32_t /*op_index*/, Bytes /*handle*/, uint64_t /*file_offset*/, uint32_t /*count*/) {}
  virtual void OnWrite(uint32_t /*op_index*/, Bytes /*handle*/, uint64_t /*file_offset*/, uint32_t /*count*/) {}
  // READDIR and READDIRPLUS limits (bytes), for reply size estimation.
  virtual void OnReplyLimit(uint32_t /*op_index*/, uint32_t /*op_or_procedure*/, uint32_t /*max_bytes*/) {}
  // SETCLIENTID: where the server is to call back (netaddr4: a netid and a universal address).
  virtual void OnCallbackAddress(uint32_t /*op_index*/, Bytes /*netid*/, Bytes /*address*/) {}
  // Replies: sr_status_flags of SEQUENCE (RFC 8881 section 18.46).
  virtual void OnStatusFlags(uint32_t /*op_index*/, uint32_t /*flags*/) {}
  // What outlives its COMPOUND, by its stateid (16 bytes): what CB_RECALL asks for, and CB_OFFLOAD has done; what
  // DELEGRETURN, FREE_STATEID, OFFLOAD_CANCEL and OFFLOAD_STATUS name in calls; and in replies what the server goes on
  // with behind COPY and WRITE_SAME.
  virtual void OnState(uint32_t /*op_index*/, uint32_t /*op*/, Bytes /*stateid*/) {}
  // Replies: a CREATE_SESSION or BIND_CONN_TO_SESSION that makes its connection a backchannel.
  virtual void OnBackchannel(uint32_t /*op_index*/) {}
  // A name looked up, created or opened in `directory` (empty: unknown), in a call. Its handle comes with OnHandle in
  // the reply, at the same op_index (NFSv3) or at a later GETFH (NFSv4).
  virtual void OnName(uint32_t /*op_index*/, Bytes /*directory*/, Bytes /*name*/) {}
  // NFSv4 calls: PUTFH (the handle becomes current), SAVEFH, RESTOREFH, GETFH and PUTROOTFH are reported by
  // OnOperation; PUTFH also here.
  virtual void OnCurrentHandle(uint32_t /*op_index*/, Bytes /*handle*/) {}
  // A file handle in a reply: LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD results (v2, v3), GETFH (v4), MOUNT.
  virtual void OnHandle(uint32_t /*op_index*/, Bytes /*handle*/) {}
  // NFSv3 READDIRPLUS reply entry that came with a handle.
  virtual void OnEntry(Bytes /*name*/, Bytes /*handle*/) {}
  // In calls and replies; of callbacks only some.
  virtual void OnValue(const Value&) {}
  // Asked once a walk: whether OnField is to be called: for every field but Items, in the order of the stream. A field
  // that comes again is of the kind that comes last; bytes that no call names are not known.
  virtual bool WantsFields() const { return false; }
  virtual void OnField(FieldKind, uint64_t /*offset*/, uint64_t /*length*/) {}
  // READ reply: just before its Item; `count`: the Item's length. `eof` is false in NFSv2, which has none.
  virtual void OnReadResult(uint32_t /*op_index*/, uint32_t /*count*/, bool /*eof*/) {}
};

struct Walk {
  // kOk: walked to the end of the arguments or results (what follows, up to the stream's length, is not theirs); also a
  // reply without results (RPC errors). kTruncatedByCapture / kMalformed: stopped at `offset`. kUnsupported: program,
  // version, procedure or operation that we do not know, or arguments that are wrapped (GSS); what precedes it was
  // reported.
  ParseStatus status = ParseStatus::kUnsupported;
  uint64_t offset = 0;      // where the walk ended: bytes from the start of the stream
  bool has_status = false;  // reply: an NFS (NFSACL, MOUNT, NLM) status was read
  uint32_t nfs_status = 0;
  uint64_t nonzero_padding = 0;  // where the first byte of XDR padding that is not zero stands; 0: nowhere
};

// `stream`: captured prefix of the reduced RPC message, `length`: its bytes on the wire; `header`: of that same
// message.
Walk WalkCall(const rpc::CallHeader& header, Bytes stream, uint64_t length, Visitor& visitor);
// `call`: the header of the call it answers (program, version, procedure, GSS service); one that the capture cut will
// do when its has_flavor is true.
Walk WalkReply(const rpc::CallHeader& call, const rpc::ReplyHeader& header, Bytes stream, uint64_t length,
               Visitor& visitor);

// How many DDP-eligible items the *results* of this call can have (RFC 8267): READ 1, READLINK 1, COMPOUND: its READ
// and READLINK operations; and likewise for the arguments. `known` false when program or version is unknown, GSS hides
// them, or a COMPOUND could not be walked to its end. `reduced`: its IsReduced (nothing else is called) tells which
// items of the call were moved out of the stream; nullptr: none.
struct Eligibility {
  bool known = false;
  uint32_t argument_items = 0;
  uint32_t result_items = 0;
};
Eligibility EligibleItems(const rpc::CallHeader& header, Bytes stream, uint64_t length, Visitor* reduced = nullptr);
// The same from a walk of the call that told the items (`argument_items`) and, in a COMPOUND, the operations with an
// eligible result.
Eligibility EligibleItems(const rpc::CallHeader& header, const Walk& walk, uint32_t argument_items,
                          uint32_t result_items);
// Whether the result of the NFSv4 operation can be DDP-eligible: READ, READLINK.
bool HasEligibleResult(uint32_t op);

// "READ", "PUTFH", "CB_RECALL", ...; nullptr when unknown.
const char* OperationName(uint32_t op);
const char* CallbackOperationName(uint32_t op);
// "NFS3ERR_NOENT", "NFS4ERR_STALE", "NFS3_OK"; nullptr when unknown.
const char* StatusName(uint32_t version, uint32_t status);
// "SEQ4_STATUS_CB_PATH_DOWN" of the flag 1; nullptr when unknown. RFC 8881 defines the lowest so many.
inline constexpr size_t kStatusFlagCount = 13;
const char* StatusFlagName(uint32_t flag);
// Statuses that ask to try again later: NFS4ERR_DELAY, which is NFS3ERR_JUKEBOX, too; NFS4ERR_GRACE.
inline constexpr uint32_t kErrDelay = 10008, kErrGrace = 10013;

}  // namespace stag::nfs
