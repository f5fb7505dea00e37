// SPDX-License-Identifier: GPL-2.0-or-later
//
// Making a queue pair and connecting it.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "replay/endpoint/verbs_endpoint.h"
#include "replay/endpoint/verbs_trouble.h"

namespace stag::endpoint {
namespace {

constexpr uint32_t kSpareReceives = 128;  // for Receive()
// The Linux driver siw keeps Send with Invalidate from user-space programs.
constexpr uint32_t kSiwVendor = 0x626d74;
// The Linux driver rxe invalidates a window, and does not report which one.
constexpr uint32_t kRxeVendor = 0xffffff;
// RNR NAKs are final, as with the Linux client and server: credits are there to prevent them.
constexpr uint8_t kRnrRetries = 0, kRetries = 7;

bool DoNotBlock(int fd) { return ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) == 0; }

fabric::FabricKind FabricOf(ibv_context* context, const ibv_qp_attr& attr, bool iwarp) {
  if (iwarp) return fabric::FabricKind::kIwarp;
  ibv_port_attr port{};
  if (::ibv_query_port(context, attr.port_num, &port) == 0 && port.link_layer != IBV_LINK_LAYER_ETHERNET)
    return fabric::FabricKind::kInfiniBand;
  ibv_gid_entry gid{};
  if (::ibv_query_gid_ex(context, attr.port_num, attr.ah_attr.grh.sgid_index, &gid, 0) == 0 &&
      gid.gid_type == IBV_GID_TYPE_ROCE_V1)
    return fabric::FabricKind::kRoceV1;
  return fabric::FabricKind::kRoceV2;
}

// What a device says that it has, it may keep from programs.
bool WindowsFor(ibv_context* context) {
  const Owned<ibv_pd> pd(::ibv_alloc_pd(context));
  return pd && Owned<ibv_mw>(::ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2));
}

std::vector<std::byte> Padded(Bytes bytes, size_t size) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  out.resize(std::max(size, out.size()));
  return out;
}

}  // namespace

