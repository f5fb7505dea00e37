// SPDX-License-Identifier: GPL-2.0-or-later
//
// A recorded connection as iWARP: TCP, the MPA exchange, a TCP segment for each FPDU (two for the largest), CRC32C, no
// markers. An event of a Write or Read Response is a DDP segment; a Send is one, or several when it is long.
//
// What events do not say is made up and then kept to: TCP sequence numbers, ports that are unknown, the sinks of RDMA
// Reads. Data acknowledges data, and an empty segment does where a window of 64 KiB would be full.
#include "protocol/base/crc.h"
#include "protocol/iwarp/fpdu.h"
#include "protocol/iwarp/mpa.h"
#include "protocol/iwarp/segments.h"
#include "protocol/link/packet.h"
#include "replay/record/packet_synthesizer.h"

namespace stag::record {
namespace {

using fabric::Event;
using fabric::EventKind;
using fabric::SetupMessage;
using fabric::Side;

constexpr uint8_t kPush = 0x08;
constexpr size_t kMaxUlpdu = 0xffff;
constexpr size_t kMaxFrame = 60 << 10;  // bytes of payload in a TCP segment
constexpr uint32_t kWindow = 0xffff;
constexpr size_t kMaxReads = 1024;  // outstanding ones of a side
constexpr size_t kRecent = 16;      // Sends of a side that a Terminate can name

class IwarpPackets final : public PacketSynthesizer {
 public:
  IwarpPackets(FrameWriter& writer, const fabric::ConnectionInfo& info) : writer_(writer), hosts_(HostsOf(info)) {
    for (const Side side : {Side{0}, Side{1}}) {
      const auto port = static_cast<uint16_t>(info.endpoint[side].number);
      end_[side].port = port != 0 ? port : static_cast<uint16_t>(0xc000 | (info.id * 2 + side) % 0x4000);
      end_[side].next = info.id * 0x10001 + side * 0x40000000u;
    }
    if (info.roles_known) return;  // joined when TCP and MPA were set up
    for (End& end : end_) ++end.next;
    connected_ = true;
  }

  void OnEvent(const Event& e) override {
    Handshake(e);
    switch (e.kind()) {
      case EventKind::kSetup: return Setup(e);
      case EventKind::kOpened: return;
      case EventKind::kClosed: return Close(e);
      case EventKind::kSend: return Send(e);
      case EventKind::kWrite: return Tagged(e.from, e.rdma(), iwarp::Opcode::kWrite, e.rdma().handle, e.rdma().offset);
      case EventKind::kReadRequest: return ReadRequest(e);
      case EventKind::kReadResponse: return ReadResponse(e);
      case EventKind::kNak: return Terminate(e);
      case EventKind::kGap: end_[e.from].next += static_cast<uint32_t>(std::max<uint64_t>(e.gap().size, 1)); return;
      case EventKind::kAnomaly: return;
    }
  }

 private:
  struct Read {
    iwarp::ReadRequest request;
    uint32_t sequence = 0;
    uint64_t answered = 0;
  };
  struct RecentSend {
    uint64_t frame = 0;
    uint32_t sequence = 0;
  };
  struct End {
    uint16_t port = 0;
    uint32_t next = 0;            // sequence number
    uint32_t unacknowledged = 0;  // bytes
    uint32_t sends = 0, read_requests = 0;
    std::vector<Read> reads;  // of this end, in order
    std::array<RecentSend, kRecent> recent;
  };

