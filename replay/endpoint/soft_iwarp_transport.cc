// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connecting and listening: TCP, then the MPA set-up.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include <cerrno>
#include <deque>

#include "replay/endpoint/soft_iwarp_endpoint.h"
#include "session/fabric/names.h"

namespace stag::endpoint {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kMaxPending = 256;  // peers that have connected and not asked for anything
constexpr int kAccepts = 64;

std::string Name(const stag::Endpoint& end) { return fabric::EndpointText(end, fabric::FabricKind::kIwarp); }

microseconds Until(Clock::time_point deadline) {
  return std::max(std::chrono::ceil<microseconds>(deadline - Clock::now()), microseconds(0));
}

std::string WhyNotReached(int error) {
  if (error == ECONNREFUSED) return "nothing listens there (connection refused)";
  if (error == EINPROGRESS || error == ETIMEDOUT) return "no answer in time";
  return ErrorText(error);
}

size_t MaxPrivateData(const SoftIwarpOptions& own) {
  return iwarp::kMaxPrivateData - (own.revision >= 2 ? iwarp::kEnhancedPrefixSize : 0);
}

bool SendFrame(ByteStream& stream, const iwarp::MpaFrame& frame) {
  std::vector<std::byte> bytes;
  iwarp::EncodeMpaFrame(frame, bytes);
  // The first bytes on a new connection: there is room for all of them.
  const iovec piece{bytes.data(), bytes.size()};
  return stream.Send(std::span(&piece, 1)).bytes == bytes.size();
}

void ReportReject(EventLog& log, const SocketEnds& ends, const iwarp::MpaFrame& request, const iwarp::MpaFrame& reply) {
  fabric::ConnectionInfo info;
  log.OpenConnection(info);
  info.fabric = fabric::FabricKind::kIwarp;
  info.endpoint = {ends.local, ends.peer};
  info.roles_known = true;
  info.service_port = static_cast<uint16_t>(ends.peer.number);
  SoftIwarpEvents events(log, info, false);
  events.OnSetup(request);
  events.OnSetup(reply);
  events.OnClosed(fabric::CloseReason::kRejected, 1);
}

// ---------------------------------------------------------------------------------------------------------- listening

class SoftIwarpIncoming final : public Incoming {
 public:
  SoftIwarpIncoming(const SoftIwarpOptions& own, std::unique_ptr<TcpStream> stream, const SetupReader& setup)
      : own_(own), stream_(std::move(stream)), setup_(setup), request_(setup_.frame()) {
    // The private data is a view into the reader, which moved.
    request_.private_data = Bytes(setup_.bytes()).last(request_.private_data.size());
  }

  Bytes private_data() const override { return request_.private_data; }
  std::string peer() const override { return stream_ ? Name(stream_->ends().peer) : std::string(); }
  bool gone() const override {
    std::byte next;
    const ssize_t n = stream_ ? ::recv(stream_->descriptor(), &next, 1, MSG_PEEK | MSG_DONTWAIT) : 0;
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }

  Result<std::unique_ptr<Endpoint>> Accept(const EndpointOptions& options) override {
    if (!stream_) return Fail("this peer was answered already");
    const size_t room = iwarp::kMaxPrivateData - (request_.enhanced ? iwarp::kEnhancedPrefixSize : 0);
    if (options.private_data.size() > room) return Fail(fmt::format("private data has at most {} bytes", room));
    Terms terms;
    const iwarp::MpaFrame reply = MakeReply(own_, options, request_, terms);
    const SocketEnds ends = stream_->ends();
    if (!SendFrame(*stream_, reply)) return Fail(Name(ends.peer) + " hung up before it was answered");
    return std::make_unique<SoftIwarpEndpoint>(std::move(stream_), ends, terms, request_, reply, options, own_);
  }

  void Reject(Bytes private_data) override {
    if (!stream_) return;
    (void)SendFrame(*stream_, MakeReject(request_, private_data));
    stream_.reset();
  }

 private:
  const SoftIwarpOptions own_;
  std::unique_ptr<TcpStream> stream_;
  SetupReader setup_;
  iwarp::MpaFrame request_;
};

// Reads the requests of several peers at a time, so that a slow one keeps nobody waiting.
class SoftIwarpListener final : public Listener {
 public:
  SoftIwarpListener(const SoftIwarpOptions& own, Descriptor socket, Descriptor epoll, uint16_t port)
      : own_(own), socket_(std::move(socket)), epoll_(std::move(epoll)), port_(port) {}

  uint16_t port() const override { return port_; }
  int descriptor() const override { return epoll_.get(); }