Result<VerbsDevice> VerbsDevice::Of(ibv_context* context) {
  ibv_device_attr attr{};
  if (const int error = ::ibv_query_device(context, &attr))
    return Fail(fmt::format("{}: {}", ::ibv_get_device_name(context->device), ErrorText(error)));
  const auto count = [](int n) { return static_cast<uint32_t>(std::max(n, 0)); };
  const auto reads = [](int n) { return static_cast<uint8_t>(std::clamp(n, 0, 255)); };
  VerbsDevice device;
  device.iwarp = context->device->node_type == IBV_NODE_RNIC;
  device.send_with_invalidate =
      (attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0 && attr.vendor_id != kSiwVendor;
  constexpr unsigned kWindows = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  device.windows =
      !device.iwarp && (attr.device_cap_flags & kWindows) != 0 && attr.vendor_id != kRxeVendor && WindowsFor(context);
  device.max_work = count(attr.max_qp_wr);
  device.max_pieces = count(attr.max_sge);
  device.max_completions = count(attr.max_cqe);
  device.max_inbound_reads = reads(attr.max_qp_rd_atom);
  device.max_outbound_reads = reads(attr.max_qp_init_rd_atom);
  return device;
}

VerbsEndpoint::VerbsEndpoint(Owned<rdma_event_channel> channel, Owned<rdma_cm_id> id, bool active,
                             const EndpointOptions& options, const VerbsDevice& device, uint32_t depth)
    : active_(active),
      options_(options),
      device_(device),
      channel_(std::move(channel)),
      id_(std::move(id)),
      work_(std::max(options.sends, 1u) + (device.windows ? kWindowWorks : 0), depth),
      to_post_(0),
      completions_(options.sends) {
  device_.max_pieces = std::min<uint32_t>(device_.max_pieces, kMaxPieces);
  own_private_data_ = options.private_data;
}

Result<std::unique_ptr<VerbsEndpoint>> VerbsEndpoint::Make(Owned<rdma_event_channel> channel, Owned<rdma_cm_id> id,
                                                           bool active, const EndpointOptions& options) {
  auto device = VerbsDevice::Of(id->verbs);
  if (!device) return tl::unexpected(device.error());
  const char* const name = ::ibv_get_device_name(id->verbs->device);
  if (uint64_t{options.receives} > device->max_work)
    return Fail(fmt::format("{} takes at most {} receives, not {}", name, device->max_work, options.receives));
  // A device may have less room than it says, depending on what else a work request holds; what does not fit at once
  // waits in work_.
  int error = 0;
  for (uint32_t depth = std::min(std::max(options.sends, 1u), device->max_work); depth > 0; depth /= 2) {
    auto endpoint = std::unique_ptr<VerbsEndpoint>(
        new VerbsEndpoint(std::move(channel), std::move(id), active, options, *device, depth));
    if (auto made = endpoint->MakeQueuePair(); !made) return tl::unexpected(made.error());
    for (const uint32_t inline_room : {256u, 128u, 64u, 0u}) {
      ibv_qp_init_attr init{};
      init.qp_context = endpoint.get();
      init.send_cq = init.recv_cq = endpoint->queue_.get();
      init.qp_type = IBV_QPT_RC;
      init.cap.max_send_wr = depth;
      init.cap.max_recv_wr = endpoint->receive_room_;
      init.cap.max_send_sge = endpoint->device_.max_pieces;
      init.cap.max_recv_sge = 1;
      init.cap.max_inline_data = inline_room;
      if (::rdma_create_qp(endpoint->id_.get(), endpoint->pd_.get(), &init) != 0) {
        error = errno;
        continue;
      }
      endpoint->pair_.Own(endpoint->id_.get());
      endpoint->inline_room_ = init.cap.max_inline_data;
      if (auto added = endpoint->AddReceives(options.receives); !added) return tl::unexpected(added.error());
      endpoint->PostReceives();
      return endpoint;
    }
    channel = std::move(endpoint->channel_);
    id = std::move(endpoint->id_);
  }
  return Fail(fmt::format("no queue pair with {} receives from {}: {}", options.receives, name, ErrorText(error)));
}

// All that a queue pair needs.
Result<void> VerbsEndpoint::MakeQueuePair() {
  const auto fail = [](const char* what) { return Fail(fmt::format("no {}: {}", what, ErrorText(errno))); };
  ibv_context* const context = id_->verbs;
  pd_.reset(::ibv_alloc_pd(context));
  if (!pd_) return fail("protection domain");
  notifier_.reset(::ibv_create_comp_channel(context));
  if (!notifier_ || !DoNotBlock(notifier_->fd)) return fail("completion channel");
  receive_room_ = std::min(options_.receives + kSpareReceives, device_.max_work);
  const uint32_t completions = options_.sends + kWindowWorks + receive_room_ + 1;
  queue_.reset(::ibv_create_cq(context, static_cast<int>(std::min(completions, device_.max_completions)), nullptr,
                               notifier_.get(), 0));
  if (!queue_) return fail("completion queue");
  memory_.emplace(pd_.get(), device_.iwarp, device_.windows);
  copies_.pages = Pages(work_.places() * kMaxInline);
  const MutableBytes copies = copies_.pages.bytes();
  if (copies.empty()) return Fail("no memory for small messages");
  copies_.mr.reset(::ibv_reg_mr(pd_.get(), copies.data(), copies.size(), int{IBV_ACCESS_LOCAL_WRITE}));
  if (!copies_.mr) return Fail(WhyNoMemory(copies.size(), errno));
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  bell_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  for (const int fd : {notifier_->fd, channel_->fd, bell_.get()})
    if (!epoll_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return fail("descriptor to wait with");
  (void)DoNotBlock(context->async_fd);
  return {};
}

Result<void> VerbsEndpoint::AddReceives(uint32_t count) {
  if (count == 0) return {};
  if (buffers_.size() + count > receive_room_)
    return Fail(fmt::format("this connection takes at most {} receives", receive_room_));
  const size_t size = std::max<size_t>(options_.receive_size, 1);
  Arena arena;
  arena.pages = Pages(size * count);
  const MutableBytes memory = arena.pages.bytes();
  if (memory.empty()) return Fail(fmt::format("no memory for {} receives of {} bytes", count, size));
  arena.mr.reset(::ibv_reg_mr(pd_.get(), memory.data(), memory.size(), int{IBV_ACCESS_LOCAL_WRITE}));
  if (!arena.mr) return Fail(WhyNoMemory(memory.size(), errno));
  completions_.Extend(count);
  to_post_.Extend(count);
  for (uint32_t i = 0; i < count; ++i) {
    to_post_.Push(static_cast<uint32_t>(buffers_.size()));
    buffers_.push_back({memory.data() + i * size, arena.mr->lkey, false, {}, {}});
  }
  arenas_.push_back(std::move(arena));
  return {};
}

Result<bool> VerbsEndpoint::Ask(Clock::time_point deadline) {
  rdma_conn_param param{};
  param.private_data = own_private_data_.data();
  param.private_data_len = static_cast<uint8_t>(own_private_data_.size());
  inbound_reads_ = std::min<uint16_t>(options_.inbound_reads, device_.max_inbound_reads);
  outbound_reads_ = std::min<uint16_t>(options_.outbound_reads, device_.max_outbound_reads);
  param.responder_resources = static_cast<uint8_t>(inbound_reads_);
  param.initiator_depth = static_cast<uint8_t>(outbound_reads_);
  param.retry_count = kRetries;
  param.rnr_retry_count = kRnrRetries;
  if (::rdma_connect(id_.get(), &param) != 0)
    return Fail(errno == ECONNREFUSED ? WhyNotConnected(RDMA_CM_EVENT_REJECTED, -errno, {}, device_.iwarp)
                                      : ErrorText(errno));
  for (;;) {
    if (const auto event = NextCmEvent(channel_.get())) {
      const rdma_conn_param& conn = event->param.conn;
      const auto* const said = static_cast<const std::byte*>(conn.private_data);
      if (said) peer_private_data_.assign(said, said + conn.private_data_len);
      answer_ = {event->event, event->status, conn.initiator_depth, conn.responder_resources};
      return event->event == RDMA_CM_EVENT_ESTABLISHED;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Fail("no answer in time");
    pollfd fd{channel_->fd, POLLIN, 0};
    (void)::poll(&fd, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
  }
}

Result<void> VerbsEndpoint::Finish() {
  const auto sent = Padded(own_private_data_, device_.iwarp ? 0 : device_.request_room());
  const VerbsSetup request{sent, inbound_reads_, outbound_reads_};
  if (answer_.event != RDMA_CM_EVENT_ESTABLISHED) {
    if (answer_.event == RDMA_CM_EVENT_REJECTED && options_.events) {
      DescribeConnection();
      options_.events->OpenConnection(info_);
      VerbsEvents(*options_.events, info_, true)
          .OnRejected(request, peer_private_data_, static_cast<uint16_t>(std::clamp(answer_.status, 0, 65535)));
    }
    return Fail(WhyNotConnected(answer_.event, answer_.status, peer_private_data_, device_.iwarp));
  }
  // What the peer serves and issues, seen from here.
  outbound_reads_ = std::min<uint16_t>(outbound_reads_, answer_.reads_served);
  inbound_reads_ = std::min<uint16_t>(inbound_reads_, answer_.reads_issued);
  established_ = true;
  Opened(request, {peer_private_data_, answer_.reads_served, answer_.reads_issued});
  return {};
}

Result<void> VerbsEndpoint::Accept(const rdma_conn_param& asked, Bytes private_data) {
  rdma_conn_param param{};
  param.private_data = own_private_data_.data();
  param.private_data_len = static_cast<uint8_t>(own_private_data_.size());
  inbound_reads_ =
      std::min({options_.inbound_reads, uint16_t{device_.max_inbound_reads}, uint16_t{asked.responder_resources}});
  outbound_reads_ =
      std::min({options_.outbound_reads, uint16_t{device_.max_outbound_reads}, uint16_t{asked.initiator_depth}});
  param.responder_resources = static_cast<uint8_t>(inbound_reads_);
  param.initiator_depth = static_cast<uint8_t>(outbound_reads_);
  param.rnr_retry_count = kRnrRetries;
  peer_private_data_.assign(private_data.begin(), private_data.end());
  if (::rdma_accept(id_.get(), &param) != 0) return Fail(ErrorText(errno));
  const auto sent = Padded(own_private_data_, device_.iwarp ? 0 : device_.reply_room());
  Opened({peer_private_data_, asked.initiator_depth, asked.responder_resources},
         {sent, param.responder_resources, param.initiator_depth});
  return {};
}

void VerbsEndpoint::DescribeConnection() {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  (void)::ibv_query_qp(pair_.get(), &attr, IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_PORT, &init);
  const stag::Endpoint own = FromSocketAddress(id_->route.addr.src_storage);
  const stag::Endpoint peer = FromSocketAddress(id_->route.addr.dst_storage);
  const size_t mine = active_ ? 0 : 1;
  info_.fabric = FabricOf(id_->verbs, attr, device_.iwarp);
  info_.endpoint[mine] = own;
  info_.endpoint[1 - mine] = peer;
  info_.roles_known = true;
  info_.service_port = static_cast<uint16_t>(info_.endpoint[1].number);
  info_.rdma_hidden[1 - mine] = true;
  if (device_.iwarp) return;
  info_.endpoint[mine].number = pair_->qp_num;
  info_.endpoint[1 - mine].number = attr.dest_qp_num;
}

void VerbsEndpoint::Opened(const VerbsSetup& request, const VerbsSetup& reply) {
  DescribeConnection();
  if (!options_.events) return;
  options_.events->OpenConnection(info_);
  events_.emplace(*options_.events, info_, active_);
  completions_.Follow(events_->shown());
  events_->OnSetup(request, reply);
}

}  // namespace stag::endpoint
