// SPDX-License-Identifier: GPL-2.0-or-later
//
// What librdmacm gives programs. A connection of the manager is a local socket between both sides, whose end is the
// sign that one of them went; a port is its name. Every loopback address is the device's.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <set>

#include "tests/null_verbs/device.h"

namespace stag::null_verbs {
namespace {

// As InfiniBand's connection manager pads them.
constexpr size_t kRequestRoom = 56, kReplyRoom = 196, kRejectRoom = 148;
constexpr int kNoListener = 8, kTimeout = 4, kRefused = 28;  // reasons of a REJ (IBA section 12.6.7.2)

enum class Kind : uint32_t { kRequest, kReply, kReject, kReady, kDisconnect, kDisconnectReply };

struct Message {
  Kind kind = Kind::kRequest;
  uint32_t pair = 0;
  uint8_t responder_resources = 0, initiator_depth = 0, rnr_retries = 0, private_size = 0;
  std::array<std::byte, 256> private_data{};
  sockaddr_storage from{}, to{};
};

struct Event {
  rdma_cm_event event{};
  std::array<std::byte, 256> private_data{};
};

struct NullId;
struct Channel {
  rdma_event_channel channel{};  // its descriptor: epoll, of the ids' sockets and of `wake`
  int wake = -1;
  std::deque<std::unique_ptr<Event>> events;
};

enum class State : uint8_t { kIdle, kListening, kAsked, kAnswering, kAsking, kAccepted, kConnected, kOver };

struct NullId {
  rdma_cm_id id{};
  State state = State::kIdle;
  int socket = -1;
  bool hidden = false;               // the program does not know of it yet
  bool left = false;                 // the program has disconnected
  bool disconnect_reported = false;  // to the program
  Message request;                   // of the peer
};

std::mutex& Guard() {
  static std::mutex& guard = *new std::mutex;
  return guard;
}
std::set<NullId*>& Ids() {
  static std::set<NullId*>& ids = *new std::set<NullId*>;
  return ids;
}
NullId& Of(rdma_cm_id* id) { return *reinterpret_cast<NullId*>(id); }
Channel& Of(rdma_event_channel* channel) { return *reinterpret_cast<Channel*>(channel); }

int Fail(int error) {
  errno = error;
  return -1;
}

// The name of a port: families have their own.
socklen_t Name(int family, uint16_t port, sockaddr_un& name) {
  const char* const fabric = std::getenv("STAG_NULL_VERBS");
  name = {};
  name.sun_family = AF_UNIX;
  // Without a fabric of several processes, the process's own.
  const size_t of = fabric ? std::hash<std::string_view>()(fabric) : Self();
  const int n = std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "stag-null-verbs.%zx.%d.%u", of,
                              family == AF_INET6 ? 6 : 4, port);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
}

uint16_t& PortOf(sockaddr_storage& address) {
  return address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(address).sin_port;
}
sockaddr_storage Stored(const sockaddr& address) {
  sockaddr_storage stored{};
  std::memcpy(&stored, &address, address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
  return stored;
}
bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}
bool IsAny(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) return reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == 0;
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
}

void Attach(NullId& id) {
  id.id.verbs = ManagerContext();
  id.id.port_num = 1;
}

void Watch(NullId& id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &id;
  (void)::epoll_ctl(id.id.channel->fd, EPOLL_CTL_ADD, id.socket, &event);
}
void Unwatch(NullId& id) {
  if (id.socket >= 0) (void)::epoll_ctl(id.id.channel->fd, EPOLL_CTL_DEL, id.socket, nullptr);
}

// ---------------------------------------------------------------------------------------------------- events, messages

