// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/replay/probe/bad_server.h"

#include <algorithm>

#include "protocol/base/writer.h"

namespace stag::replay::probe::test {
namespace {

constexpr uint64_t kOurs = uint64_t{1} << 63;  // in the ids of work that the server did not post

}  // namespace

Seen::Seen(Bytes message) : size(message.size()) {
  rpcrdma::Decode(message, message.size(), header);
  const size_t from = whole_header() ? header.length : 0;
  rest.assign(message.begin() + static_cast<std::ptrdiff_t>(from), message.end());
}

Buffer Seen::Encoded() const {
  Buffer out;
  if (whole_header()) rpcrdma::Encode(header, out);
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

// Of another version, the header of an RDMA_ERROR alone is known.
bool Seen::whole_header() const {
  return header.status == ParseStatus::kOk ||
         (header.status == ParseStatus::kUnsupported && header.proc == rpcrdma::kError);
}

uint32_t Seen::Word(size_t at) const { return at + 4 <= rest.size() ? LoadBe32(rest.data() + at) : 0; }

// What all connections of a server share.
struct Shared {
  size_t connections = 0;
  std::multimap<uint32_t, std::pair<size_t, bool>> all;
  bool dead = false;
};

class BadEnd final : public Endpoint {
 public:
  BadEnd(std::unique_ptr<Endpoint> inner, const Fault& fault, Shared& shared)
      : inner_(std::move(inner)),
        fault_(fault),
        scene_{*this, shared.connections, inner_->peer_private_data(), 0, {}, {}, shared.all, shared.dead} {
    info_ = inner_->info();
    const Bytes data = inner_->peer_private_data();
    peer_private_data_.assign(data.begin(), data.end());
    inbound_reads_ = inner_->inbound_reads();
    outbound_reads_ = inner_->outbound_reads();
  }

  State state() const override { return inner_->state(); }
  bool takes_work() const override { return inner_->takes_work(); }
  const Trouble& trouble() const override { return inner_->trouble(); }
  bool can_invalidate() const override { return inner_->can_invalidate(); }
  Result<Region> Register(size_t size, Access access) override { return inner_->Register(size, access); }
  Result<Region> Register(MutableBytes memory, Access access) override { return inner_->Register(memory, access); }
  void Deregister(Region& region) override { inner_->Deregister(region); }
  Result<void> Renew(Region& region) override { return inner_->Renew(region); }
  Result<void> Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) override {
    return inner_->Read(into, handle, offset, id);
  }
  size_t max_inline() const override { return inner_->max_inline(); }
  size_t max_pieces() const override { return inner_->max_pieces(); }
  Result<void> Receive(uint32_t count) override { return inner_->Receive(count); }
  void Flush() override { inner_->Flush(); }
  int descriptor() override { return inner_->descriptor(); }
  void Disconnect() override { inner_->Disconnect(); }

  Result<void> Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) override {
    Buffer whole;
    for (const Bytes piece : pieces) whole.insert(whole.end(), piece.begin(), piece.end());
    Seen message(whole);
    const auto call = scene_.calls.find(message.header.xid);
    if (fault_.send && call != scene_.calls.end() && !fault_.send(message, call->second, invalidate, scene_)) {
      believed_.push_back({Work::kSend, replay::Outcome::kOk, id, {}, {}});
      return {};
    }
    return Post(message.Encoded(), id, invalidate);
  }
  Result<void> Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) override {
    if (fault_.write && !fault_.write(from, handle, offset, scene_)) {
      believed_.push_back({Work::kWrite, replay::Outcome::kOk, id, {}, {}});
      return {};
    }
    return inner_->Write(from, handle, offset, id);
  }
  Result<void> Post(Buffer message, uint64_t id, std::optional<uint32_t> invalidate) {
    const auto region = Keep(std::move(message));
    const Bytes piece = region.bytes;
    return inner_->Send({&piece, 1}, id, invalidate);
  }
  void PostWrite(Buffer bytes, uint32_t handle, uint64_t offset) {
    (void)inner_->Write(Keep(std::move(bytes)).bytes, handle, offset, kOurs);
  }

  size_t Poll(std::span<Completion> out, std::chrono::microseconds wait) override {
    if (!believed_.empty()) {
      const size_t n = std::min(out.size(), believed_.size());
      std::copy_n(believed_.begin(), n, out.begin());
      believed_.erase(believed_.begin(), believed_.begin() + static_cast<std::ptrdiff_t>(n));
      return n;
    }
    size_t kept = 0;
    const size_t n = inner_->Poll(out, wait);
    for (size_t i = 0; i < n; ++i) {
      if ((out[i].work != Work::kReceive && (out[i].id & kOurs) != 0) || !Received(out[i])) continue;
      out[kept++] = out[i];
    }
    if (kept == 0 && n > 0) return Poll(out, std::chrono::microseconds{0});
    return kept;
  }
  void Release(const Completion& completion) override {
    changed_.erase(completion.id);
    inner_->Release(completion);
  }

 private:
  Region Keep(Buffer bytes) {
    kept_.push_back(std::move(bytes));
    return *inner_->Register(MutableBytes(kept_.back()), Access::kLocal);
  }
  // Whether the server sees it.
  bool Received(Completion& completion) {
    if (completion.work != Work::kReceive || completion.outcome != replay::Outcome::kOk) return true;
    Seen message(completion.bytes);
    const uint32_t xid = message.header.xid;
    ++scene_.received;
    scene_.times.insert(xid);
    scene_.calls.insert_or_assign(xid, message);
    const bool passed = !fault_.receive || fault_.receive(message, scene_);
    scene_.all.insert({xid, {scene_.ordinal, message.header.proc == rpcrdma::kNomsg}});
    if (!passed) {
      inner_->Release(completion);
      return false;
    }
    Buffer& changed = changed_[completion.id] = message.Encoded();
    completion.bytes = changed;
    return true;
  }

  std::unique_ptr<Endpoint> inner_;
  const Fault& fault_;
  Scene scene_;
  std::deque<Buffer> kept_;
  std::map<uint64_t, Buffer> changed_;  // messages that the server has
  std::vector<Completion> believed_;
};

