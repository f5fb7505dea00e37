// SPDX-License-Identifier: GPL-2.0-or-later
//
// SnifferDevice by libibverbs: a raw packet queue pair with a sniffer flow (IBV_FLOW_ATTR_SNIFFER), which copies what
// the port sends and receives to our receive buffers.
#include <fcntl.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "capture/live/sniffer_device.h"

namespace stag::capture {
namespace {

constexpr uint32_t kSlot = 10240;  // the largest packet: MTU 9000 and headers; InfiniBand has 4096 and headers
constexpr uint32_t kMaxSlots = 16384;
constexpr size_t kPolled = 64;

template <auto destroy>
struct Destroy {
  template <typename T>
  void operator()(T* t) const {
    destroy(t);
  }
};
using Context = std::unique_ptr<ibv_context, Destroy<ibv_close_device>>;
using Channel = std::unique_ptr<ibv_comp_channel, Destroy<ibv_destroy_comp_channel>>;
using Domain = std::unique_ptr<ibv_pd, Destroy<ibv_dealloc_pd>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroy<ibv_destroy_qp>>;
using Flow = std::unique_ptr<ibv_flow, Destroy<ibv_destroy_flow>>;

struct DestroyQueue {
  void operator()(ibv_cq_ex* queue) const { ibv_destroy_cq(ibv_cq_ex_to_cq(queue)); }
};
using CompletionQueue = std::unique_ptr<ibv_cq_ex, DestroyQueue>;

struct Deregister {
  void operator()(ibv_mr* region) const { ibv_dereg_mr(region); }
};

class Mapping {
 public:
  explicit Mapping(size_t size) : size_(size) {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return;
    start_ = static_cast<std::byte*>(at);
    ::madvise(at, size, MADV_HUGEPAGE);
  }
  ~Mapping() {
    if (start_) ::munmap(start_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* get() const { return start_; }
  size_t size() const { return size_; }

 private:
  std::byte* start_ = nullptr;
  size_t size_;
};

std::string Reason(int error) {
  switch (error) {
    case EPERM:
    case EACCES: return "no permission: run it as root, or give it the capability once: setcap cap_net_raw=eip STAG";
    case ENOMEM: return "not enough memory that may be locked: raise ulimit -l (memlock), or make --buffer smaller";
    case EOPNOTSUPP:
    case ENOSYS:
    case EINVAL: return "the device or its driver has no sniffer (ConnectX has one; rxe and siw have none)";
    default: return std::strerror(error);
  }
}

Context OpenDevice(const std::string& name) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  Context context;
  for (int i = 0; i < count; ++i)
    if (name == ibv_get_device_name(list[i])) context.reset(ibv_open_device(list[i]));
  if (list) ibv_free_device_list(list);
  return context;
}

class VerbsSniffer final : public SnifferDevice {
 public:
  explicit VerbsSniffer(const SnifferOptions& options)
      : options_(options),
        slots_(std::clamp(options.buffer / kSlot, 64u, kMaxSlots)),
        memory_(size_t{slots_} * kSlot),
        requests_(kPolled),
        pieces_(kPolled) {}

  Result<void> Open() {
    context_ = OpenDevice(options_.device);
    if (!context_)
      return Fail(
          fmt::format("cannot open the RDMA device {}; stag capture --list shows what there is", options_.device));
    ibv_port_attr port{};
    if (ibv_query_port(context_.get(), options_.port, &port) != 0)
      return Fail(fmt::format("{} has no port {}", options_.device, options_.port));
    if (port.state != IBV_PORT_ACTIVE)
      return Fail(fmt::format("port {} of {} is down", options_.port, options_.device));
    link_ = port.link_layer == IBV_LINK_LAYER_INFINIBAND ? LinkType::kInfiniBand : LinkType::kEthernet;
    if (!memory_.get()) return Trouble("memory", ENOMEM);
    if (channel_.reset(ibv_create_comp_channel(context_.get())); !channel_)
      return Trouble("a completion channel", errno);
    ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
    if (domain_.reset(ibv_alloc_pd(context_.get())); !domain_) return Trouble("a protection domain", errno);
    CreateCompletionQueue();
    if (!completions_) return Trouble("a completion queue", errno);
    region_.reset(ibv_reg_mr(domain_.get(), memory_.get(), memory_.size(), int{IBV_ACCESS_LOCAL_WRITE}));
    if (!region_) return Trouble("receive buffers", errno);
    return OpenQueuePair();
  }

