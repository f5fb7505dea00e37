// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connecting and listening through the connection manager.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "replay/endpoint/verbs.h"
#include "replay/endpoint/verbs_endpoint.h"
#include "replay/endpoint/verbs_trouble.h"
#include "session/fabric/names.h"

namespace stag::endpoint {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kBacklog = 256;
constexpr int kEvents = 64;  // of other kinds, before others than the listener are looked after

std::string Name(const sockaddr_storage& address) {
  return fabric::EndpointText(FromSocketAddress(address), fabric::FabricKind::kIwarp);
}

Result<Owned<rdma_event_channel>> MakeChannel() {
  Owned<rdma_event_channel> channel(::rdma_create_event_channel());
  if (!channel) return Fail(WhyNoChannel(errno));
  (void)::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  return channel;
}

Result<Owned<rdma_cm_id>> MakeId(rdma_event_channel* channel) {
  rdma_cm_id* id = nullptr;
  if (::rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) return Fail("no RDMA CM id: " + ErrorText(errno));
  return Owned<rdma_cm_id>(id);
}

bool WaitFor(int fd, Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30))) > 0;
}

// ---------------------------------------------------------------------------------------------------------- listening

class VerbsIncoming final : public Incoming {
 public:
  VerbsIncoming(Owned<rdma_cm_id> id, const rdma_conn_param& asked) : id_(std::move(id)), asked_(asked) {
    const auto* const bytes = static_cast<const std::byte*>(asked.private_data);
    if (bytes) private_data_.assign(bytes, bytes + asked.private_data_len);
    asked_.private_data = nullptr;
  }
  ~VerbsIncoming() override {
    if (id_) (void)::rdma_reject(id_.get(), nullptr, 0);
  }

  Bytes private_data() const override { return private_data_; }
  std::string peer() const override { return id_ ? Name(id_->route.addr.dst_storage) : std::string(); }

  Result<std::unique_ptr<Endpoint>> Accept(const EndpointOptions& options) override {
    if (!id_) return Fail("this peer was answered already");
    const std::string who = peer();
    const auto device = VerbsDevice::Of(id_->verbs);
    if (!device) return tl::unexpected(device.error());
    if (options.private_data.size() > device->reply_room())
      return Fail(fmt::format("private data has at most {} bytes", device->reply_room()));
    auto channel = MakeChannel();
    if (!channel) return tl::unexpected(channel.error());
    // Until it has a queue pair, an id that is dropped says nothing to the peer.
    if (::rdma_migrate_id(id_.get(), channel->get()) != 0) return Fail(who + " has gone: " + ErrorText(errno));
    auto endpoint = VerbsEndpoint::Make(std::move(*channel), std::move(id_), false, options);
    if (!endpoint) return Fail(who + " cannot be answered: " + endpoint.error().message);
    if (auto accepted = (*endpoint)->Accept(asked_, private_data_); !accepted)
      return Fail(who + " hung up before it was answered: " + accepted.error().message);
    return endpoint;
  }

  void Reject(Bytes private_data) override {
    if (!id_) return;
    (void)::rdma_reject(id_.get(), private_data.data(),
                        static_cast<uint8_t>(std::min<size_t>(private_data.size(), 148)));
    id_.reset();
  }

 private:
  Owned<rdma_cm_id> id_;
  rdma_conn_param asked_;
  std::vector<std::byte> private_data_;
};

class VerbsListener final : public Listener {
 public:
  VerbsListener(Owned<rdma_event_channel> channel, std::vector<Owned<rdma_cm_id>> ids, uint16_t port)
      : channel_(std::move(channel)), ids_(std::move(ids)), port_(port) {}

  uint16_t port() const override { return port_; }
  int descriptor() const override { return channel_->fd; }