  Result<std::unique_ptr<Incoming>> Wait(milliseconds wait) override {
    const Clock::time_point until = Clock::now() + wait;
    for (;;) {
      AcceptAll();
      if (auto incoming = Advance()) return incoming;
      const Clock::time_point now = Clock::now();
      if (now >= until || !shortage_.empty()) return std::unique_ptr<Incoming>();
      Clock::time_point wake = until;
      if (!pending_.empty()) wake = std::min(wake, pending_.front().deadline);
      const auto ms = std::chrono::ceil<milliseconds>(wake - now).count();
      epoll_event event{};
      (void)::epoll_wait(epoll_.get(), &event, 1, static_cast<int>(std::clamp<int64_t>(ms, 0, 1 << 30)));
    }
  }

  std::string TakeShortage() override { return std::exchange(shortage_, {}); }

 private:
  struct Pending {
    std::unique_ptr<TcpStream> stream;
    std::unique_ptr<SetupReader> setup;
    Clock::time_point deadline;
  };

  void Short(int error) { shortage_ = "cannot accept connections: " + ErrorText(error); }

  // Not more than kAccepts at a time: those that have connected have their turn, too.
  void AcceptAll() {
    for (int n = 0; n < kAccepts; ++n) {
      Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        if (IsShortage(errno)) return Short(errno);
        continue;  // a peer that has gone already
      }
      if (pending_.size() == kMaxPending) pending_.pop_front();  // the slowest
      epoll_event event{};
      event.events = EPOLLIN;
      if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) return Short(errno);
      Pending peer;
      peer.stream = std::make_unique<TcpStream>(std::move(socket), own_.peer_timeout);
      peer.setup = std::make_unique<SetupReader>(iwarp::MpaFrame::Kind::kRequest);
      peer.deadline = Clock::now() + own_.close_timeout;
      pending_.push_back(std::move(peer));
    }
  }

  // The first peer whose request is there; those that send something else, or nothing, are hung up on.
  std::unique_ptr<Incoming> Advance() {
    for (auto p = pending_.begin(); p != pending_.end();) {
      const SetupReader::Status status = p->setup->Receive(*p->stream);
      if (status == SetupReader::Status::kMore && Clock::now() < p->deadline) {
        ++p;
        continue;
      }
      Pending done = std::move(*p);
      p = pending_.erase(p);
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, done.stream->descriptor(), nullptr);
      if (status != SetupReader::Status::kDone) continue;
      if (done.setup->frame().revision > 2) {  // RFC 5044 section 7.1.1: it may ask again with what we have
        (void)SendFrame(*done.stream, MakeReject(done.setup->frame(), {}));
        continue;
      }
      return std::make_unique<SoftIwarpIncoming>(own_, std::move(done.stream), *done.setup);
    }
    return nullptr;
  }

  const SoftIwarpOptions own_;
  Descriptor socket_, epoll_;
  const uint16_t port_;
  std::deque<Pending> pending_;  // by deadline
  std::string shortage_;
};

// --------------------------------------------------------------------------------------------------------- connecting

class SoftIwarpOutgoing final : public Outgoing {
 public:
  SoftIwarpOutgoing(const SoftIwarpOptions& own, const EndpointOptions& options) : own_(own), options_(options) {}

  void Ask(const HostPort& to, uint8_t revision, Clock::time_point deadline) {
    const size_t room = MaxPrivateData(own_);
    if (options_.private_data.size() > room) {
      why_ = fmt::format("private data has at most {} bytes", room);
      return;
    }
    if (auto connected = ConnectTcp(to, deadline); !connected) {
      why_ = connected.error().message;
      return;
    }
    peer_ = Name(stream_->ends().peer);
    request_ = MakeRequest(own_, options_, revision);
    if (!SendFrame(*stream_, request_)) {
      why_ = peer_ + " hung up at once";
      return;
    }
    SetupReader::Status status;
    while ((status = setup_.Receive(*stream_)) == SetupReader::Status::kMore) {
      if (Wait(POLLIN, deadline)) continue;
      why_ = cancelled_ ? "interrupted" : peer_ + " took the TCP connection and did not answer the MPA request in time";
      return;
    }
    // RFC 6581 section 10: who knows only revision 1 may hang up on revision 2.
    const bool hung_up = status == SetupReader::Status::kBad && setup_.bytes().empty();
    const bool older = status == SetupReader::Status::kDone && setup_.frame().reject && setup_.frame().revision == 1;
    old_peer_ = revision > 1 && (hung_up || older);
    if (status == SetupReader::Status::kBad) why_ = peer_ + " did not answer the MPA request: " + setup_.why();
  }
  // No error of the peer's but that it knows only revision 1.
  bool old_peer() const { return old_peer_; }