void Scene::Send(Buffer message) { (void)end.Post(std::move(message), kOurs, {}); }

void Scene::SendError(uint32_t xid, uint32_t err) {
  rpcrdma::Header header;
  header.xid = xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = 8;
  header.proc = rpcrdma::kError;
  header.err = err;
  header.vers_low = header.vers_high = 1;
  Buffer out;
  rpcrdma::Encode(header, out);
  Send(std::move(out));
}

void Scene::SendSuccess(const Seen& call) {
  rpcrdma::Header header;
  header.xid = call.header.xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = 8;
  header.proc = rpcrdma::kMsg;
  Buffer out;
  rpcrdma::Encode(header, out);
  Writer words(out);
  for (const uint32_t word : {header.xid, 1u, 0u, 0u, 0u, 0u}) words.U32(word);
  Send(std::move(out));
}

void Scene::Write(Buffer bytes, const rpcrdma::Segment& segment, uint64_t offset) {
  end.PostWrite(std::move(bytes), segment.handle, segment.offset + offset);
}

void Scene::HangUp() { end.Disconnect(); }

namespace {

class BadIncoming final : public Incoming {
 public:
  BadIncoming(std::unique_ptr<Incoming> inner, const Fault& fault, Shared& shared)
      : inner_(std::move(inner)), fault_(fault), shared_(shared) {}
  Bytes private_data() const override { return inner_->private_data(); }
  std::string peer() const override { return inner_->peer(); }
  Result<std::unique_ptr<Endpoint>> Accept(const EndpointOptions& options) override {
    ++shared_.connections;
    EndpointOptions changed = options;
    if (fault_.accept) fault_.accept(changed, shared_.connections);
    auto accepted = inner_->Accept(changed);
    if (!accepted) return accepted;
    return std::make_unique<BadEnd>(std::move(*accepted), fault_, shared_);
  }
  void Reject(Bytes data) override { inner_->Reject(data); }

 private:
  std::unique_ptr<Incoming> inner_;
  const Fault& fault_;
  Shared& shared_;
};

class BadListener final : public Listener {
 public:
  BadListener(std::unique_ptr<Listener> inner, const Fault& fault) : inner_(std::move(inner)), fault_(fault) {}
  uint16_t port() const override { return inner_->port(); }
  int descriptor() const override { return inner_->descriptor(); }
  Result<std::unique_ptr<Incoming>> Wait(std::chrono::milliseconds wait) override {
    auto incoming = inner_->Wait(wait);
    if (!incoming || !*incoming) return incoming;
    if (shared_.dead) {
      (*incoming)->Reject({});
      return std::unique_ptr<Incoming>();
    }
    return std::make_unique<BadIncoming>(std::move(*incoming), fault_, shared_);
  }

 private:
  std::unique_ptr<Listener> inner_;
  const Fault& fault_;
  Shared shared_;
};

class BadTransport final : public Transport {
 public:
  explicit BadTransport(const Fault& fault) : fault_(fault) {}
  std::string name() const override { return inner_->name(); }
  size_t max_private_data() const override { return inner_->max_private_data(); }
  std::unique_ptr<Outgoing> Dial(const HostPort& to, const EndpointOptions& options) override {
    return inner_->Dial(to, options);
  }
  Result<std::unique_ptr<Listener>> Listen(const HostPort& at) override {
    auto listener = inner_->Listen(at);
    if (!listener) return listener;
    return std::make_unique<BadListener>(std::move(*listener), fault_);
  }

 private:
  std::unique_ptr<Transport> inner_ = MakeSoftIwarp();
  const Fault& fault_;
};

}  // namespace

std::unique_ptr<Transport> MakeBadTransport(const Fault& fault) { return std::make_unique<BadTransport>(fault); }

}  // namespace stag::replay::probe::test
