// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_setup.h"

#include <algorithm>

namespace stag::endpoint {
namespace {

using iwarp::EnhancedSetup;
using iwarp::MpaFrame;

constexpr uint16_t kMostReads = iwarp::kReadsNotNegotiated - 1;
constexpr uint8_t kInsufficientIrd = 0x06, kNoMatchingRtr = 0x07;  // RFC 6581 section 9

uint16_t Fewer(uint16_t own, uint16_t said) { return said == iwarp::kReadsNotNegotiated ? own : std::min(own, said); }

constexpr char kMalformed[] =
    "its MPA set-up frame is malformed: more than 512 bytes of private data, no room for IRD and ORD, or revision 0";

// Of what is offered: a Write needs least of both sides.
Terms::Ready Choose(const EnhancedSetup& offered) {
  if (offered.rtr_write) return Terms::Ready::kWrite;
  if (offered.rtr_read) return Terms::Ready::kRead;
  return offered.rtr_empty_fpdu ? Terms::Ready::kEmptyFpdu : Terms::Ready::kNone;
}

}  // namespace

MpaFrame MakeRequest(const SoftIwarpOptions& own, const EndpointOptions& options, uint8_t revision) {
  MpaFrame request;
  request.kind = MpaFrame::Kind::kRequest;
  request.revision = revision;
  request.markers = own.markers;
  request.crc = options.crc;
  request.private_data = options.private_data;
  if (revision < 2) return request;
  EnhancedSetup& enhanced = request.enhanced.emplace();
  enhanced.ird = std::min(options.inbound_reads, kMostReads);
  enhanced.ord = std::min(options.outbound_reads, kMostReads);
  enhanced.peer_to_peer = enhanced.rtr_empty_fpdu = enhanced.rtr_write = enhanced.rtr_read = own.peer_to_peer;
  return request;
}

Terms FromReply(const MpaFrame& request, const MpaFrame& reply, const EndpointOptions& options) {
  Terms terms;
  terms.initiator = true;
  terms.crc = request.crc || reply.crc;
  terms.send_markers = reply.markers;
  terms.receive_markers = request.markers;
  terms.inbound_reads = options.inbound_reads;
  terms.outbound_reads = options.outbound_reads;
  if (!request.enhanced || !reply.enhanced) return terms;
  const EnhancedSetup& asked = *request.enhanced;
  const EnhancedSetup& said = *reply.enhanced;
  terms.outbound_reads = Fewer(asked.ord, said.ird);
  terms.inbound_reads = Fewer(asked.ird, said.ord);
  if (said.ord != iwarp::kReadsNotNegotiated && said.ord > asked.ird) {
    terms.terminate_code = kInsufficientIrd;
    terms.objection =
        "it wants " + std::to_string(said.ord) + " RDMA Reads at a time, and was offered " + std::to_string(asked.ird);
  }
  if (!asked.peer_to_peer) return terms;
  terms.peer_to_peer = true;
  terms.ready = Choose(said);
  if (terms.ready == Terms::Ready::kNone) {
    terms.terminate_code = kNoMatchingRtr;
    terms.objection = "it takes none of the ready-to-receive indications that it was offered";
  }
  return terms;
}

MpaFrame MakeReply(const SoftIwarpOptions& own, const EndpointOptions& options, const MpaFrame& request, Terms& terms) {
  MpaFrame reply;
  reply.kind = MpaFrame::Kind::kReply;
  reply.revision = std::min<uint8_t>(request.revision, 2);
  reply.markers = own.markers;
  reply.crc = request.crc || options.crc;
  reply.private_data = options.private_data;
  terms = {};
  terms.crc = reply.crc;
  terms.send_markers = request.markers;
  terms.receive_markers = own.markers;
  terms.inbound_reads = std::min(options.inbound_reads, kMostReads);
  terms.outbound_reads = std::min(options.outbound_reads, kMostReads);
  if (!request.enhanced) return reply;
  const EnhancedSetup& asked = *request.enhanced;
  EnhancedSetup& said = reply.enhanced.emplace();
  said.ird = terms.inbound_reads = Fewer(terms.inbound_reads, asked.ord);
  said.ord = terms.outbound_reads = Fewer(terms.outbound_reads, asked.ird);
  if (!asked.peer_to_peer) return reply;
  said.peer_to_peer = terms.peer_to_peer = true;
  const Terms::Ready ready = Choose(asked);
  said.rtr_write = ready == Terms::Ready::kWrite;
  said.rtr_read = ready == Terms::Ready::kRead;
  said.rtr_empty_fpdu = ready == Terms::Ready::kEmptyFpdu;
  return reply;
}

MpaFrame MakeReject(const MpaFrame& request, Bytes private_data) {
  MpaFrame reject;
  reject.kind = MpaFrame::Kind::kReply;
  reject.revision = std::min<uint8_t>(request.revision, 2);
  reject.reject = true;
  reject.crc = request.crc;
  if (request.enhanced) reject.enhanced.emplace();
  const size_t room = iwarp::kMaxPrivateData - (request.enhanced ? iwarp::kEnhancedPrefixSize : 0);
  reject.private_data = private_data.first(std::min(private_data.size(), room));
  return reject;
}

SetupReader::Status SetupReader::Bad(std::string why) {
  why_ = std::move(why);
  return Status::kBad;
}

SetupReader::Status SetupReader::Receive(ByteStream& stream) {
  for (;;) {
    const size_t size = have_ < iwarp::kMpaHeaderSize ? iwarp::kMpaHeaderSize : iwarp::MpaFrameSize(bytes());
    if (have_ == size) break;
    const iovec into{bytes_.data() + have_, size - have_};
    const Transfer transfer = stream.Receive(std::span(&into, 1));
    if (transfer.io == Transfer::Io::kAgain) return Status::kMore;
    if (transfer.io == Transfer::Io::kEnd) return Bad("it closed the TCP connection");
    if (transfer.io == Transfer::Io::kFailed) return Bad(ErrorText(transfer.error));
    have_ += transfer.bytes;
    const iwarp::MpaKey key = iwarp::RecogniseMpaKey(bytes().first(std::min(have_, iwarp::kMpaKeySize)));
    const bool right =
        key == iwarp::MpaKey::kPartial || (key == iwarp::MpaKey::kRequest) == (kind_ == MpaFrame::Kind::kRequest);
    if (key == iwarp::MpaKey::kNone || !right)
      return Bad("what it sent is no MPA set-up frame: it does not speak iWARP");
    if (have_ >= iwarp::kMpaHeaderSize && iwarp::MpaFrameSize(bytes()) == 0) return Bad(kMalformed);
  }
  if (iwarp::DecodeMpaFrame(bytes(), have_, frame_) != ParseStatus::kOk) return Bad(kMalformed);
  return Status::kDone;
}

}  // namespace stag::endpoint