  LinkType link() const override { return link_; }
  uint32_t slots() const override { return slots_; }
  Bytes slot(uint32_t index) const override { return {memory_.get() + size_t{index} * kSlot, kSlot}; }

  Result<void> Post(std::span<const uint32_t> slots) override {
    while (!slots.empty()) {
      const auto batch = slots.first(std::min(slots.size(), kPolled));
      for (size_t i = 0; i < batch.size(); ++i) {
        pieces_[i] = {reinterpret_cast<uintptr_t>(memory_.get()) + uint64_t{batch[i]} * kSlot, kSlot, region_->lkey};
        requests_[i] = {batch[i], i + 1 < batch.size() ? &requests_[i + 1] : nullptr, &pieces_[i], 1};
      }
      ibv_recv_wr* bad = nullptr;
      if (const int error = ibv_post_recv(pair_.get(), requests_.data(), &bad); error != 0)
        return Trouble("receives", error);
      slots = slots.subspan(batch.size());
    }
    return {};
  }

  Result<size_t> Poll(std::span<Arrival> out) override {
    ibv_poll_cq_attr attributes{};
    int status = ibv_start_poll(completions_.get(), &attributes);
    if (status == ENOENT) return size_t{0};
    if (status != 0) return Gone(status);
    size_t count = 0;
    for (;;) {
      out[count++] = Current();
      if (count == out.size()) break;
      status = ibv_next_poll(completions_.get());
      if (status != 0) break;
    }
    ibv_end_poll(completions_.get());
    if (status != 0 && status != ENOENT) return Gone(status);
    return count;
  }

  Result<void> Wait(std::chrono::milliseconds wait) override {
    if (const int error = ibv_req_notify_cq(ibv_cq_ex_to_cq(completions_.get()), 0); error != 0) return Gone(error);
    // What came before the request gives no event: the caller polls anyway, after a short wait at most.
    std::array<pollfd, 2> fds{pollfd{channel_->fd, POLLIN, 0}, pollfd{context_->async_fd, POLLIN, 0}};
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(wait.count(), 10)));
    if (fds[0].revents != 0) {
      ibv_cq* queue = nullptr;
      void* cookie = nullptr;
      if (ibv_get_cq_event(channel_.get(), &queue, &cookie) == 0) ibv_ack_cq_events(queue, 1);
    }
    if (fds[1].revents != 0) {
      ibv_async_event event{};
      if (ibv_get_async_event(context_.get(), &event) == 0) {
        ibv_ack_async_event(&event);
        if (event.event_type == IBV_EVENT_DEVICE_FATAL) return Fail(options_.device + ": the device failed");
      }
    }
    return {};
  }

  Clock clock() const override { return clock_; }

  std::optional<ClockReading> ReadClock() override {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    const int64_t before = SystemNow();
    if (ibv_query_rt_values_ex(context_.get(), &values) != 0) return std::nullopt;
    return ClockReading{static_cast<uint64_t>(values.raw_clock.tv_nsec), before + (SystemNow() - before) / 2};
  }

  std::optional<uint64_t> OutOfBuffer() override {
    std::ifstream file(
        fmt::format("/sys/class/infiniband/{}/ports/{}/hw_counters/out_of_buffer", options_.device, options_.port));
    uint64_t count = 0;
    return file >> count ? std::optional(count) : std::nullopt;
  }

 private:
  static int64_t SystemNow() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  tl::unexpected<Error> Trouble(std::string_view what, int error) const {
    return Fail(fmt::format("cannot sniff on {}: {}: {}", options_.device, what, Reason(error)));
  }
  tl::unexpected<Error> Gone(int error) const {
    return Fail(fmt::format("{}: {}", options_.device, std::strerror(error)));
  }

  // With the best time that the device has.
  void CreateCompletionQueue() {
    ibv_cq_init_attr_ex attributes{};
    attributes.cqe = slots_;
    attributes.channel = channel_.get();
    const auto create = [&](uint64_t flags) {
      attributes.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | flags;
      completions_.reset(ibv_create_cq_ex(context_.get(), &attributes));
      return completions_ != nullptr;
    };
    if (options_.hardware_time) {
      ibv_device_attr_ex device{};
      const bool known = ibv_query_device_ex(context_.get(), nullptr, &device) == 0;
      if (create(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)) {
        clock_ = {1e9, ~uint64_t{0}, true};
        return;
      }
      if (known && device.hca_core_clock > 0 && device.completion_timestamp_mask > 0 &&
          create(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)) {
        clock_ = {static_cast<double>(device.hca_core_clock) * 1000, device.completion_timestamp_mask, false};
        return;
      }
    }
    create(0);
  }