// Adds an event to the id's channel.
Event& Report(NullId& id, rdma_cm_event_type type, int status = 0) {
  Channel& channel = Of(id.id.channel);
  auto event = std::make_unique<Event>();
  event->event.id = &id.id;
  event->event.event = type;
  event->event.status = status;
  channel.events.push_back(std::move(event));
  if (channel.events.size() == 1) (void)::eventfd_write(channel.wake, 1);
  return *channel.events.back();
}
// With the private data of `message`, padded to `room` bytes.
Event& Report(NullId& id, rdma_cm_event_type type, int status, const Message& message, size_t room) {
  Event& event = Report(id, type, status);
  event.private_data = message.private_data;
  rdma_conn_param& conn = event.event.param.conn;
  conn.private_data = event.private_data.data();
  conn.private_data_len = static_cast<uint8_t>(room);
  // What the peer issues, this side serves.
  conn.responder_resources = message.initiator_depth;
  conn.initiator_depth = message.responder_resources;
  conn.rnr_retry_count = message.rnr_retries;
  conn.qp_num = message.pair;
  return event;
}
void ReportDisconnect(NullId& id) {
  if (!id.disconnect_reported) Report(id, RDMA_CM_EVENT_DISCONNECTED);
  id.disconnect_reported = true;
}

void Send(NullId& id, const Message& message) { (void)::send(id.socket, &message, sizeof message, MSG_NOSIGNAL); }
void Send(NullId& id, Kind kind) {
  Message message;
  message.kind = kind;
  Send(id, message);
}

bool Fill(Message& message, const rdma_cm_id& id, const rdma_conn_param* param, size_t room) {
  if (id.qp) message.pair = id.qp->qp_num;
  if (!param) return true;
  if (param->private_data_len > room) return false;
  message.responder_resources = param->responder_resources;
  message.initiator_depth = param->initiator_depth;
  message.rnr_retries = param->rnr_retry_count;
  message.private_size = param->private_data_len;
  if (param->private_data_len > 0)
    std::memcpy(message.private_data.data(), param->private_data, param->private_data_len);
  return true;
}

void Accept(NullId& listener) {
  for (;;) {
    const int fd = ::accept4(listener.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    auto* const id = new NullId;
    id->id.channel = listener.id.channel;
    id->id.context = listener.id.context;
    id->id.ps = listener.id.ps;
    id->id.qp_type = IBV_QPT_RC;
    id->state = State::kAsked;
    id->socket = fd;
    id->hidden = true;
    Ids().insert(id);
    Watch(*id);
  }
}

void OnMessage(NullId& id, const Message& message) {
  switch (message.kind) {
    case Kind::kRequest:
      if (id.state != State::kAsked) return;
      id.state = State::kAnswering;
      id.hidden = false;
      id.request = message;
      Attach(id);
      id.id.route.addr.src_storage = message.to;
      id.id.route.addr.dst_storage = message.from;
      Report(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, message, kRequestRoom);
      return;
    case Kind::kReply:
      if (id.state != State::kAsking) return;
      id.state = State::kConnected;
      if (id.id.qp) ConnectPair(id.id.qp, message.pair, message.rnr_retries, id.request.responder_resources);
      Send(id, Kind::kReady);
      Report(id, RDMA_CM_EVENT_ESTABLISHED, 0, message, kReplyRoom);
      return;
    case Kind::kReject:
      if (id.state != State::kAsking) return;
      id.state = State::kOver;
      Report(id, RDMA_CM_EVENT_REJECTED, kRefused, message, kRejectRoom);
      return;
    case Kind::kReady:
      if (id.state != State::kAccepted) return;
      id.state = State::kConnected;
      Report(id, RDMA_CM_EVENT_ESTABLISHED);
      return;
    case Kind::kDisconnect:
    case Kind::kDisconnectReply: ReportDisconnect(id); return;
  }
}

void OnEnd(NullId& id) {
  Unwatch(id);
  switch (id.state) {
    case State::kAsked:
      Ids().erase(&id);
      (void)::close(id.socket);
      delete &id;
      return;
    case State::kAsking: Report(id, RDMA_CM_EVENT_REJECTED, kRefused, {}, kRejectRoom); break;
    case State::kAccepted: Report(id, RDMA_CM_EVENT_REJECTED, kTimeout, {}, kRejectRoom); break;
    case State::kConnected: ReportDisconnect(id); break;
    default: break;
  }
  if (id.state != State::kAnswering) id.state = State::kOver;
}

void Look(NullId& id) {
  if (id.state == State::kListening) return Accept(id);
  Message message;
  const ssize_t n = ::recv(id.socket, &message, sizeof message, MSG_DONTWAIT);
  if (n == sizeof message) return OnMessage(id, message);
  if (n >= 0 || (errno != EAGAIN && errno != EINTR)) OnEnd(id);
}

// A socket with the name of a port; 0: of any that is free.
int BindSocket(NullId& id) {
  sockaddr_storage& address = id.id.route.addr.src_storage;
  const bool any = PortOf(address) == 0;
  id.socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  for (int tries = 0; id.socket >= 0 && tries < 1000; ++tries) {
    if (any)
      PortOf(address) =
          htons(static_cast<uint16_t>(32768 + (Self() * 31 + static_cast<uint32_t>(std::rand())) % 28000));
    sockaddr_un name;
    const socklen_t size = Name(address.ss_family, ntohs(PortOf(address)), name);
    if (::bind(id.socket, reinterpret_cast<const sockaddr*>(&name), size) == 0) return 0;
    if (!any || errno != EADDRINUSE) break;
  }
  return -1;
}

}  // namespace

