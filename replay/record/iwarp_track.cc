// SPDX-License-Identifier: GPL-2.0-or-later
//
// A recorded connection as iWARP: TCP, the MPA exchange, a TCP segment for each FPDU (two for the largest), CRC32C, no
// markers. An event of a Write or Read Response is a DDP segment; a Send is one, or several when it is long.
//
// What events do not say is made up and then kept to: TCP sequence numbers, ports that are unknown, the sinks of RDMA
// Reads. Data acknowledges data, and an empty segment does where a window of 64 KiB would be full.
#include "protocol/iwarp/fpdu.h"
#include "protocol/iwarp/mpa.h"
#include "protocol/iwarp/segments.h"
#include "protocol/link/packet.h"
#include "replay/record/tape.h"

namespace stag::replay {
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

class IwarpTrack final : public Track {
 public:
  IwarpTrack(Tape& tape, const fabric::ConnectionInfo& info) : tape_(tape), hosts_(HostsOf(info)) {
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
    switch (e.kind) {
      case EventKind::kSetup: return Setup(e);
      case EventKind::kOpened: return;
      case EventKind::kClosed: return Close(e);
      case EventKind::kSend: return Send(e);
      case EventKind::kWrite: return Tagged(e, iwarp::Opcode::kWrite, e.handle, e.offset);
      case EventKind::kReadRequest: return ReadRequest(e);
      case EventKind::kReadResponse: return ReadResponse(e);
      case EventKind::kNak: return Terminate(e);
      case EventKind::kGap: end_[e.from].next += static_cast<uint32_t>(std::max<uint64_t>(e.gap_size, 1)); return;
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
  void Tcp(Side from, uint8_t flags, Bytes payload = {}, size_t cut = 0) {
    End &sender = end_[from], &peer = end_[1 - from];
    const bool ack = (flags & link::kTcpAck) != 0;
    frame_.clear();
    link::AppendTcpFrame(frame_, hosts_[from], hosts_[1 - from],
                         {sender.port, peer.port, sender.next, ack ? peer.next : 0, flags}, payload);
    tape_.Put(frame_, cut);
    if (ack) peer.unacknowledged = 0;
    sender.next += static_cast<uint32_t>(payload.size()) + ((flags & (link::kTcpSyn | link::kTcpFin)) != 0 ? 1 : 0);
    sender.unacknowledged += static_cast<uint32_t>(payload.size());
  }
  void Stream(Side from, Bytes bytes, size_t cut = 0) {
    while (!bytes.empty()) {
      const size_t n = std::min(kMaxFrame, bytes.size());
      if (end_[from].unacknowledged + n > kWindow) Tcp(Side(1 - from), link::kTcpAck);
      const size_t known = bytes.size() - cut;
      const size_t unknown = known < n ? n - known : 0;
      Tcp(from, link::kTcpAck | kPush, bytes.first(n), unknown);
      bytes = bytes.subspan(n);
      cut -= unknown;
    }
  }
  void Handshake(const Event& e) {
    if (connected_) return;
    connected_ = true;
    Tcp(0, link::kTcpSyn);
    if (e.kind == EventKind::kClosed && e.close_reason == fabric::CloseReason::kRejected) return;
    Tcp(1, link::kTcpSyn | link::kTcpAck);
    Tcp(0, link::kTcpAck);
  }
  void Setup(const Event& e) {
    const bool request = e.setup == SetupMessage::kRequest;
    if (!request && e.setup != SetupMessage::kReply && e.setup != SetupMessage::kReject) return;
    iwarp::MpaFrame frame;
    frame.kind = request ? iwarp::MpaFrame::Kind::kRequest : iwarp::MpaFrame::Kind::kReply;
    frame.crc = true;
    frame.reject = rejected_ = e.setup == SetupMessage::kReject;
    frame.private_data = e.private_data;
    if (e.reads_served || e.reads_issued) {
      frame.revision = 2;
      frame.enhanced = iwarp::EnhancedSetup{.ird = e.reads_served.value_or(iwarp::kReadsNotNegotiated),
                                            .ord = e.reads_issued.value_or(iwarp::kReadsNotNegotiated)};
    }
    fpdu_.clear();
    iwarp::EncodeMpaFrame(frame, fpdu_);
    Stream(e.from, fpdu_);
  }
  void Close(const Event& e) {
    const bool refused = e.close_reason == fabric::CloseReason::kRejected && !rejected_;
    if (refused || e.close_reason == fabric::CloseReason::kReset)
      return Tcp(refused ? Side{1} : e.from, link::kTcpRst | link::kTcpAck);
    if (e.close_reason != fabric::CloseReason::kDisconnect && !rejected_) return;
    const auto other = Side(1 - e.from);
    Tcp(e.from, link::kTcpFin | link::kTcpAck);
    Tcp(other, link::kTcpFin | link::kTcpAck);
    Tcp(e.from, link::kTcpAck);
  }

  // `unknown`: bytes at the end of the payload; pad and CRC behind them are not known, either.
  void Ddp(Side from, const iwarp::DdpHeader& header, Bytes payload, size_t unknown = 0) {
    ulpdu_.clear();
    iwarp::EncodeDdpSegment(header, payload, ulpdu_);
    fpdu_.clear();
    iwarp::EncodeFpdu(ulpdu_, 0, false, true, fpdu_);
    const size_t known = iwarp::kUlpduLengthSize + ulpdu_.size() - unknown;
    Stream(from, fpdu_, unknown == 0 ? 0 : fpdu_.size() - known);
  }
  void Segments(const Event& e, const iwarp::DdpHeader& header) {
    iwarp::ForEachSegment(header, e.length, kMaxUlpdu - header.size(),
                          [&](const iwarp::DdpHeader& h, uint64_t at, size_t n) {
                            const Part part = PartOf(e, at, n, scratch_);
                            Ddp(e.from, h, part.data, part.unknown);
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
    const auto opcode = e.invalidated ? (e.solicited ? kSendSolicitedInvalidate : kSendInvalidate)
                        : e.solicited ? kSendSolicited
                                      : kSend;
    iwarp::DdpHeader header = Untagged(opcode, iwarp::kSendQueue, ++end.sends);
    header.invalidate_stag = e.invalidated.value_or(0);
    end.recent[end.sends % kRecent] = {e.frame.number, end.sends};
    Segments(e, header);
  }
  void Tagged(const Event& e, iwarp::Opcode opcode, uint32_t stag, uint64_t offset) {
    iwarp::DdpHeader header;
    header.tagged = true;
    header.opcode = opcode;
    header.stag = stag;
    header.offset = offset;
    header.last = e.last;
    Segments(e, header);
  }

  void ReadRequest(const Event& e) {
    End& end = end_[e.from];
    Read read;
    read.sequence = ++end.read_requests;
    read.request = {.sink_stag = 0x1000 + read.sequence,
                    .sink_offset = 0,
                    .length = static_cast<uint32_t>(e.length),
                    .source_stag = e.handle,
                    .source_offset = e.offset};
    scratch_.clear();
    iwarp::EncodeReadRequest(read.request, scratch_);
    Ddp(e.from, Untagged(iwarp::Opcode::kReadRequest, iwarp::kReadRequestQueue, read.sequence), scratch_);
    if (end.reads.size() == kMaxReads) end.reads.erase(end.reads.begin());
    end.reads.push_back(read);
    AnswerEmpty(e.from);
  }
  // No event tells of the response to a Read of nothing. It comes in its turn (RFC 5040 section 5.5).
  void AnswerEmpty(Side reader) {
    std::vector<Read>& reads = end_[reader].reads;
    while (!reads.empty() && reads.front().request.length == 0) {
      Event empty;
      empty.from = Side(1 - reader);
      empty.last = true;
      Tagged(empty, iwarp::Opcode::kReadResponse, reads.front().request.sink_stag, 0);
      reads.erase(reads.begin());
    }
  }
  void ReadResponse(const Event& e) {
    if (e.length == 0) return;
    std::vector<Read>& reads = end_[1 - e.from].reads;
    // The oldest: the same memory may be read again.
    const auto read = std::ranges::find_if(reads, [&](const Read& r) {
      return r.request.source_stag == e.handle && r.request.source_offset + r.answered == e.offset &&
             e.length <= r.request.length - r.answered;
    });
    if (read == reads.end()) return tape_.Leave();
    Tagged(e, iwarp::Opcode::kReadResponse, read->request.sink_stag, read->answered);
    read->answered += e.length;
    if (!e.last) return;
    reads.erase(read);
    AnswerEmpty(Side(1 - e.from));
  }

  // What the Terminate said; or, where an endpoint on hardware does not show that, what comes nearest (RFC 5040 section
  // 4.8, RFC 5041 section 8).
  static void SetError(const Event& e, iwarp::Terminate& t) {
    switch (e.nak) {
      case fabric::NakKind::kTerminate:
        t.layer = e.terminate_layer;
        t.type = e.terminate_type;
        t.code = e.terminate_code;
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
    SetError(e, t);
    const auto refuse = [&](const iwarp::DdpHeader& header, uint64_t payload) {
      t.ddp = header;
      t.segment_length = static_cast<uint16_t>(std::min<uint64_t>(header.size() + payload, 0xffff));
    };
    const auto read = std::ranges::find_if(peer.reads, [&](const Read& r) {
      return r.request.source_stag == e.handle && r.request.source_offset == e.offset && r.request.length == e.length;
    });
    const auto send = std::ranges::find_if(
        peer.recent, [&](const RecentSend& s) { return s.frame != 0 && s.frame == e.refused.number; });
    if (read != peer.reads.end()) {
      refuse(Untagged(iwarp::Opcode::kReadRequest, iwarp::kReadRequestQueue, read->sequence), iwarp::kReadRequestSize);
      t.read_request = read->request;
    } else if (send != peer.recent.end()) {
      refuse(Untagged(iwarp::Opcode::kSend, iwarp::kSendQueue, send->sequence), 0);
    } else if (e.handle != 0) {
      iwarp::DdpHeader header;
      header.tagged = header.last = true;
      header.stag = e.handle;
      header.offset = e.offset;
      refuse(header, e.length);
    }
    scratch_.clear();
    iwarp::EncodeTerminate(t, scratch_);
    Ddp(e.from, Untagged(iwarp::Opcode::kTerminate, iwarp::kTerminateQueue, 1), scratch_);
  }

  Tape& tape_;
  std::array<link::Host, 2> hosts_;
  std::array<End, 2> end_;
  bool connected_ = false, rejected_ = false;
  std::vector<std::byte> frame_, ulpdu_, fpdu_, scratch_;
};

}  // namespace

std::unique_ptr<Track> MakeIwarpTrack(Tape& tape, const fabric::ConnectionInfo& info) {
  return std::make_unique<IwarpTrack>(tape, info);
}

}  // namespace stag::replay
