// SPDX-License-Identifier: GPL-2.0-or-later
//
// VerbsEndpoint: a reliable connected queue pair with its completion queue, memory and receives. How it is made and
// connected is in verbs_setup.cc, posting in verbs_post.cc, completions, waiting and the end in verbs_endpoint.cc.
//
// Nothing is allocated, registered or locked per message, and the kernel is entered only to wait: work requests are
// linked when they are posted and handed over as one list; the last of a list is signalled, and few others; completions
// are polled many at a time.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>

#include "replay/endpoint/completions.h"
#include "replay/endpoint/ring.h"
#include "replay/endpoint/system.h"
#include "replay/endpoint/verbs_events.h"
#include "replay/endpoint/verbs_handles.h"
#include "replay/endpoint/verbs_memory.h"
#include "replay/endpoint/verbs_work.h"

namespace stag::endpoint {

// What a device can do.
struct VerbsDevice {
  bool iwarp = false;
  bool send_with_invalidate = false;
  bool windows = false;  // memory windows of type 2; and completions have the handle that the peer invalidated
  uint32_t max_work = 0, max_pieces = 0, max_completions = 0;
  uint8_t max_inbound_reads = 0, max_outbound_reads = 0;

  static Result<VerbsDevice> Of(ibv_context* context);
  // Consumer private data in a connection request, and in the answer: what librdmacm and the CM leave of it.
  size_t request_room() const { return iwarp ? 255 : 56; }
  size_t reply_room() const { return iwarp ? 255 : 196; }
};

class VerbsEndpoint final : public Endpoint {
 public:
  using Clock = std::chrono::steady_clock;

  // On an id that knows its device: makes the queue pair and posts the receives.
  static Result<std::unique_ptr<VerbsEndpoint>> Make(Owned<rdma_event_channel> channel, Owned<rdma_cm_id> id,
                                                     bool active, const EndpointOptions& options);
  ~VerbsEndpoint() override;

  // Asks for the connection, the route being resolved, and waits for an answer; whether it is yes. The error: none
  // came.
  Result<bool> Ask(Clock::time_point deadline);
  // What came of that.
  Result<void> Finish();
  // Answers a request. `asked`: as its event gave them.
  Result<void> Accept(const rdma_conn_param& asked, Bytes private_data);