void CutConnection(const ibv_qp* qp) {
  const std::lock_guard lock(Guard());
  for (NullId* const id : Ids()) {
    if (id->id.qp != qp) continue;
    (void)::shutdown(id->socket, SHUT_RDWR);
    ReportDisconnect(*id);
  }
}

void ReportRemoval() {
  const std::lock_guard lock(Guard());
  for (NullId* const id : Ids())
    if (!id->hidden && id->id.verbs) Report(*id, RDMA_CM_EVENT_DEVICE_REMOVAL);
}

}  // namespace stag::null_verbs

// -------------------------------------------------------------------------------------------------------- as librdmacm

using namespace stag::null_verbs;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  auto* const channel = new Channel;
  channel->channel.fd = ::epoll_create1(EPOLL_CLOEXEC);
  channel->wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  (void)::epoll_ctl(channel->channel.fd, EPOLL_CTL_ADD, channel->wake, &event);
  return &channel->channel;
}
void rdma_destroy_event_channel(rdma_event_channel* channel) {
  (void)::close(Of(channel).wake);
  (void)::close(channel->fd);
  delete &Of(channel);
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** out, void* context, rdma_port_space ps) {
  if (!channel || ps != RDMA_PS_TCP) return Fail(EOPNOTSUPP);
  auto* const id = new NullId;
  id->id.channel = channel;
  id->id.context = context;
  id->id.ps = ps;
  id->id.qp_type = IBV_QPT_RC;
  *out = &id->id;
  const std::lock_guard lock(Guard());
  Ids().insert(id);
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  Unwatch(own);
  if (own.socket >= 0) (void)::close(own.socket);
  Channel& channel = Of(id->channel);
  std::erase_if(channel.events, [&](const auto& event) { return event->event.id == id; });
  Ids().erase(&own);
  delete &own;
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  const sockaddr_storage stored = Stored(*address);
  if (!IsLoopback(stored) && !IsAny(stored)) return Fail(ENODEV);
  id->route.addr.src_storage = stored;
  if (!IsAny(stored)) Attach(own);
  return BindSocket(own);
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  if (own.socket < 0 || ::listen(own.socket, backlog > 0 ? backlog : 128) != 0) return Fail(EINVAL);
  own.state = State::kListening;
  Watch(own);
  return 0;
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* to, int) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  id->route.addr.dst_storage = Stored(*to);
  if (!IsLoopback(id->route.addr.dst_storage)) {
    Report(own, RDMA_CM_EVENT_ADDR_ERROR, -ENODEV);
    return 0;
  }
  if (source) id->route.addr.src_storage = Stored(*source);
  sockaddr_storage& from = id->route.addr.src_storage;
  if (from.ss_family == 0 || IsAny(from)) {
    const uint16_t port = from.ss_family == 0 ? uint16_t{0} : PortOf(from);
    from = id->route.addr.dst_storage;
    PortOf(from) = port;
  }
  if (PortOf(from) == 0) PortOf(from) = htons(static_cast<uint16_t>(32768 + std::rand() % 28000));
  Attach(own);
  Report(own, RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}

