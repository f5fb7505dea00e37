// SPDX-License-Identifier: GPL-2.0-or-later
//
// SoftIwarpEndpoint: RDMAP (RFC 5040) and the untagged queues of DDP (RFC 5041) between FpduReceiver and FpduSender.
// The life of the connection is in soft_iwarp_endpoint.cc, what is posted and sent in soft_iwarp_outbound.cc, what the
// peer sends in soft_iwarp_inbound.cc.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "replay/endpoint/completions.h"
#include "replay/endpoint/ring.h"
#include "replay/endpoint/soft_iwarp_errors.h"
#include "replay/endpoint/soft_iwarp_events.h"
#include "replay/endpoint/soft_iwarp_receive.h"
#include "replay/endpoint/soft_iwarp_regions.h"
#include "replay/endpoint/soft_iwarp_send.h"
#include "replay/endpoint/soft_iwarp_setup.h"
#include "replay/endpoint/spin_then_sleep.h"

namespace stag::endpoint {

class SoftIwarpEndpoint final : public Endpoint, private FpduReceiver::Handler {
 public:
  // A connection whose set-up is over. The set-up frames are for events and peer_private_data().
  SoftIwarpEndpoint(std::unique_ptr<ByteStream> stream, const SocketEnds& ends, const Terms& terms,
                    const iwarp::MpaFrame& request, const iwarp::MpaFrame& reply, const EndpointOptions& options,
                    const SoftIwarpOptions& own);
  ~SoftIwarpEndpoint() override;

