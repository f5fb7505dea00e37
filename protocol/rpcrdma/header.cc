// SPDX-License-Identifier: GPL-2.0-or-later
//
// The transport header both ways. Lists are read in one loop each, bounded by the bytes that are there: a count that
// does not fit into the rest of the Send is a defect before anything is read or stored.
#include "protocol/rpcrdma/header.h"

#include "protocol/base/cursor.h"
#include "protocol/base/writer.h"

namespace stag::rpcrdma {
namespace {

constexpr uint64_t kSegmentBytes = 16;  // handle, length, offset
constexpr uint32_t kProcOffset = 12;

class Decoder {
 public:
  Decoder(Bytes bytes, uint64_t length, Header& header)
      : cursor_(bytes, length),
        captured_(bytes.size()),
        wire_length_(length < captured_ ? captured_ : length),
        h_(header) {}

  ParseStatus Run() {
    h_.Clear();
    if (!FixedWords()) return Missing(Defect::kTooShort);
    if (h_.vers != kVersion1) return OtherVersion();
    switch (h_.proc) {
      case kMsg:
      case kNomsg:
      case kMsgp: return Lists();
      case kDone: return Done();
      case kError: return ErrorBody() ? Done() : Missing(Defect::kErrorBodyOverrun);
      default: return Malformed(Defect::kBadProc, kProcOffset);
    }
  }

 private:
  bool FixedWords() {
    if (cursor_.remaining() >= 16) {
      const Bytes words = cursor_.Take(16);
      h_.xid = LoadBe32(&words[0]);
      h_.vers = LoadBe32(&words[4]);
      h_.credit = LoadBe32(&words[8]);
      h_.proc = LoadBe32(&words[12]);
      h_.words = 4;
      return true;
    }
    for (uint32_t* word : {&h_.xid, &h_.vers, &h_.credit, &h_.proc}) {
      *word = cursor_.U32();
      if (!cursor_.ok()) break;
      ++h_.words;
    }
    return false;
  }

  ParseStatus Done() {
    h_.length = static_cast<uint32_t>(cursor_.offset());
    return h_.status = ParseStatus::kOk;
  }

  ParseStatus Malformed(Defect defect, uint64_t offset) {
    h_.defect = defect;
    h_.defect_offset = static_cast<uint32_t>(offset);
    return h_.status = ParseStatus::kMalformed;
  }

  // The cursor ran out of bytes: of the capture, or (then it is the defect) of the Send.
  ParseStatus Missing(Defect defect) {
    if (cursor_.status() == ParseStatus::kMalformed) return Malformed(defect, wire_length_);
    h_.defect_offset = static_cast<uint32_t>(captured_);
    return h_.status = ParseStatus::kTruncatedByCapture;
  }

  // RFC 8166 section 4.2: the fixed words mean the same in every version; an RDMA_ERROR carries the version of the
  // message that it answers, so its body is readable too.
  ParseStatus OtherVersion() {
    if (h_.proc == kError) ErrorBody();
    h_.length = static_cast<uint32_t>(cursor_.offset());
    return h_.status = ParseStatus::kUnsupported;
  }

  bool ErrorBody() {
    h_.err = cursor_.U32();
    if (h_.err == kErrVers && cursor_.ok()) {
      uint32_t low = cursor_.U32();
      uint32_t high = cursor_.U32();
      if (!cursor_.ok()) return false;
      h_.vers_low = low;
      h_.vers_high = high;
      h_.error_range = true;
    }
    return cursor_.ok();
  }

  ParseStatus Lists() {
    const uint32_t minimum = h_.proc == kMsgp ? kMinimumHeader + 8 : kMinimumHeader;
    if (wire_length_ < minimum) return Malformed(Defect::kTooShort, wire_length_);
    if (h_.proc == kMsgp) {
      h_.align = cursor_.U32();
      h_.thresh = cursor_.U32();
      if (!cursor_.ok()) return Missing(Defect::kTooShort);
    }
    if (SkipEmptyLists()) return Done();
    if (!ReadList() || !WriteList() || !ReplyChunk()) return h_.status;
    return Done();
  }

  // Three lists without anything in them, as of most messages.
  bool SkipEmptyLists() {
    const Bytes rest = cursor_.Rest();
    const bool empty = rest.size() >= 12 && LoadBe64(rest.data()) == 0 && LoadBe32(rest.data() + 8) == 0;
    if (empty) cursor_.Skip(12);
    return empty;
  }

  enum class Presence : uint8_t { kAbsent, kPresent, kStop };

  // An optional-data word (RFC 4506 section 4.19).
  Presence Discriminator(Defect overrun) {
    const uint64_t at = cursor_.offset();
    const uint32_t value = cursor_.U32();
    if (!cursor_.ok()) return Missing(overrun), Presence::kStop;
    if (value > 1) {
      h_.bad_discriminator = value;
      return Malformed(Defect::kBadDiscriminator, at), Presence::kStop;
    }
    return value == 1 ? Presence::kPresent : Presence::kAbsent;
  }

  // `words`: kSegmentBytes.
  static Segment SegmentAt(const std::byte* words) {
    return {LoadBe32(words), LoadBe32(words + 4), LoadBe64(words + 8)};
  }

  // A segment is cut: finds which of its words is missing, and of what.
  ParseStatus SegmentIsCut(Defect overrun) {
    for (int i = 0; i < 4; ++i) (void)cursor_.U32();
    return Missing(overrun);
  }

  bool ReadList() {
    for (;;) {
      const Presence more = Discriminator(Defect::kReadListOverrun);
      if (more != Presence::kPresent) return more == Presence::kAbsent;
      ReadSegment segment;
      segment.position = cursor_.U32();
      if (cursor_.remaining() < kSegmentBytes) return SegmentIsCut(Defect::kReadListOverrun), false;
      segment.target = SegmentAt(cursor_.Take(kSegmentBytes).data());
      h_.reads.push_back(segment);
    }
  }