  Result<std::unique_ptr<Endpoint>> Finish() override {
    if (!why_.empty()) return Fail(why_);
    const iwarp::MpaFrame& reply = setup_.frame();
    const SocketEnds ends = stream_->ends();
    if (reply.reject) {
      if (options_.events) ReportReject(*options_.events, ends, request_, reply);
      return Fail(peer_ + " rejected the connection" +
                  (reply.private_data.empty() ? std::string() : ", private data " + Hex(reply.private_data)));
    }
    const Terms terms = FromReply(request_, reply, options_);
    auto endpoint =
        std::make_unique<SoftIwarpEndpoint>(std::move(stream_), ends, terms, request_, reply, options_, own_);
    if (terms.terminate_code == 0) return endpoint;
    endpoint->Object(terms);
    return Fail(peer_ + " answered what cannot be agreed to: " + terms.objection);
  }

 private:
  // The TCP connection. Each address gets what is left of the time.
  Result<void> ConnectTcp(const HostPort& to, Clock::time_point deadline) {
    auto addresses = Resolve(to, false);
    if (!addresses) return tl::unexpected(addresses.error());
    std::string why;
    for (const addrinfo* a = addresses->first; a && !cancelled_; a = a->ai_next) {
      Descriptor socket(::socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      int error = 0;
      if (!socket || ::connect(socket.get(), a->ai_addr, a->ai_addrlen) != 0) error = errno;
      if (error == 0 || error == EINPROGRESS)
        stream_ = std::make_unique<TcpStream>(std::move(socket), own_.peer_timeout);
      if (error == EINPROGRESS && Wait(POLLOUT, deadline)) {
        socklen_t length = sizeof error;
        ::getsockopt(stream_->descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
      }
      if (error == 0) return {};
      stream_.reset();
      why += (why.empty() ? "" : "; ") + Name(EndOf(*a)) + ": " + WhyNotReached(error);
    }
    return Fail(cancelled_ ? "interrupted" : why);
  }

  // Until the stream is ready; false: the time is over, or nobody wants the connection any more.
  bool Wait(short events, Clock::time_point deadline) {
    pollfd both[] = {{stream_->descriptor(), events, 0}, {options_.cancel, POLLIN, 0}};
    (void)WaitFor(both, Until(deadline));
    cancelled_ |= both[1].revents != 0;
    return !cancelled_ && both[0].revents != 0;
  }

  const SoftIwarpOptions own_;
  const EndpointOptions options_;
  bool cancelled_ = false;
  std::unique_ptr<TcpStream> stream_;
  std::string peer_;
  iwarp::MpaFrame request_;
  SetupReader setup_{iwarp::MpaFrame::Kind::kReply};
  bool old_peer_ = false;
  std::string why_;  // there is nothing to finish; empty: there is
};

class SoftIwarpTransport final : public Transport {
 public:
  explicit SoftIwarpTransport(const SoftIwarpOptions& own) : own_(own) {}

  std::string name() const override { return "iwarp"; }
  size_t max_private_data() const override { return MaxPrivateData(own_); }

  std::unique_ptr<Outgoing> Dial(const HostPort& to, const EndpointOptions& options) override {
    const Clock::time_point deadline = Clock::now() + options.connect_timeout;
    const auto ask = [&](uint8_t revision) {
      auto outgoing = std::make_unique<SoftIwarpOutgoing>(own_, options);
      outgoing->Ask(to, revision, deadline);
      return outgoing;
    };
    auto outgoing = ask(own_.revision);
    if (outgoing->old_peer()) outgoing = ask(1);
    return outgoing;
  }

  Result<std::unique_ptr<Listener>> Listen(const HostPort& at) override {
    std::string why;
    // Every address: one IPv6 socket for both, or IPv4 where there is no IPv6.
    for (const char* host : {"::", "0.0.0.0"}) {
      const HostPort wanted{at.host.empty() ? host : at.host, at.port};
      auto addresses = Resolve(wanted, true);
      if (!addresses) return tl::unexpected(addresses.error());
      for (const addrinfo* a = addresses->first; a; a = a->ai_next) {
        auto listener = ListenAt(*a);
        if (listener) return listener;
        why = listener.error().message;
      }
      if (!at.host.empty()) break;
    }
    return Fail(why);
  }

 private:
  Result<std::unique_ptr<Listener>> ListenAt(const addrinfo& address) {
    const auto fail = [&] { return Fail("cannot listen at " + Name(EndOf(address)) + ": " + ErrorText(errno)); };
    Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return fail();
    const int on = 1, off = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.ai_family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
      return fail();
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length);
    Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (!epoll || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) return fail();
    const auto port = static_cast<uint16_t>(FromSocketAddress(bound).number);
    return std::make_unique<SoftIwarpListener>(own_, std::move(socket), std::move(epoll), port);
  }

  const SoftIwarpOptions own_;
};

}  // namespace

std::unique_ptr<Transport> MakeSoftIwarp(const SoftIwarpOptions& options) {
  return std::make_unique<SoftIwarpTransport>(options);
}

}  // namespace stag::endpoint