  Result<std::unique_ptr<Incoming>> Wait(milliseconds wait) override {
    const Clock::time_point until = Clock::now() + wait;
    for (int left = kEvents;;) {
      auto event = NextCmEvent(channel_.get());
      if (!event && IsShortage(errno)) {
        shortage_ = "cannot accept connections: " + ErrorText(errno);
        return std::unique_ptr<Incoming>();
      }
      if (!event && errno != EAGAIN && errno != EINTR) return Fail("cannot accept connections: " + ErrorText(errno));
      if (event && event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        return std::make_unique<VerbsIncoming>(Owned<rdma_cm_id>(event->id), event->param.conn);
      if (event && event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) return Fail("the RDMA device was removed");
      if (event && --left > 0) continue;
      if (Clock::now() >= until || !WaitFor(channel_->fd, until)) return std::unique_ptr<Incoming>();
    }
  }
  std::string TakeShortage() override { return std::exchange(shortage_, {}); }

 private:
  Owned<rdma_event_channel> channel_;
  std::vector<Owned<rdma_cm_id>> ids_;
  const uint16_t port_;
  std::string shortage_;
};

// --------------------------------------------------------------------------------------------------------- connecting

// What came of each address that was tried; the last one that answered may have said yes.
class VerbsOutgoing final : public Outgoing {
 public:
  void Failed(std::string why) { tried_.push_back({std::move(why), nullptr}); }
  void Answered(std::string name, std::unique_ptr<VerbsEndpoint> endpoint) {
    tried_.push_back({std::move(name), std::move(endpoint)});
  }

  Result<std::unique_ptr<Endpoint>> Finish() override {
    std::string all;
    for (Tried& tried : tried_) {
      std::string why = tried.text;
      if (tried.endpoint) {
        const auto finished = tried.endpoint->Finish();
        if (finished) return std::move(tried.endpoint);
        why += ": " + finished.error().message;
      }
      all += (all.empty() ? "" : "; ") + why;
    }
    return Fail(all);
  }

 private:
  struct Tried {
    std::string text;  // why not; or the address that answered
    std::unique_ptr<VerbsEndpoint> endpoint;
  };
  std::vector<Tried> tried_;
};

class VerbsTransport final : public Transport {
 public:
  VerbsTransport(std::string device, const VerbsDevice& abilities)
      : device_(std::move(device)), abilities_(abilities) {}

  std::string name() const override { return device_; }
  size_t max_private_data() const override { return abilities_.request_room(); }
  // No user-space program can make a memory region that a Send with Invalidate may invalidate; a window can be.
  bool remote_invalidation() const override { return abilities_.windows; }

  std::unique_ptr<Outgoing> Dial(const HostPort& to, const EndpointOptions& options) override {
    auto outgoing = std::make_unique<VerbsOutgoing>();
    if (options.private_data.size() > max_private_data()) {
      outgoing->Failed(fmt::format("private data has at most {} bytes", max_private_data()));
      return outgoing;
    }
    const Clock::time_point deadline = Clock::now() + options.connect_timeout;
    auto addresses = Resolve(to, false);
    if (!addresses) {
      outgoing->Failed(addresses.error().message);
      return outgoing;
    }
    for (const addrinfo* a = addresses->first; a; a = a->ai_next) {
      const std::string name = fabric::EndpointText(EndOf(*a), fabric::FabricKind::kIwarp);
      auto endpoint = Reach(*a, options, deadline);
      const Result<bool> answer =
          endpoint ? (*endpoint)->Ask(deadline) : Result<bool>(tl::unexpected(endpoint.error()));
      if (answer) {
        outgoing->Answered(name, std::move(*endpoint));
        if (*answer) break;
      } else {
        outgoing->Failed(name + ": " + answer.error().message);
      }
    }
    return outgoing;
  }

  Result<std::unique_ptr<Listener>> Listen(const HostPort& at) override {
    auto channel = MakeChannel();
    if (!channel) return tl::unexpected(channel.error());
    std::vector<Owned<rdma_cm_id>> ids;
    uint16_t port = at.port;
    std::string why;
    // Every address: an id for each family, where there is one.
    const std::vector<std::string> hosts =
        at.host.empty() ? std::vector<std::string>{"0.0.0.0", "::"} : std::vector<std::string>{at.host};
    for (const std::string& host : hosts) {
      auto addresses = Resolve({host, port}, true);
      if (!addresses) {
        why = addresses.error().message;
        continue;
      }
      for (const addrinfo* a = addresses->first; a; a = a->ai_next) {
        auto id = ListenAt(channel->get(), *a);
        if (id) {
          port = ntohs(::rdma_get_src_port(id->get()));
          ids.push_back(std::move(*id));
          break;
        }
        why = id.error().message;
      }
    }
    if (ids.empty()) return Fail(why);
    return std::make_unique<VerbsListener>(std::move(*channel), std::move(ids), port);
  }