  // A counted array of segments. Cut by the capture, `chunk` holds the segments that were seen.
  bool Array(Chunk& chunk, Defect overrun) {
    const uint64_t at = cursor_.offset();
    const uint32_t count = cursor_.U32();
    if (!cursor_.ok()) return Missing(overrun), false;
    if (uint64_t{count} * kSegmentBytes > cursor_.wire_remaining()) return Malformed(overrun, at), false;
    chunk.first = static_cast<uint32_t>(h_.segments.size());
    const auto captured = static_cast<uint32_t>(std::min<uint64_t>(count, cursor_.remaining() / kSegmentBytes));
    const std::byte* from = cursor_.Take(captured * kSegmentBytes).data();
    for (uint32_t i = 0; i < captured; ++i) h_.segments.push_back(SegmentAt(from + i * kSegmentBytes));
    chunk.count = captured;
    if (captured < count) return SegmentIsCut(overrun), false;
    return true;
  }

  bool WriteList() {
    for (;;) {
      const Presence more = Discriminator(Defect::kWriteListOverrun);
      if (more != Presence::kPresent) return more == Presence::kAbsent;
      Chunk chunk;
      const bool whole = Array(chunk, Defect::kWriteListOverrun);
      // A chunk of which no segment was seen would look like the empty Write chunk.
      if (whole || chunk.count > 0) h_.write_chunks.push_back(chunk);
      if (!whole) return false;
    }
  }

  bool ReplyChunk() {
    const Presence present = Discriminator(Defect::kReplyChunkOverrun);
    if (present != Presence::kPresent) return present == Presence::kAbsent;
    Chunk chunk;
    const bool whole = Array(chunk, Defect::kReplyChunkOverrun);
    if (whole || chunk.count > 0) h_.reply_chunk = chunk;
    return whole;
  }

  Cursor cursor_;
  size_t captured_;
  uint64_t wire_length_;
  Header& h_;
};

void PutSegment(const Segment& segment, Writer& w) {
  w.U32(segment.handle);
  w.U32(segment.length);
  w.U64(segment.offset);
}

void PutArray(const Header& header, const Chunk& chunk, Writer& w) {
  w.U32(1);
  w.U32(chunk.count);
  for (const Segment& segment : header.Of(chunk)) PutSegment(segment, w);
}

}  // namespace

void Header::Clear() {
  status = ParseStatus::kMalformed;
  defect = Defect::kNone;
  defect_offset = length = 0;
  words = 0;
  xid = vers = credit = proc = 0;
  align = thresh = 0;
  err = vers_low = vers_high = 0;
  error_range = false;
  reads.clear();
  write_chunks.clear();
  reply_chunk.reset();
  segments.clear();
  bad_discriminator = 0;
}

ParseStatus Decode(Bytes bytes, uint64_t length, Header& header) { return Decoder(bytes, length, header).Run(); }

void Encode(const Header& header, std::vector<std::byte>& out) {
  const bool plain = header.proc == kMsg && !header.has_chunks();  // as most messages
  const size_t at = out.size();
  out.resize(at + (plain ? kMinimumHeader : 16));
  std::byte* const words = out.data() + at;
  StoreBe32(words, header.xid);
  StoreBe32(words + 4, header.vers);
  StoreBe32(words + 8, header.credit);
  StoreBe32(words + 12, header.proc);
  if (plain) return;  // three lists without anything in them
  Writer w(out);
  if (header.proc == kError) {
    w.U32(header.err);
    if (header.err == kErrVers) {
      w.U32(header.vers_low);
      w.U32(header.vers_high);
    }
  }
  if (!header.has_lists()) return;
  if (header.proc == kMsgp) {
    w.U32(header.align);
    w.U32(header.thresh);
  }
  for (const ReadSegment& segment : header.reads) {
    w.U32(1);
    w.U32(segment.position);
    PutSegment(segment.target, w);
  }
  w.U32(0);
  for (const Chunk& chunk : header.write_chunks) PutArray(header, chunk, w);
  w.U32(0);
  if (header.reply_chunk) {
    PutArray(header, *header.reply_chunk, w);
  } else {
    w.U32(0);
  }
}

const char* ProcName(uint32_t proc) {
  switch (proc) {
    case kMsg: return "RDMA_MSG";
    case kNomsg: return "RDMA_NOMSG";
    case kMsgp: return "RDMA_MSGP";
    case kDone: return "RDMA_DONE";
    case kError: return "RDMA_ERROR";
    default: return "unknown";
  }
}

const char* ErrorName(uint32_t rdma_err) {
  switch (rdma_err) {
    case kErrVers: return "ERR_VERS";
    case kErrChunk: return "ERR_CHUNK";
    default: return "unknown";
  }
}

const char* DefectText(Defect defect) {
  switch (defect) {
    case Defect::kNone: return "no defect";
    case Defect::kTooShort: return "the message is shorter than the smallest header";
    case Defect::kBadProc: return "rdma_proc is not a procedure of version 1";
    case Defect::kBadDiscriminator: return "an optional-data word is neither 0 nor 1";
    case Defect::kReadListOverrun: return "the Read list runs past the end of the message";
    case Defect::kWriteListOverrun: return "the Write list runs past the end of the message";
    case Defect::kReplyChunkOverrun: return "the Reply chunk runs past the end of the message";
    case Defect::kErrorBodyOverrun: return "the RDMA_ERROR body runs past the end of the message";
  }
  return "unknown";
}

}  // namespace stag::rpcrdma
