// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/probe/tamper.h"

#include <algorithm>

#include "protocol/base/writer.h"

namespace stag::probe {
namespace {

constexpr uint64_t kOwn = uint64_t{1} << 63;  // in the ids of work that the engine did not post

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

void Scene::Send(Buffer message, std::optional<uint32_t> invalidate) {
  if (open()) (void)end.Post(std::move(message), kOwn, invalidate);
}

void Scene::SendError(uint32_t xid, uint32_t err, uint32_t credit) {
  rpcrdma::Header header;
  header.xid = xid;
  header.vers = rpcrdma::kVersion1;
  header.credit = credit;
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
  header.credit = kCredits;
  header.proc = rpcrdma::kMsg;
  Buffer out;
  rpcrdma::Encode(header, out);
  Writer words(out);
  for (const uint32_t word : {header.xid, 1u, 0u, 0u, 0u, 0u}) words.U32(word);
  Send(std::move(out));
}

void Scene::Write(Buffer bytes, const rpcrdma::Segment& segment, uint64_t offset) {
  if (!open()) return;
  (void)end.inner_->Write(end.Keep(std::move(bytes)).bytes, segment.handle, segment.offset + offset, kOwn);
}

void Scene::Read(const rpcrdma::Segment& segment, uint64_t offset) {
  if (!open()) return;
  (void)end.inner_->Read(end.Keep(Buffer(segment.length)).bytes, segment.handle, segment.offset + offset, kOwn);
}

void Scene::After(std::chrono::milliseconds time, std::function<void(Scene&)> what) {
  end.timers_.emplace(Tamper::Clock::now() + time, std::move(what));
}

void Scene::HangUp() { end.Disconnect(); }
bool Scene::open() const { return end.takes_work(); }

Tamper::Tamper(std::unique_ptr<endpoint::Endpoint> inner, const Hooks& hooks, SharedScene& shared, size_t ordinal)
    : hooks_(hooks),
      scene_{*this, ordinal, inner->peer_private_data(), 0, {}, {}, shared.all, shared.dead},
      inner_(std::move(inner)) {
  info_ = inner_->info();
  const Bytes data = inner_->peer_private_data();
  peer_private_data_.assign(data.begin(), data.end());
  inbound_reads_ = inner_->inbound_reads();
  outbound_reads_ = inner_->outbound_reads();
}

Result<void> Tamper::Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) {
  if (!hooks_.send) return inner_->Send(pieces, id, invalidate);
  Buffer whole;
  for (const Bytes piece : pieces) whole.insert(whole.end(), piece.begin(), piece.end());
  Seen message(whole);
  const auto call = scene_.calls.find(message.header.xid);
  const Seen* const answered = call == scene_.calls.end() ? nullptr : &call->second;
  if (!hooks_.send(message, answered, invalidate, scene_)) {
    believed_.push_back({endpoint::Work::kSend, endpoint::CompletionStatus::kOk, id, {}, {}});
    return {};
  }
  return Post(message.Encoded(), id, invalidate);
}

Result<void> Tamper::Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) {
  if (hooks_.write && !hooks_.write(from, handle, offset, scene_)) {
    believed_.push_back({endpoint::Work::kWrite, endpoint::CompletionStatus::kOk, id, {}, {}});
    return {};
  }
  return inner_->Write(from, handle, offset, id);
}

Result<void> Tamper::Post(Buffer message, uint64_t id, std::optional<uint32_t> invalidate) {
  const Bytes piece = Keep(std::move(message)).bytes;
  return inner_->Send({&piece, 1}, id, invalidate);
}

endpoint::Region Tamper::Keep(Buffer bytes) {
  kept_.push_back(std::move(bytes));
  const auto region = inner_->Register(MutableBytes(kept_.back()), endpoint::Access::kLocal);
  return region ? *region : endpoint::Region{};
}

size_t Tamper::Poll(std::span<endpoint::Completion> out, std::chrono::microseconds wait) {
  RunTimers();
  if (!believed_.empty()) {
    const size_t n = std::min(out.size(), believed_.size());
    std::copy_n(believed_.begin(), n, out.begin());
    believed_.erase(believed_.begin(), believed_.begin() + static_cast<std::ptrdiff_t>(n));
    return n;
  }
  size_t kept = 0;
  const size_t n = inner_->Poll(out, wait);
  for (size_t i = 0; i < n; ++i) {
    if (out[i].work != endpoint::Work::kReceive && (out[i].id & kOwn) != 0) {
      const bool fine = out[i].outcome == endpoint::CompletionStatus::kOk;
      scene_.own_reads += fine && out[i].work == endpoint::Work::kRead;
      scene_.own_failures += !fine && out[i].work != endpoint::Work::kSend;
      continue;
    }
    if (Received(out[i])) out[kept++] = out[i];
  }
  if (kept == 0 && n > 0) return Poll(out, std::chrono::microseconds{0});
  return kept;
}

void Tamper::Release(const endpoint::Completion& completion) {
  changed_.erase(completion.id);
  inner_->Release(completion);
}

// Whether the engine sees it.
bool Tamper::Received(endpoint::Completion& completion) {
  if (completion.work != endpoint::Work::kReceive || completion.outcome != endpoint::CompletionStatus::kOk) return true;
  Seen message(completion.bytes);
  message.invalidated = completion.invalidated;
  const uint32_t xid = message.header.xid;
  ++scene_.received;
  scene_.times.insert(xid);
  scene_.calls.insert_or_assign(xid, message);
  const bool passed = !hooks_.receive || hooks_.receive(message, scene_);
  scene_.all.insert({xid, {scene_.ordinal, message.header.proc == rpcrdma::kNomsg}});
  if (!passed) {
    inner_->Release(completion);
    return false;
  }
  Buffer& changed = changed_[completion.id] = message.Encoded();
  completion.bytes = changed;
  return true;
}

void Tamper::RunTimers() {
  while (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
    const auto what = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (scene_.open()) what(scene_);
  }
}

}  // namespace stag::probe