 private:
  static Result<Owned<rdma_cm_id>> ListenAt(rdma_event_channel* channel, const addrinfo& address) {
    auto id = MakeId(channel);
    if (!id) return id;
    int only = 1;
    if (address.ai_family == AF_INET6)
      (void)::rdma_set_option(id->get(), RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof only);
    if (::rdma_bind_addr(id->get(), address.ai_addr) == 0 && ::rdma_listen(id->get(), kBacklog) == 0) return id;
    const bool none = errno == ENODEV || errno == EADDRNOTAVAIL;
    return Fail("cannot listen at " + fabric::EndpointText(EndOf(address), fabric::FabricKind::kIwarp) + ": " +
                (none ? "no RDMA device has this address" : ErrorText(errno)));
  }

  // The next event, which has to be `wanted`.
  static Result<void> Expect(rdma_event_channel* channel, rdma_cm_event_type wanted, Clock::time_point deadline) {
    for (;;) {
      const auto event = NextCmEvent(channel);
      if (!event && !WaitFor(channel->fd, deadline)) return Fail("no answer in time");
      if (event && event->event != wanted) return Fail(WhyNotConnected(event->event, event->status, {}, false));
      if (event) return {};
    }
  }

  // An endpoint that only has to ask.
  Result<std::unique_ptr<VerbsEndpoint>> Reach(const addrinfo& address, const EndpointOptions& options,
                                               Clock::time_point deadline) {
    auto channel = MakeChannel();
    if (!channel) return tl::unexpected(channel.error());
    auto id = MakeId(channel->get());
    if (!id) return tl::unexpected(id.error());
    const auto left = [&] {
      return static_cast<int>(
          std::clamp<int64_t>(std::chrono::ceil<milliseconds>(deadline - Clock::now()).count(), 1, 1 << 30));
    };
    const auto fail = [&](rdma_cm_event_type step) { return Fail(WhyNotConnected(step, -errno, {}, false)); };
    if (::rdma_resolve_addr(id->get(), nullptr, address.ai_addr, left()) != 0) return fail(RDMA_CM_EVENT_ADDR_ERROR);
    if (auto resolved = Expect(channel->get(), RDMA_CM_EVENT_ADDR_RESOLVED, deadline); !resolved)
      return tl::unexpected(resolved.error());
    const std::string through = ::ibv_get_device_name((*id)->verbs->device);
    if (through != device_)
      return Fail(fmt::format("it is reached through the device {}, not through {} (--transport {} takes that)",
                              through, device_, through));
    if (::rdma_resolve_route(id->get(), left()) != 0) return fail(RDMA_CM_EVENT_ROUTE_ERROR);
    if (auto resolved = Expect(channel->get(), RDMA_CM_EVENT_ROUTE_RESOLVED, deadline); !resolved)
      return tl::unexpected(resolved.error());
    return VerbsEndpoint::Make(std::move(*channel), std::move(*id), true, options);
  }

  const std::string device_;
  const VerbsDevice abilities_;
};

// The devices that the libraries know; the kernel may have one for which there is no library.
struct DeviceList {
  int count = 0;
  ibv_device** all = ::ibv_get_device_list(&count);
  ~DeviceList() {
    if (all) ::ibv_free_device_list(all);
  }
};

}  // namespace

bool VerbsBuilt() { return true; }

Result<std::unique_ptr<Transport>> MakeVerbs(const std::string& device) {
  const DeviceList list;
  for (int i = 0; i < list.count; ++i) {
    if (::ibv_get_device_name(list.all[i]) != device) continue;
    const Owned<ibv_context> context(::ibv_open_device(list.all[i]));
    if (!context) return Fail(fmt::format("{} cannot be opened: {}", device, ErrorText(errno)));
    const auto abilities = VerbsDevice::Of(context.get());
    if (!abilities) return tl::unexpected(abilities.error());
    if (auto channel = MakeChannel(); !channel) return tl::unexpected(channel.error());
    return std::make_unique<VerbsTransport>(device, *abilities);
  }
  return Fail(
      fmt::format("{} cannot be used: the verbs library does not know it. Load the kernel module ib_uverbs, and "
                  "install the device's part of the library (Debian: ibverbs-providers)",
                  device));
}

}  // namespace stag::endpoint
