// SPDX-License-Identifier: GPL-2.0-or-later
//
// The RPC-over-RDMA version 1 transport header: RFC 8166 section 4, rfc5666bis section 5, RFC 5666 (draft-08)
// section 4. Names are the specification's. One Header object is reused for message after message, so that its lists
// keep their storage and nothing is allocated in the steady state.
#pragma once

#include <optional>
#include <vector>

#include "protocol/base/bytes.h"

namespace stag::rpcrdma {

inline constexpr uint32_t kVersion1 = 1;
inline constexpr uint32_t kMinimumHeader = 28;       // MSG and NOMSG without chunks
inline constexpr uint32_t kDefaultThreshold = 1024;  // RFC 8166 section 3.3.3
inline constexpr uint32_t kServicePort = 20049;      // RFC 8166 section 5

enum Proc : uint32_t { kMsg = 0, kNomsg = 1, kMsgp = 2, kDone = 3, kError = 4 };  // rdma_proc
enum ErrorCode : uint32_t { kErrVers = 1, kErrChunk = 2 };                        // rdma_err

// xdr_rdma_segment
struct Segment {
  uint32_t handle = 0;
  uint32_t length = 0;  // bytes
  uint64_t offset = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};

// xdr_read_chunk: one *segment* of the Read list
struct ReadSegment {
  uint32_t position = 0;  // byte offset in the unreduced Payload stream
  Segment target;
  friend bool operator==(const ReadSegment&, const ReadSegment&) = default;
};

// A Write chunk or Reply chunk: `count` consecutive entries of Header::segments from `first`. count == 0: the empty
// Write chunk of RFC 8166 section 4.3.2.
struct Chunk {
  uint32_t first = 0;
  uint32_t count = 0;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

// What is wrong with a header whose status is kMalformed.
enum class Defect : uint8_t {
  kNone,
  kTooShort,          // fewer than 16 bytes, or MSG/NOMSG/MSGP under their minimum
  kBadProc,           // rdma_proc > 4
  kBadDiscriminator,  // an optional-data word that is not 0 or 1
  kReadListOverrun,   // the lists run off the end of the Send
  kWriteListOverrun,
  kReplyChunkOverrun,
  kErrorBodyOverrun,
};

struct Header {
  // How far the header is valid: kOk; kTruncatedByCapture; kMalformed (see defect); kUnsupported: rdma_vers is not 1,
  // so only the fixed words (and an ERR_VERS body) were read.
  ParseStatus status = ParseStatus::kMalformed;
  Defect defect = Defect::kNone;
  // Byte offset of the defect (the offending word: rdma_proc, a discriminator, a count that does not fit), or of the
  // first byte that is missing from the Send or, when truncated, from the capture.
  uint32_t defect_offset = 0;
  uint32_t length = 0;  // T: bytes of the transport header; valid when status is kOk (kUnsupported: bytes read)
  uint8_t words = 0;    // how many of the four fixed words below were there (0 to 4)

  uint32_t xid = 0;     // rdma_xid
  uint32_t vers = 0;    // rdma_vers
  uint32_t credit = 0;  // rdma_credit
  uint32_t proc = 0;    // rdma_proc

  uint32_t align = 0, thresh = 0;  // MSGP: rdma_align, rdma_thresh

  uint32_t err = 0;                      // ERROR: rdma_err
  uint32_t vers_low = 0, vers_high = 0;  // ERROR with ERR_VERS
  bool error_range = false;              // vers_low and vers_high were there

  // Lists of MSG, NOMSG, MSGP. On kMalformed and kTruncatedByCapture they hold what precedes the defect or cut.
  std::vector<ReadSegment> reads;   // in list order
  std::vector<Chunk> write_chunks;  // in list order
  std::optional<Chunk> reply_chunk;
  std::vector<Segment> segments;  // storage of the Write chunks' and the Reply chunk's segments
  // Discriminators as they came, for HDR-007: the offending value when defect is kBadDiscriminator.
  uint32_t bad_discriminator = 0;