  State state() const override { return state_; }
  bool takes_work() const override { return phase_ == Phase::kOpen; }
  const Trouble& trouble() const override { return trouble_; }
  Result<Region> Register(size_t size, Access access) override;
  Result<Region> Register(MutableBytes memory, Access access) override;
  void Deregister(Region& region) override;
  Result<void> Renew(Region& region) override;
  Result<void> Rename(Region& region, uint32_t handle, uint64_t offset) override;
  Result<void> Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) override;
  Result<void> Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) override;
  Result<void> Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) override;
  size_t max_inline() const override { return kMaxInline; }
  size_t max_pieces() const override { return FpduSender::kMaxPieces; }
  Result<void> Receive(uint32_t count) override;
  void Release(const Completion& completion) override;
  void Flush() override;
  size_t Poll(std::span<Completion> out, std::chrono::microseconds wait) override;
  int descriptor() override;
  void Disconnect() override;

  // Ends the connection with a Terminate of layer LLP that says what is wrong with the set-up.
  void Object(const Terms& terms);

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxInline = 256;

  // A posted Send, Write or Read.
  struct Item {
    Work work = Work::kSend;
    bool own = false;  // the ready-to-receive indication: its completion is not reported
    uint8_t pieces = 0;
    uint64_t id = 0;
    uint32_t length = 0;
    uint32_t done = 0;  // bytes encoded; of a Read: placed
    std::optional<uint32_t> invalidate;
    uint32_t handle = 0;  // of the peer
    uint64_t offset = 0;
    uint64_t end = 0;            // position in the stream where it ends
    iwarp::ReadRequest request;  // Read, and the next two
    std::byte* into = nullptr;
    uint32_t sequence = 0;  // MSN
    std::array<Bytes, FpduSender::kMaxPieces> piece;
    std::array<std::byte, kMaxInline> copy;
  };
  // A Read of the peer's.
  struct Response {
    iwarp::ReadRequest request;
    uint32_t sequence = 0;
    uint32_t done = 0;
  };
  // What is wrong with something that the peer sent.
  struct Refusal {
    TerminateCode code;
    Trouble::Kind kind = Trouble::Kind::kPeerProtocol;
    std::string text;  // completes "the peer ..."
    std::optional<iwarp::ReadRequest> request;
  };
  enum class Phase : uint8_t {
    kOpen,
    kEnding,       // Disconnect was called, or the peer has finished sending
    kTerminating,  // a Terminate is to go out; nothing is read
    kOver,
  };
  enum class Current : uint8_t { kNone, kItem, kResponse };

  // Posting and sending: soft_iwarp_outbound.cc.
  Result<void> CheckPost(uint64_t length, std::span<const Bytes> pieces) const;
  bool MaySend(Bytes piece) const;
  Item& NewItem(Work work, uint64_t id, uint64_t length);
  void Gather(Item& item, std::span<const Bytes> pieces);
  void Submit(Item& item) { posted_.Push(static_cast<uint32_t>(&item - items_.data())); }
  void SubmitReadyToReceive(Terms::Ready ready);
  void Transmit();
  void Encode();
  bool Choose();
  void EncodeItem();
  void EncodePieces(Item& item);
  void EncodeResponse();
  void AddSegment(const iwarp::DdpHeader& header, std::span<const Bytes> payload, uint32_t length);
  void CompleteSent();
  bool nothing_to_send();

  // Receiving: soft_iwarp_inbound.cc.
  bool OnSegment(const iwarp::DdpHeader& header, uint32_t length, std::byte*& to) override;
  bool OnPlaced(const iwarp::DdpHeader& header, Bytes payload) override;
  bool OnEmptyFpdu() override;
  void OnBadFpdu(uint8_t code) override;
  std::optional<Refusal> ExamineTagged(const iwarp::DdpHeader& header, uint32_t length, std::byte*& to);
  std::optional<Refusal> ExamineUntagged(const iwarp::DdpHeader& header, uint32_t length, std::byte*& to);
  std::optional<Refusal> ExamineSend(const iwarp::DdpHeader& header, uint32_t length, std::byte*& to);
  std::optional<Refusal> ExamineReadResponse(const iwarp::DdpHeader& header, uint32_t length, std::byte*& to);
  std::optional<Refusal> OnSendPlaced(const iwarp::DdpHeader& header, uint32_t length);
  std::optional<Refusal> OnReadRequest(Bytes payload, uint32_t sequence);
  void OnReadResponsePlaced(const iwarp::DdpHeader& header, uint32_t length);
  void OnTerminate(Bytes payload);
  // With a Terminate that names the segment.
  void Refuse(const Refusal& refusal, const iwarp::DdpHeader& header, uint32_t length);
  void Terminate(const iwarp::Terminate& terminate, Trouble trouble);
  // The handle is invalid now: what is arriving for it is refused.
  void StopArriving(uint32_t handle);

  // Life: soft_iwarp_endpoint.cc.
  void AddReceives(uint32_t count);
  bool Progress(bool receive);
  void OnStreamEnd();
  void OnStreamFailed(int error);
  void FinishSending();
  void CheckEnd();
  void CheckReads();
  void FlushReads();
  void FlushWork();
  void End(State state, fabric::CloseReason reason, fabric::Side from);
  void Complete(Item& item, CompletionStatus outcome);
  size_t Take(std::span<Completion> out) { return completions_.Take(out, uncompleted_); }
  void WatchDescriptor();
  bool receiving() const { return (phase_ == Phase::kOpen || phase_ == Phase::kEnding) && !peer_finished_; }
  fabric::Side own_side() const { return initiator_ ? 0 : 1; }
  fabric::Side peer_side() const { return initiator_ ? 1 : 0; }

  const SoftIwarpOptions own_;
  const uint32_t sends_, receive_size_;
  const bool initiator_;
  std::unique_ptr<ByteStream> stream_;
  RegionTable regions_;
  FpduReceiver receiver_;
  FpduSender sender_;
  std::unique_ptr<SoftIwarpEvents> events_;  // null: nobody listens

  Phase phase_ = Phase::kOpen;
  State state_ = State::kOpen;
  Trouble trouble_;
  bool disconnecting_ = false;                     // Disconnect was called
  bool peer_finished_ = false, finished_ = false;  // FIN came; FIN was sent
  bool may_send_ = false;       // RFC 5044 section 7.1.2: a responder waits for the initiator's first FPDU
  bool expects_ready_ = false;  // that may be a ready-to-receive indication
  bool blocked_ = false;        // TCP takes no more
  bool looked_ = true;          // the last Poll received
  SpinThenSleep spin_;
  int send_error_ = 0;                         // TCP takes nothing any more; what came before that is still read
  std::optional<Clock::time_point> deadline_;  // of the end
  Descriptor epoll_;
  uint32_t watched_ = 0;  // its events

  // Posted work: indices of items_.
  std::vector<Item> items_;
  Ring<uint32_t> free_, posted_;
  Ring<uint32_t> encoded_, reads_;  // Sends and Writes; requested Reads
  uint32_t uncompleted_ = 0;
  uint32_t reading_ = 0;             // Reads that are not completed
  Clock::time_point reading_since_;  // the oldest of them is the oldest
  Ring<Response> responses_;
  Current current_ = Current::kNone, last_ = Current::kNone;
  uint32_t send_sequence_ = 1, read_sequence_ = 1;

  struct Buffer {
    std::byte* at = nullptr;
    bool given = false;  // to the caller
  };
  std::vector<Pages> arenas_;
  std::vector<Buffer> buffers_;
  std::vector<uint32_t> receives_;   // posted; the one that was used last is the next: it is in the cache
  std::optional<uint32_t> filling_;  // the receive that a Send is arriving in
  uint32_t filled_ = 0;
  uint32_t expected_send_ = 1, expected_read_ = 1;  // MSN
  std::array<std::byte, 64> control_{};             // payload of a Read Request or Terminate

  Completions completions_;
};

}  // namespace stag::endpoint