  State state() const override { return state_; }
  bool takes_work() const override { return phase_ == Phase::kOpen; }
  const Trouble& trouble() const override { return trouble_; }
  bool can_invalidate() const override { return device_.send_with_invalidate; }
  bool reads_are_private() const override { return !device_.iwarp; }
  Result<Region> Register(size_t size, Access access) override;
  Result<Region> Register(MutableBytes memory, Access access) override;
  void Deregister(Region& region) override;
  Result<void> Renew(Region& region) override;
  Result<void> Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) override;
  Result<void> Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) override;
  Result<void> Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) override;
  size_t max_inline() const override { return kMaxInline; }
  size_t max_pieces() const override { return device_.max_pieces; }
  Result<void> Receive(uint32_t count) override;
  void Release(const Completion& completion) override;
  void Flush() override;
  size_t Poll(std::span<Completion> out, std::chrono::microseconds wait) override;
  int descriptor() override;
  void Disconnect() override;

 private:
  static constexpr size_t kMaxPieces = 16;
  static constexpr size_t kMaxInline = 256;
  static constexpr uint32_t kWindowWorks = 64;  // works for memory windows under way, besides those of the caller
  static constexpr uint32_t kLookEvery =
      256;  // idle polls of somebody who never waits, until the channels are looked at
  static constexpr uint64_t kReceiveId = uint64_t{1} << 63;

  // A work request, linked into a list when it is handed over.
  struct Item {
    ibv_send_wr wr{};
    std::array<ibv_sge, kMaxPieces> sge{};
    Work work = Work::kSend;
    uint64_t id = 0;
    uint64_t length = 0;
    const std::byte* into = nullptr;  // of an RDMA Read
    bool own = false;                 // of a memory window: no work of the caller
  };
  struct Buffer {
    std::byte* at = nullptr;
    uint32_t key = 0;
    bool given = false;  // to the caller
    ibv_recv_wr wr{};
    ibv_sge sge{};
  };
  struct Arena {
    Pages pages;
    Owned<ibv_mr> mr;
  };
  enum class Phase : uint8_t {
    kOpen,
    kFinishing,  // Disconnect was called: what is posted is completed first
    kDraining,   // the queue pair takes no more; what was posted comes back
    kOver,
  };

  VerbsEndpoint(Owned<rdma_event_channel> channel, Owned<rdma_cm_id> id, bool active, const EndpointOptions& options,
                const VerbsDevice& device, uint32_t depth);

  // verbs_setup.cc
  Result<void> MakeQueuePair();
  Result<void> AddReceives(uint32_t count);
  void Opened(const VerbsSetup& request, const VerbsSetup& reply);
  void DescribeConnection();

  // verbs_post.cc
  void PostOwn(const ibv_send_wr& wr);
  void Bind(Region& region);
  Result<Region> Offered(Result<Region> region);
  bool AwaitOwn(uint32_t most);
  Result<Item*> NewItem(Work work, uint64_t id);
  Result<void> Gather(Item& item, std::span<const Bytes> pieces, bool may_copy);
  const uint32_t* KeyOf(Bytes memory);
  void PostReceives();
  void HandOver();

  // verbs_endpoint.cc
  bool Progress();
  bool PollQueue();
  void OnWork(const ibv_wc& wc);
  void OnReceive(const ibv_wc& wc);
  void LookAtChannels();
  void OnCmEvent(const rdma_cm_event& event);
  void Arm();
  void Sleep(Clock::time_point until);
  // The connection broke, for a reason that is known; or for one that may yet come.
  void Break(Trouble trouble);
  void Lose();
  void Drain(std::chrono::milliseconds patience);
  void ReadDeviceEvents();
  void CheckEnd();
  void End(State state, fabric::CloseReason reason, bool by_peer);
  void Complete(const Item& item, CompletionStatus outcome);
  size_t Take(std::span<Completion> out) { return completions_.Take(out, uncompleted_); }

  const bool active_;
  const EndpointOptions options_;
  VerbsDevice device_;
  // In the order in which they are made.
  Owned<rdma_event_channel> channel_;
  Owned<rdma_cm_id> id_;
  Owned<ibv_pd> pd_;
  Owned<ibv_comp_channel> notifier_;
  Owned<ibv_cq> queue_;
  std::optional<VerbsMemory> memory_;
  std::vector<Arena> arenas_;
  Arena copies_;  // kMaxInline bytes for each place in work_
  OwnedQueuePair pair_;
  Descriptor epoll_, bell_;

  WorkRing<Item> work_;
  uint32_t uncompleted_ = 0;  // posted by the caller, and their completions not taken
  uint32_t own_works_ = 0;    // posted for memory windows, and not completed
  uint32_t inline_room_ = 0;  // of the device: a work request holds so many bytes itself
  std::vector<Buffer> buffers_;
  uint32_t receive_room_ = 0;  // receives that the queue pair takes
  Ring<uint32_t> to_post_;     // receives
  uint32_t posted_receives_ = 0;
  Completions completions_;
  std::vector<std::byte> own_private_data_;

  Phase phase_ = Phase::kOpen;
  State state_ = State::kOpen;
  Trouble trouble_;
  struct {
    rdma_cm_event_type event = RDMA_CM_EVENT_UNREACHABLE;
    int status = 0;
    uint8_t reads_served = 0, reads_issued = 0;
  } answer_;  // to Ask; and peer_private_data_
  bool established_ = false;
  bool disconnecting_ = false;   // Disconnect was called
  bool disconnected_ = false;    // the connection manager reported it
  bool left_ = false;            // rdma_disconnect was called
  bool by_peer_ = false;         // the peer ended it
  bool watched_ = false;         // somebody waits for descriptor()
  bool armed_ = false;           // the next completion makes the notifier readable
  uint32_t unacknowledged_ = 0;  // events of the notifier
  uint32_t idle_ = 0;
  std::optional<Clock::time_point> deadline_;
  std::atomic<int> device_event_{-1};  // ibv_event_type: written by the thread that read it from the device
  std::optional<VerbsEvents> events_;
};

}  // namespace stag::endpoint