  std::span<const Segment> Of(const Chunk& c) const { return {segments.data() + c.first, c.count}; }
  // Bytes of its segments: offered in a Call, returned in a Reply.
  uint64_t SizeOf(const Chunk& c) const {
    uint64_t sum = 0;
    for (const Segment& segment : Of(c)) sum += segment.length;
    return sum;
  }
  bool has_lists() const { return proc == kMsg || proc == kNomsg || proc == kMsgp; }
  bool has_chunks() const { return !reads.empty() || !write_chunks.empty() || reply_chunk.has_value(); }
  void Clear();
};

// Decodes the header at the start of a Send. `bytes`: its captured prefix; `length`: the Send's bytes on the wire.
// Fills `header` (cleared first; storage is kept) and returns header.status. Any rdma_vers is accepted for the fixed
// part. Extra bytes after an RDMA_ERROR or RDMA_DONE body are left to the caller (header.length tells where the body
// ends; for unknown rdma_err codes the body ends after the code).
ParseStatus Decode(Bytes bytes, uint64_t length, Header& header);

// Appends the header to `out`: the inverse of Decode for every header that Decode reports as kOk, or kUnsupported.
// Encodes what the fields say, right or wrong (tests and generators need wrong headers): lists are written for
// has_lists() procs.
void Encode(const Header& header, std::vector<std::byte>& out);

// RFC 8797 section 4: the private data of both peers.
struct PrivateData {
  uint8_t version = 1;
  uint8_t flags = 0;      // bit 0: R; bits 7..1 reserved
  uint8_t send_size = 0;  // encoded: bytes = (value + 1) * 1024
  uint8_t receive_size = 0;
  bool remote_invalidation() const { return (flags & 1) != 0; }
  uint32_t send_bytes() const { return (uint32_t{send_size} + 1) * 1024; }
  uint32_t receive_bytes() const { return (uint32_t{receive_size} + 1) * 1024; }
  friend bool operator==(const PrivateData&, const PrivateData&) = default;
};
inline constexpr uint32_t kPrivateDataMagic = 0xf6ab0e18;

struct PrivateDataSearch {
  enum class Found : uint8_t {
    kNothing,       // no identifier anywhere
    kData,          // version 1: `data` is valid
    kOtherVersion,  // an identifier with a version that is not 1 (data holds the bytes as they are)
    kByteSwapped,   // 18 0e ab f6, then version 1
    kTruncated,     // the identifier stands in the last seven bytes
  };
  Found found = Found::kNothing;
  size_t offset = 0;  // of the identifier in the private data
  PrivateData data;
};

// Searches every byte offset (RFC 8797 section 5.2). The first version 1 match wins; else the first of the others, in
// the order kOtherVersion, kTruncated, kByteSwapped.
PrivateDataSearch FindPrivateData(Bytes private_data);
void Encode(const PrivateData& data, std::vector<std::byte>& out);  // 8 bytes

// CCP, draft-08 section 6.2: program 100400 (100417 in the published RFC 5666), version 1, procedure CONF_RDMA.
inline constexpr uint32_t kCcpProgramDraft = 100400, kCcpProgramRfc5666 = 100417, kCcpConfRdma = 1;
inline bool IsCcpProgram(uint32_t program) { return program == kCcpProgramDraft || program == kCcpProgramRfc5666; }
struct CcpArguments {
  uint32_t maxcall_sendsize = 0, maxreply_sendsize = 0, maxrdmaread = 0;
  friend bool operator==(const CcpArguments&, const CcpArguments&) = default;
};
struct CcpResults {
  uint32_t maxcall_sendsize = 0, align = 0, maxrdmaread = 0;
  friend bool operator==(const CcpResults&, const CcpResults&) = default;
};
// `body`: what follows the RPC call header, or the accepted reply header. `length`: bytes on the wire.
ParseStatus Decode(Bytes body, uint64_t length, CcpArguments& arguments);
ParseStatus Decode(Bytes body, uint64_t length, CcpResults& results);
void Encode(const CcpArguments& arguments, std::vector<std::byte>& out);
void Encode(const CcpResults& results, std::vector<std::byte>& out);

const char* ProcName(uint32_t proc);       // "RDMA_MSG", ...; "unknown" otherwise
const char* ErrorName(uint32_t rdma_err);  // "ERR_VERS", "ERR_CHUNK"; "unknown" otherwise
const char* DefectText(Defect defect);     // a phrase for messages

}  // namespace stag::rpcrdma