  Result<void> OpenQueuePair() {
    ibv_qp_init_attr init{};
    init.qp_type = IBV_QPT_RAW_PACKET;
    init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(completions_.get());
    init.cap.max_recv_wr = slots_;
    init.cap.max_recv_sge = 1;
    if (pair_.reset(ibv_create_qp(domain_.get(), &init)); !pair_) return Trouble("a raw packet queue pair", errno);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = options_.port;
    if (const int error = ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE | IBV_QP_PORT); error != 0)
      return Trouble("a raw packet queue pair", error);
    attributes = {};
    attributes.qp_state = IBV_QPS_RTR;
    if (const int error = ibv_modify_qp(pair_.get(), &attributes, IBV_QP_STATE); error != 0)
      return Trouble("a raw packet queue pair", error);
    ibv_flow_attr flow{};
    flow.type = IBV_FLOW_ATTR_SNIFFER;
    flow.size = sizeof(flow);
    flow.port = options_.port;
    if (flow_.reset(ibv_create_flow(pair_.get(), &flow)); !flow_) return Trouble("a sniffer flow", errno);
    return {};
  }

  Arrival Current() const {
    Arrival arrival;
    arrival.slot = static_cast<uint32_t>(completions_->wr_id);
    arrival.failed = completions_->status != IBV_WC_SUCCESS;
    if (arrival.failed) return arrival;
    arrival.length = ibv_wc_read_byte_len(completions_.get());
    if (clock_.wallclock) {
      arrival.timestamp = ibv_wc_read_completion_wallclock_ns(completions_.get());
    } else if (clock_.hertz > 0) {
      arrival.timestamp = ibv_wc_read_completion_ts(completions_.get());
    }
    return arrival;
  }

  SnifferOptions options_;
  uint32_t slots_;
  LinkType link_ = LinkType::kEthernet;
  Clock clock_;
  Mapping memory_;
  // In the order in which they depend on each other: destroyed from the last.
  Context context_;
  Channel channel_;
  Domain domain_;
  CompletionQueue completions_;
  std::unique_ptr<ibv_mr, Deregister> region_;
  QueuePair pair_;
  Flow flow_;
  std::vector<ibv_recv_wr> requests_;
  std::vector<ibv_sge> pieces_;
};

}  // namespace

Result<std::unique_ptr<SnifferDevice>> OpenVerbsSniffer(const SnifferOptions& options) {
  auto sniffer = std::make_unique<VerbsSniffer>(options);
  if (auto opened = sniffer->Open(); !opened) return Fail(opened.error().message);
  return sniffer;
}

std::vector<SniffableDevice> ListSniffableDevices() {
  std::vector<SniffableDevice> devices;
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  for (int i = 0; i < count; ++i) {
    const std::string name = ibv_get_device_name(list[i]);
    const Context context(ibv_open_device(list[i]));
    ibv_device_attr attributes{};
    if (!context || ibv_query_device(context.get(), &attributes) != 0) {
      devices.push_back({name, 1, "", false, false, "cannot be opened: " + Reason(errno)});
      continue;
    }
    for (uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
      ibv_port_attr port{};
      SniffableDevice device{name, number, "", false, false, ""};
      if (ibv_query_port(context.get(), number, &port) == 0) {
        device.link = port.link_layer == IBV_LINK_LAYER_INFINIBAND ? "InfiniBand" : "Ethernet";
        device.active = port.state == IBV_PORT_ACTIVE;
      }
      SnifferOptions options;
      options.device = name;
      options.port = number;
      options.buffer = 64 * kSlot;
      const auto opened = OpenVerbsSniffer(options);
      device.usable = opened.has_value();
      device.reason = opened ? "sniffer flow, offloaded traffic included" : opened.error().message;
      devices.push_back(std::move(device));
    }
  }
  if (list) ibv_free_device_list(list);
  return devices;
}

}  // namespace stag::capture