  // `cut`: bytes at the end of the payload that are not known.
  void Tcp(Side from, uint8_t flags, std::span<const Bytes> payload = {}, size_t cut = 0) {
    End &sender = end_[from], &peer = end_[1 - from];
    const bool ack = (flags & link::kTcpAck) != 0;
    headers_.clear();
    link::AppendTcpHeaders(headers_, hosts_[from], hosts_[1 - from],
                           {sender.port, peer.port, sender.next, ack ? peer.next : 0, flags}, payload);
    frame_.assign(1, headers_);
    frame_.insert(frame_.end(), payload.begin(), payload.end());
    writer_.Put(frame_, cut);
    uint32_t size = 0;
    for (const Bytes piece : payload) size += static_cast<uint32_t>(piece.size());
    if (ack) peer.unacknowledged = 0;
    sender.next += size + ((flags & (link::kTcpSyn | link::kTcpFin)) != 0 ? 1 : 0);
    sender.unacknowledged += size;
  }
  // The pieces of a stretch of the stream.
  void Stream(Side from, std::span<const Bytes> pieces, size_t cut = 0) {
    size_t left = 0;
    for (const Bytes piece : pieces) left += piece.size();
    Bytes rest = pieces.empty() ? Bytes{} : pieces.front();
    while (left > 0) {
      const size_t n = std::min(kMaxFrame, left);
      if (end_[from].unacknowledged + n > kWindow) Tcp(Side(1 - from), link::kTcpAck);
      const size_t known = left - cut;
      const size_t unknown = known < n ? n - known : 0;
      payload_.clear();
      for (size_t wanted = n; wanted > 0;) {
        for (; rest.empty(); rest = pieces.front()) pieces = pieces.subspan(1);
        payload_.push_back(rest.first(std::min(wanted, rest.size())));
        rest = rest.subspan(payload_.back().size());
        wanted -= payload_.back().size();
      }
      Tcp(from, link::kTcpAck | kPush, payload_, unknown);
      left -= n;
      cut -= unknown;
    }
  }
  void Handshake(const Event& e) {
    if (connected_) return;
    connected_ = true;
    Tcp(0, link::kTcpSyn);
    if (e.kind() == EventKind::kClosed && e.closed().reason == fabric::CloseReason::kRejected) return;
    Tcp(1, link::kTcpSyn | link::kTcpAck);
    Tcp(0, link::kTcpAck);
  }
  void Setup(const Event& e) {
    const fabric::Setup& setup = e.setup();
    const bool request = setup.message == SetupMessage::kRequest;
    if (!request && setup.message != SetupMessage::kReply && setup.message != SetupMessage::kReject) return;
    iwarp::MpaFrame frame;
    frame.kind = request ? iwarp::MpaFrame::Kind::kRequest : iwarp::MpaFrame::Kind::kReply;
    frame.crc = true;
    frame.reject = rejected_ = setup.message == SetupMessage::kReject;
    frame.private_data = setup.private_data;
    if (setup.reads_served || setup.reads_issued) {
      frame.revision = 2;
      frame.enhanced = iwarp::EnhancedSetup{.ird = setup.reads_served.value_or(iwarp::kReadsNotNegotiated),
                                            .ord = setup.reads_issued.value_or(iwarp::kReadsNotNegotiated)};
    }
    head_.clear();
    iwarp::EncodeMpaFrame(frame, head_);
    const Bytes whole = head_;
    Stream(e.from, std::span(&whole, 1));
  }
  void Close(const Event& e) {
    const fabric::CloseReason reason = e.closed().reason;
    const bool refused = reason == fabric::CloseReason::kRejected && !rejected_;
    if (refused || reason == fabric::CloseReason::kReset)
      return Tcp(refused ? Side{1} : e.from, link::kTcpRst | link::kTcpAck);
    if (reason != fabric::CloseReason::kDisconnect && !rejected_) return;
    const auto other = Side(1 - e.from);
    Tcp(e.from, link::kTcpFin | link::kTcpAck);
    Tcp(other, link::kTcpFin | link::kTcpAck);
    Tcp(e.from, link::kTcpAck);
  }

