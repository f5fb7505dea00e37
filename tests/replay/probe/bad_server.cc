// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/replay/probe/bad_server.h"

namespace stag::probe::test {
namespace {

Hooks HooksOf(const Fault& fault) {
  Hooks hooks{fault.receive, {}, fault.write};
  if (fault.send)
    hooks.send = [&fault](Seen& message, const Seen* call, std::optional<uint32_t>& invalidate, Scene& scene) {
      return !call || fault.send(message, *call, invalidate, scene);
    };
  return hooks;
}

class BadIncoming final : public endpoint::Incoming {
 public:
  BadIncoming(std::unique_ptr<endpoint::Incoming> inner, const Fault& fault, const Hooks& hooks, SharedScene& shared)
      : inner_(std::move(inner)), fault_(fault), hooks_(hooks), shared_(shared) {}
  Bytes private_data() const override { return inner_->private_data(); }
  std::string peer() const override { return inner_->peer(); }
  Result<std::unique_ptr<endpoint::Endpoint>> Accept(const endpoint::EndpointOptions& options) override {
    ++shared_.connections;
    endpoint::EndpointOptions changed = options;
    if (fault_.accept) fault_.accept(changed, shared_.connections);
    auto accepted = inner_->Accept(changed);
    if (!accepted) return accepted;
    return std::make_unique<Tamper>(std::move(*accepted), hooks_, shared_, shared_.connections);
  }
  void Reject(Bytes data) override { inner_->Reject(data); }

 private:
  std::unique_ptr<endpoint::Incoming> inner_;
  const Fault& fault_;
  const Hooks& hooks_;
  SharedScene& shared_;
};

class BadListener final : public endpoint::Listener {
 public:
  BadListener(std::unique_ptr<endpoint::Listener> inner, const Fault& fault)
      : inner_(std::move(inner)), fault_(fault), hooks_(HooksOf(fault)) {}
  uint16_t port() const override { return inner_->port(); }
  int descriptor() const override { return inner_->descriptor(); }
  Result<std::unique_ptr<endpoint::Incoming>> Wait(std::chrono::milliseconds wait) override {
    auto incoming = inner_->Wait(wait);
    if (!incoming || !*incoming) return incoming;
    if (shared_.dead) {
      (*incoming)->Reject({});
      return std::unique_ptr<endpoint::Incoming>();
    }
    return std::make_unique<BadIncoming>(std::move(*incoming), fault_, hooks_, shared_);
  }

 private:
  std::unique_ptr<endpoint::Listener> inner_;
  const Fault& fault_;
  const Hooks hooks_;
  SharedScene shared_;
};

class BadTransport final : public endpoint::Transport {
 public:
  explicit BadTransport(const Fault& fault) : fault_(fault) {}
  std::string name() const override { return inner_->name(); }
  size_t max_private_data() const override { return inner_->max_private_data(); }
  std::unique_ptr<endpoint::Outgoing> Dial(const endpoint::HostPort& to,
                                           const endpoint::EndpointOptions& options) override {
    return inner_->Dial(to, options);
  }
  Result<std::unique_ptr<endpoint::Listener>> Listen(const endpoint::HostPort& at) override {
    auto listener = inner_->Listen(at);
    if (!listener) return listener;
    return std::make_unique<BadListener>(std::move(*listener), fault_);
  }

 private:
  std::unique_ptr<endpoint::Transport> inner_ = endpoint::MakeSoftIwarp();
  const Fault& fault_;
};

}  // namespace

std::unique_ptr<endpoint::Transport> MakeBadTransport(const Fault& fault) {
  return std::make_unique<BadTransport>(fault);
}

}  // namespace stag::probe::test
