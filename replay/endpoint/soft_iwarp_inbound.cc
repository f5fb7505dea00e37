// SPDX-License-Identifier: GPL-2.0-or-later
//
// SoftIwarpEndpoint: what the peer sends. Every segment is examined before a byte of it is placed; what breaks the
// protocol or the protection of memory is refused with a Terminate (RFC 5040 section 7, RFC 5041 section 7, RFC 5042).
#include <fmt/format.h>

#include "replay/endpoint/soft_iwarp_endpoint.h"

namespace stag::endpoint {

using iwarp::DdpHeader;
using iwarp::Opcode;
using Kind = Trouble::Kind;
using Verdict = RegionTable::Verdict;

namespace {

constexpr uint32_t kMaxTerminateSize = 4 + 2 + iwarp::kUntaggedHeaderSize + iwarp::kReadRequestSize;

// What a refused access is in a Terminate: to a Read Request RDMAP says no, to a Write DDP does. DDP knows no access
// rights.
TerminateCode CodeOf(Verdict verdict, bool read) {
  switch (verdict) {
    case Verdict::kOutOfBounds: return read ? kRdmapOutOfBounds : kTaggedOutOfBounds;
    case Verdict::kNoAccess: return kRdmapNoAccess;
    case Verdict::kWraps: return read ? kRdmapWraps : kTaggedWraps;
    default: return read ? kRdmapInvalidStag : kTaggedInvalidStag;
  }
}

std::string AccessText(Verdict verdict, bool read, uint32_t handle, uint64_t offset, uint64_t length) {
  const char* what = "the handle is not valid";
  if (verdict == Verdict::kOutOfBounds) what = "that is not all inside the memory of the handle";
  if (verdict == Verdict::kNoAccess) what = read ? "it may not read there" : "it may not write there";
  if (verdict == Verdict::kWraps) what = "the offset wraps";
  return fmt::format("{} {} bytes at handle 0x{:08x} offset 0x{:x}: {}", read ? "reads" : "writes", length, handle,
                     offset, what);
}

}  // namespace

bool SoftIwarpEndpoint::OnSegment(const DdpHeader& header, uint32_t length, std::byte*& to) {
  to = control_.data();
  auto refusal = header.tagged ? ExamineTagged(header, length, to) : ExamineUntagged(header, length, to);
  if (!refusal) {
    if (events_) events_->shown().Vacate(Bytes(to, length));
    return true;
  }
  if (events_ && header.ddp_version == 1 && header.rdmap_version == 1)
    events_->OnSegment(peer_side(), header, {}, length);
  Refuse(*refusal, header, length);
  return false;
}

std::optional<SoftIwarpEndpoint::Refusal> SoftIwarpEndpoint::ExamineTagged(const DdpHeader& header, uint32_t length,
                                                                           std::byte*& to) {
  if (header.ddp_version != 1) return Refusal{kTaggedVersion, Kind::kPeerProtocol, "uses another version of DDP", {}};
  if (header.rdmap_version != 1)
    return Refusal{kRdmapVersion, Kind::kPeerProtocol, "uses another version of RDMAP", {}};
  if (header.opcode == Opcode::kReadResponse) return ExamineReadResponse(header, length, to);
  if (header.opcode != Opcode::kWrite)
    return Refusal{kRdmapOpcode, Kind::kPeerProtocol, "sends a tagged message with an opcode that has none", {}};
  if (length == 0) return {};  // names no memory
  const Verdict verdict = regions_.Check(header.stag, header.offset, length, Access::kRemoteWrite, to);
  if (verdict == Verdict::kFine) return {};
  return Refusal{
      CodeOf(verdict, false), Kind::kLocalAccess, AccessText(verdict, false, header.stag, header.offset, length), {}};
}

std::optional<SoftIwarpEndpoint::Refusal> SoftIwarpEndpoint::ExamineReadResponse(const DdpHeader& header,
                                                                                 uint32_t length, std::byte*& to) {
  if (reads_.empty())
    return Refusal{kRdmapOpcode, Kind::kPeerProtocol, "sends a Read Response that nothing was asked for", {}};
  // Responses come in the order of the requests (RFC 5040 section 5.5).
  const Item& read = items_[reads_.front()];
  if (header.stag != read.request.sink_stag || (length > 0 && !regions_.IsValid(header.stag)))
    return Refusal{kTaggedInvalidStag, Kind::kPeerProtocol, "sends a Read Response for another handle", {}};
  if (header.offset != read.request.sink_offset + read.done || length > read.length - read.done)
    return Refusal{kTaggedOutOfBounds, Kind::kPeerProtocol, "sends a Read Response for other bytes than the next", {}};
  if (header.last && length != read.length - read.done)
    return Refusal{kRdmapUnspecified, Kind::kPeerProtocol, "sends a Read Response that is too short", {}};
  to = read.into + read.done;
  return {};
}

std::optional<SoftIwarpEndpoint::Refusal> SoftIwarpEndpoint::ExamineUntagged(const DdpHeader& header, uint32_t length,
                                                                             std::byte*& to) {
  const auto refuse = [](const TerminateCode& code, const char* text) {
    return Refusal{code, Kind::kPeerProtocol, text, {}};
  };
  if (header.ddp_version != 1) return refuse(kUntaggedVersion, "uses another version of DDP");
  if (header.rdmap_version != 1) return refuse(kRdmapVersion, "uses another version of RDMAP");
  if (header.queue > iwarp::kTerminateQueue) return refuse(kUntaggedQueue, "uses a queue that RDMAP has not");
  if (iwarp::IsSend(header.opcode) && header.queue == iwarp::kSendQueue) return ExamineSend(header, length, to);
  const bool read = header.opcode == Opcode::kReadRequest && header.queue == iwarp::kReadRequestQueue;
  const bool terminate = header.opcode == Opcode::kTerminate && header.queue == iwarp::kTerminateQueue;
  if (!read && !terminate) return refuse(kRdmapOpcode, "sends an opcode on a queue that it does not belong to");
  if (header.sequence != (read ? expected_read_ : 1))
    return refuse(kUntaggedSequence, "leaves out or repeats a message sequence number");
  if (header.message_offset != 0) return refuse(kUntaggedOffset, "sends a message from the middle");
  if (length > (read ? iwarp::kReadRequestSize : kMaxTerminateSize))
    return refuse(kUntaggedTooLong, "sends a Read Request or Terminate that is too long");
  if (!header.last || (read && length != iwarp::kReadRequestSize))
    return refuse(kRdmapUnspecified, "sends a Read Request or Terminate that is too short");
  if (read && responses_.full()) return refuse(kUntaggedNoBuffer, "has more RDMA Reads under way than it may (IRD)");
  return {};
}

std::optional<SoftIwarpEndpoint::Refusal> SoftIwarpEndpoint::ExamineSend(const DdpHeader& header, uint32_t length,
                                                                         std::byte*& to) {
  if (header.sequence != expected_send_)
    return Refusal{kUntaggedSequence, Kind::kPeerProtocol, "leaves out or repeats a message sequence number", {}};
  if (header.message_offset != filled_)
    return Refusal{kUntaggedOffset, Kind::kPeerProtocol, "sends a message with bytes left out or repeated", {}};
  if (expects_ready_ && header.last && length == 0 && filled_ == 0) return {};  // takes no receive
  if (!filling_) {
    if (receives_.empty())
      return Refusal{kUntaggedNoBuffer, Kind::kNoReceive, "sends a message, and no receive is posted here", {}};
    filling_ = receives_.back();
    receives_.pop_back();
  }
  if (length > receive_size_ - filled_)
    return Refusal{kUntaggedTooLong,
                   Kind::kPeerProtocol,
                   fmt::format("sends a message of more than the {} bytes of a receive", receive_size_),
                   {}};
  to = buffers_[*filling_].at + filled_;
  return {};
}

bool SoftIwarpEndpoint::OnPlaced(const DdpHeader& header, Bytes payload) {
  const auto length = static_cast<uint32_t>(payload.size());
  may_send_ = true;
  if (events_) events_->OnSegment(peer_side(), header, std::span(&payload, 1), length);
  std::optional<Refusal> refusal;
  switch (header.opcode) {
    case Opcode::kWrite: break;
    case Opcode::kReadResponse: OnReadResponsePlaced(header, length); break;
    case Opcode::kReadRequest: refusal = OnReadRequest(payload, header.sequence); break;
    case Opcode::kTerminate: OnTerminate(payload); return false;
    default: refusal = OnSendPlaced(header, length); break;
  }
  expects_ready_ = false;
  if (refusal) Refuse(*refusal, header, length);
  return !refusal;
}

bool SoftIwarpEndpoint::OnEmptyFpdu() {
  if (!expects_ready_) {
    OnBadFpdu(kMpaLength.code);
    return false;
  }
  expects_ready_ = false;
  may_send_ = true;
  return true;
}

void SoftIwarpEndpoint::OnBadFpdu(uint8_t code) {
  iwarp::Terminate terminate;
  terminate.layer = kMpaCrc.layer;
  terminate.code = code;
  Terminate(terminate, {Kind::kPeerProtocol, code == kMpaCrc.code ? "what the peer sent was damaged on its way (CRC)"
                                                                  : "the peer sends what is no FPDU"});
}

std::optional<SoftIwarpEndpoint::Refusal> SoftIwarpEndpoint::OnSendPlaced(const DdpHeader& header, uint32_t length) {
  filled_ += length;
  if (!header.last) return {};
  ++expected_send_;
  if (!filling_) return {};  // a ready-to-receive indication
  const uint32_t buffer = *filling_;
  Completion completion;
  completion.work = Work::kReceive;
  completion.id = buffer;
  completion.bytes = Bytes(buffers_[buffer].at, filled_);
  filling_.reset();
  filled_ = 0;
  if (iwarp::IsInvalidate(header.opcode)) {
    const Verdict verdict = regions_.Invalidate(header.invalidate_stag);
    if (verdict != Verdict::kFine) {
      receives_.push_back(buffer);
      const bool known = verdict == Verdict::kNoAccess;
      return Refusal{known ? kRdmapCannotInvalidate : kRdmapInvalidStag,
                     Kind::kLocalAccess,
                     fmt::format("invalidates handle 0x{:08x}, which {}", header.invalidate_stag,
                                 known ? "it was never given" : "is not valid"),
                     {}};
    }
    completion.invalidated = header.invalidate_stag;
  }
  buffers_[buffer].given = true;
  completions_.Push(completion);
  return {};
}

void SoftIwarpEndpoint::OnReadResponsePlaced(const DdpHeader& header, uint32_t length) {
  Item& read = items_[reads_.front()];
  read.done += length;
  if (!header.last) return;
  (void)reads_.Pop();
  Complete(read, CompletionStatus::kOk);
}

std::optional<SoftIwarpEndpoint::Refusal> SoftIwarpEndpoint::OnReadRequest(Bytes payload, uint32_t sequence) {
  iwarp::ReadRequest request;
  (void)iwarp::DecodeReadRequest(payload, payload.size(), request);  // its length is right
  ++expected_read_;
  std::byte* at = nullptr;
  if (request.length > 0) {
    const Verdict verdict =
        regions_.Check(request.source_stag, request.source_offset, request.length, Access::kRemoteRead, at);
    if (verdict != Verdict::kFine)
      return Refusal{CodeOf(verdict, true), Kind::kLocalAccess,
                     AccessText(verdict, true, request.source_stag, request.source_offset, request.length), request};
  }
  if (!finished_) responses_.Push({request, sequence, 0});
  return {};
}

void SoftIwarpEndpoint::OnTerminate(Bytes payload) {
  iwarp::Terminate said;
  (void)iwarp::DecodeTerminate(payload, payload.size(), said);  // what is missing stays zero
  const TerminateCode code{said.layer, said.type, said.code};
  Kind kind = Kind::kRemoteError;
  if (said.layer <= 1 && said.type == 1) kind = Kind::kRemoteAccess;
  if (code == kUntaggedNoBuffer && !(said.ddp && said.ddp->queue != iwarp::kSendQueue)) kind = Kind::kNoReceive;
  std::string what;
  const bool names_read = said.ddp && !said.ddp->tagged && said.ddp->queue == iwarp::kReadRequestQueue;
  if (said.read_request) {
    what = fmt::format(" (a Read of {} bytes at handle 0x{:08x} offset 0x{:x})", said.read_request->length,
                       said.read_request->source_stag, said.read_request->source_offset);
  } else if (said.ddp && said.ddp->tagged) {
    what = fmt::format(" (a Write at handle 0x{:08x} offset 0x{:x})", said.ddp->stag, said.ddp->offset);
  } else if (said.ddp && !names_read) {
    what = fmt::format(" (Send number {})", said.ddp->sequence);
  }
  trouble_ = {kind,
              fmt::format("the peer refused what it was sent{}, and ended the connection: {}", what, Meaning(code))};
  // The Reads before the one that is refused were not refused.
  for (size_t i = 0; names_read && i < reads_.size(); ++i) {
    if (items_[reads_[i]].sequence != said.ddp->sequence) continue;
    for (size_t n = 0; n <= i; ++n)
      Complete(items_[reads_.Pop()], n < i ? CompletionStatus::kFlushed : CompletionStatus::kRefused);
    break;
  }
  End(State::kBroken, fabric::CloseReason::kDisconnect, peer_side());
}

// RFC 5040 section 4.8: a Terminate names the segment that it refuses, unless MPA is the layer that complains.
void SoftIwarpEndpoint::Refuse(const Refusal& refusal, const DdpHeader& header, uint32_t length) {
  iwarp::Terminate terminate;
  terminate.layer = refusal.code.layer;
  terminate.type = refusal.code.type;
  terminate.code = refusal.code.code;
  terminate.segment_length = static_cast<uint16_t>(header.size() + length);
  terminate.ddp = header;
  terminate.read_request = refusal.request;
  Terminate(terminate, {refusal.kind, "the peer " + refusal.text});
}

void SoftIwarpEndpoint::Terminate(const iwarp::Terminate& terminate, Trouble trouble) {
  if (phase_ == Phase::kTerminating || phase_ == Phase::kOver) return;
  trouble_ = std::move(trouble);
  phase_ = Phase::kTerminating;
  deadline_ = Clock::now() + own_.close_timeout;
  FlushWork();
  sender_.Cut();
  if (finished_) return;  // FIN was sent: nothing can be said any more
  std::vector<std::byte> bytes;
  iwarp::EncodeTerminate(terminate, bytes);
  DdpHeader header;
  header.last = true;
  header.opcode = Opcode::kTerminate;
  header.queue = iwarp::kTerminateQueue;
  header.sequence = 1;
  const Bytes payload(bytes);  // small: it is copied
  AddSegment(header, std::span(&payload, 1), static_cast<uint32_t>(bytes.size()));
}

void SoftIwarpEndpoint::StopArriving(uint32_t handle) {
  const iwarp::DdpSegment* segment = receiver_.arriving();
  if (!segment || !segment->header.tagged || segment->header.stag != handle || !receiving()) return;
  Refuse({kTaggedInvalidStag, Kind::kLocalAccess, "was writing to memory when its handle became invalid", {}},
         segment->header, segment->payload_length);
}

}  // namespace stag::endpoint