  // `unknown`: bytes at the end of the payload; pad and CRC behind them are not known, either.
  void Ddp(Side from, const iwarp::DdpHeader& header, Bytes payload, size_t unknown = 0) {
    std::vector<std::byte>& head = head_;
    head.resize(iwarp::kUlpduLengthSize + header.size());
    const size_t length = header.size() + payload.size();
    StoreBe16(head.data(), static_cast<uint16_t>(length));
    iwarp::StoreDdpHeader(header, head.data() + iwarp::kUlpduLengthSize);
    // RFC 5044 section 4.3: padding to a multiple of four bytes, then the CRC over all of it.
    const size_t padding = (4 - (iwarp::kUlpduLengthSize + length) % 4) % 4;
    std::array<std::byte, 3 + iwarp::kCrcSize> trailer{};
    const uint32_t crc = Crc32c(Crc32c(0, head), payload);
    StoreLe32(trailer.data() + padding, Crc32c(crc, Bytes(trailer).first(padding)));
    const std::array<Bytes, 3> fpdu = {head, payload, Bytes(trailer).first(padding + iwarp::kCrcSize)};
    Stream(from, fpdu, unknown == 0 ? 0 : unknown + fpdu.back().size());
  }
  void Segments(Side from, const fabric::Content& content, const iwarp::DdpHeader& header) {
    iwarp::ForEachSegment(header, content.length, kMaxUlpdu - header.size(),
                          [&](const iwarp::DdpHeader& h, uint64_t at, size_t n) {
                            const PayloadPart part = PartOf(content.bytes, at, n, scratch_);
                            Ddp(from, h, part.data, part.unknown);
                          });
  }
  static iwarp::DdpHeader Untagged(iwarp::Opcode opcode, uint32_t queue, uint32_t sequence) {
    iwarp::DdpHeader header;
    header.opcode = opcode;
    header.queue = queue;
    header.sequence = sequence;
    header.last = true;
    return header;
  }
  void Send(const Event& e) {
    using enum iwarp::Opcode;
    End& end = end_[e.from];
    const fabric::Send& send = e.send();
    const auto opcode = send.invalidated ? (send.solicited ? kSendSolicitedInvalidate : kSendInvalidate)
                        : send.solicited ? kSendSolicited
                                         : kSend;
    iwarp::DdpHeader header = Untagged(opcode, iwarp::kSendQueue, ++end.sends);
    header.invalidate_stag = send.invalidated.value_or(0);
    end.recent[end.sends % kRecent] = {e.frame.number, end.sends};
    Segments(e.from, send, header);
  }
  void Tagged(Side from, const fabric::RdmaPacket& packet, iwarp::Opcode opcode, uint32_t stag, uint64_t offset) {
    iwarp::DdpHeader header;
    header.tagged = true;
    header.opcode = opcode;
    header.stag = stag;
    header.offset = offset;
    header.last = packet.last;
    Segments(from, packet, header);
  }

  void ReadRequest(const Event& e) {
    End& end = end_[e.from];
    const fabric::RdmaPacket& packet = e.rdma();
    Read read;
    read.sequence = ++end.read_requests;
    read.request = {.sink_stag = 0x1000 + read.sequence,
                    .sink_offset = 0,
                    .length = static_cast<uint32_t>(packet.length),
                    .source_stag = packet.handle,
                    .source_offset = packet.offset};
    scratch_.clear();
    iwarp::EncodeReadRequest(read.request, scratch_);
    Ddp(e.from, Untagged(iwarp::Opcode::kReadRequest, iwarp::kReadRequestQueue, read.sequence), scratch_);
    if (end.reads.size() == kMaxReads) end.reads.erase(end.reads.begin());
    end.reads.push_back(read);
    AnswerEmpty(e.from);
  }
  // The response to a Read of nothing has no event. It comes in its turn (RFC 5040 section 5.5).
  void AnswerEmpty(Side reader) {
    std::vector<Read>& reads = end_[reader].reads;
    while (!reads.empty() && reads.front().request.length == 0) {
      fabric::ReadResponse empty;
      empty.last = true;
      Tagged(Side(1 - reader), empty, iwarp::Opcode::kReadResponse, reads.front().request.sink_stag, 0);
      reads.erase(reads.begin());
    }
  }
  void ReadResponse(const Event& e) {
    const fabric::RdmaPacket& packet = e.rdma();
    if (packet.length == 0) return;
    std::vector<Read>& reads = end_[1 - e.from].reads;
    // The oldest: the same memory may be read again.
    const auto read = std::ranges::find_if(reads, [&](const Read& r) {
      return r.request.source_stag == packet.handle && r.request.source_offset + r.answered == packet.offset &&
             packet.length <= r.request.length - r.answered;
    });
    if (read == reads.end()) return writer_.Leave();
    Tagged(e.from, packet, iwarp::Opcode::kReadResponse, read->request.sink_stag, read->answered);
    read->answered += packet.length;
    if (!packet.last) return;
    reads.erase(read);
    AnswerEmpty(Side(1 - e.from));
  }

