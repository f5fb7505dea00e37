// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/replay/probe/bad_client.h"

#include "replay/endpoint/soft_iwarp.h"

namespace stag::probe::test {
namespace {

struct Past {
  SharedScene shared;
  size_t asked = 0, refused = 0;
};

class BadOutgoing final : public endpoint::Outgoing {
 public:
  BadOutgoing(std::unique_ptr<endpoint::Outgoing> inner, const ClientFault& fault, const Hooks& hooks, Past& past)
      : inner_(std::move(inner)), fault_(fault), hooks_(hooks), past_(past) {}
  Result<std::unique_ptr<endpoint::Endpoint>> Finish() override {
    auto endpoint = inner_->Finish();
    if (!endpoint) {
      ++past_.refused;
      return endpoint;
    }
    const size_t ordinal = ++past_.shared.connections;
    const Bytes said = (*endpoint)->peer_private_data();
    Buffer data(said.begin(), said.end());
    if (fault_.accepted && !fault_.accepted(data, ordinal)) {
      past_.shared.dead = true;
      return Fail("this client is dead");
    }
    auto tamper = std::make_unique<Tamper>(std::move(*endpoint), hooks_, past_.shared, ordinal);
    tamper->Believe(std::move(data));
    return tamper;
  }

 private:
  std::unique_ptr<endpoint::Outgoing> inner_;
  const ClientFault& fault_;
  const Hooks& hooks_;
  Past& past_;
};

class NoConnection final : public endpoint::Outgoing {
 public:
  Result<std::unique_ptr<endpoint::Endpoint>> Finish() override { return Fail("this client is dead"); }
};

class BadClient final : public endpoint::Transport {
 public:
  explicit BadClient(const ClientFault& fault) : fault_(fault), hooks_{fault.receive, {}, {}} {
    if (fault.send)
      hooks_.send = [&fault](Seen& message, const Seen*, std::optional<uint32_t>&, Scene& scene) {
        return fault.send(message, scene);
      };
  }
  std::string name() const override { return inner_->name(); }
  size_t max_private_data() const override { return inner_->max_private_data(); }
  std::unique_ptr<endpoint::Outgoing> Dial(const endpoint::HostPort& to,
                                           const endpoint::EndpointOptions& options) override {
    if (past_.shared.dead || past_.asked >= fault_.most_connections || past_.refused >= fault_.most_refused)
      return std::make_unique<NoConnection>();
    endpoint::EndpointOptions changed = options;
    if (fault_.connect) fault_.connect(changed, past_.asked + 1);
    ++past_.asked;
    return std::make_unique<BadOutgoing>(inner_->Dial(to, changed), fault_, hooks_, past_);
  }
  Result<std::unique_ptr<endpoint::Listener>> Listen(const endpoint::HostPort& at) override {
    return inner_->Listen(at);
  }

 private:
  std::unique_ptr<endpoint::Transport> inner_ = endpoint::MakeSoftIwarp();
  const ClientFault& fault_;
  Hooks hooks_;
  Past past_;
};

}  // namespace

std::unique_ptr<endpoint::Transport> MakeBadClient(const ClientFault& fault) {
  return std::make_unique<BadClient>(fault);
}

}  // namespace stag::probe::test