int rdma_resolve_route(rdma_cm_id* id, int) {
  const std::lock_guard lock(Guard());
  Report(Of(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* init) {
  if (!pd || !id->verbs) return Fail(EINVAL);
  ibv_qp* const qp = ::ibv_create_qp(pd, init);
  if (!qp) return -1;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  (void)::ibv_modify_qp(qp, &attr, IBV_QP_STATE);
  const std::lock_guard lock(Guard());
  id->qp = qp;
  id->pd = pd;
  return 0;
}
void rdma_destroy_qp(rdma_cm_id* id) {
  ibv_qp* qp = nullptr;
  {
    const std::lock_guard lock(Guard());
    std::swap(qp, id->qp);
  }
  (void)::ibv_destroy_qp(qp);
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  Message request;
  if (!Fill(request, *id, param, kRequestRoom)) return Fail(EINVAL);
  request.from = id->route.addr.src_storage;
  request.to = id->route.addr.dst_storage;
  if (own.socket >= 0) (void)::close(own.socket);
  own.socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_un name;
  const socklen_t size = Name(request.to.ss_family, ntohs(PortOf(request.to)), name);
  if (own.socket < 0) return -1;
  if (::connect(own.socket, reinterpret_cast<const sockaddr*>(&name), size) != 0) {
    own.state = State::kOver;
    const bool full = errno == EAGAIN;
    if (full)
      Report(own, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    else
      Report(own, RDMA_CM_EVENT_REJECTED, kNoListener, {}, kRejectRoom);
    return 0;
  }
  own.state = State::kAsking;
  own.request = request;
  Watch(own);
  Send(own, request);
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  Message reply;
  reply.kind = Kind::kReply;
  if (own.state != State::kAnswering || !Fill(reply, *id, param, kReplyRoom)) return Fail(EINVAL);
  own.state = State::kAccepted;
  if (id->qp) ConnectPair(id->qp, own.request.pair, own.request.rnr_retries, reply.responder_resources);
  Send(own, reply);
  return 0;
}

int rdma_reject(rdma_cm_id* id, const void* private_data, uint8_t size) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  if (size > kRejectRoom || own.state != State::kAnswering) return Fail(EINVAL);
  Message reject;
  reject.kind = Kind::kReject;
  if (size > 0) std::memcpy(reject.private_data.data(), private_data, size);
  Send(own, reject);
  own.state = State::kOver;
  return 0;
}

int rdma_disconnect(rdma_cm_id* id) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  if (id->qp) StopPair(id->qp);
  if (own.left) return 0;
  own.left = true;
  Send(own, own.disconnect_reported ? Kind::kDisconnectReply : Kind::kDisconnect);
  return 0;
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  if (event != IBV_EVENT_COMM_EST) return Fail(EINVAL);
  if (own.state != State::kAccepted) return 0;
  own.state = State::kConnected;
  Report(own, RDMA_CM_EVENT_ESTABLISHED);
  return 0;
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  NullId& own = Of(id);
  const std::lock_guard lock(Guard());
  Unwatch(own);
  auto& from = Of(id->channel).events;
  auto& to = Of(channel).events;
  for (auto it = from.begin(); it != from.end();) {
    if ((*it)->event.id != id) {
      ++it;
      continue;
    }
    to.push_back(std::move(*it));
    it = from.erase(it);
    (void)::eventfd_write(Of(channel).wake, 1);
  }
  id->channel = channel;
  if (own.socket >= 0) Watch(own);
  return 0;
}

int rdma_set_option(rdma_cm_id*, int, int, void*, size_t) { return 0; }

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** out) {
  Channel& own = Of(channel);
  *out = nullptr;
  for (;;) {
    {
      const std::lock_guard lock(Guard());
      std::array<epoll_event, 16> ready;
      const int n = own.events.empty() ? ::epoll_wait(channel->fd, ready.data(), ready.size(), 0) : 0;
      for (int i = 0; i < n; ++i)
        if (void* const id = ready[static_cast<size_t>(i)].data.ptr) Look(*static_cast<NullId*>(id));
      if (!own.events.empty()) {
        *out = &own.events.front().release()->event;
        own.events.pop_front();
      }
      eventfd_t count = 0;
      if (own.events.empty()) (void)::eventfd_read(own.wake, &count);
      if (*out) return 0;
    }
    if (::fcntl(channel->fd, F_GETFL) & O_NONBLOCK) return Fail(EAGAIN);
    pollfd fd{channel->fd, POLLIN, 0};
    (void)::poll(&fd, 1, -1);
  }
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  delete reinterpret_cast<Event*>(event);
  return 0;
}

}  // extern "C"