  // What the Terminate said; or, where an endpoint on hardware does not show that, what comes nearest (RFC 5040 section
  // 4.8, RFC 5041 section 8).
  static void SetError(const fabric::Nak& nak, iwarp::Terminate& t) {
    switch (nak.kind) {
      case fabric::NakKind::kTerminate:
        t.layer = nak.terminate_layer;
        t.type = nak.terminate_type;
        t.code = nak.terminate_code;
        return;
      case fabric::NakKind::kRnr: t.layer = 1, t.type = 2, t.code = 2; return;             // no buffer available
      case fabric::NakKind::kInvalidRequest: t.layer = 1, t.type = 2, t.code = 5; return;  // message too long
      case fabric::NakKind::kRemoteAccess: t.type = 1; return;                             // invalid STag
      default: t.type = 2, t.code = 7; return;                                             // catastrophic error
    }
  }
  void Terminate(const Event& e) {
    const End& peer = end_[1 - e.from];
    iwarp::Terminate t;
    const fabric::Nak& nak = e.nak();
    SetError(nak, t);
    const auto refuse = [&](const iwarp::DdpHeader& header, uint64_t payload) {
      t.ddp = header;
      t.segment_length = static_cast<uint16_t>(std::min<uint64_t>(header.size() + payload, 0xffff));
    };
    const auto read = std::ranges::find_if(peer.reads, [&](const Read& r) {
      return r.request.source_stag == nak.handle && r.request.source_offset == nak.offset &&
             r.request.length == nak.length;
    });
    const auto send = std::ranges::find_if(
        peer.recent, [&](const RecentSend& s) { return s.frame != 0 && s.frame == nak.refused.number; });
    if (read != peer.reads.end()) {
      refuse(Untagged(iwarp::Opcode::kReadRequest, iwarp::kReadRequestQueue, read->sequence), iwarp::kReadRequestSize);
      t.read_request = read->request;
    } else if (send != peer.recent.end()) {
      refuse(Untagged(iwarp::Opcode::kSend, iwarp::kSendQueue, send->sequence), 0);
    } else if (nak.handle != 0) {
      iwarp::DdpHeader header;
      header.tagged = header.last = true;
      header.stag = nak.handle;
      header.offset = nak.offset;
      refuse(header, nak.length);
    }
    scratch_.clear();
    iwarp::EncodeTerminate(t, scratch_);
    Ddp(e.from, Untagged(iwarp::Opcode::kTerminate, iwarp::kTerminateQueue, 1), scratch_);
  }

  FrameWriter& writer_;
  std::array<link::Host, 2> hosts_;
  std::array<End, 2> end_;
  bool connected_ = false, rejected_ = false;
  std::vector<std::byte> headers_, head_, scratch_;
  std::vector<Bytes> frame_, payload_;  // the pieces of a frame, and of its payload
};

}  // namespace

std::unique_ptr<PacketSynthesizer> MakeIwarpPackets(FrameWriter& writer, const fabric::ConnectionInfo& info) {
  return std::make_unique<IwarpPackets>(writer, info);
}

}  // namespace stag::record
