// SPDX-License-Identifier: GPL-2.0-or-later
//
// Registering memory, posting work and handing it over.
#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "protocol/base/check.h"
#include "replay/endpoint/verbs_endpoint.h"
#include "replay/endpoint/verbs_trouble.h"

namespace stag::endpoint {

// ------------------------------------------------------------------------------------------------------------- memory

Result<Region> VerbsEndpoint::Register(size_t size, Access access) {
  Pages pages(size);
  if (pages.bytes().empty()) return Fail(fmt::format("no memory for a region of {} bytes", size));
  const MutableBytes memory = pages.bytes().first(size);
  return Offered(memory_->Add(memory, access, std::move(pages)));
}

Result<Region> VerbsEndpoint::Register(MutableBytes memory, Access access) {
  return Offered(memory_->Add(memory, access, {}));
}

// The region once the peer can reach it, if it may.
Result<Region> VerbsEndpoint::Offered(Result<Region> region) {
  if (!region || !memory_->HasWindow(*region)) return region;
  Bind(*region);
  (void)AwaitOwn(0);
  return region;
}

void VerbsEndpoint::Deregister(Region& region) {
  if (memory_->HasWindow(region)) (void)AwaitOwn(0);
  if (events_) events_->shown().Vacate(region.bytes);
  memory_->Remove(region);
  region = {};
}

Result<void> VerbsEndpoint::Renew(Region& region) {
  if (!memory_->HasWindow(region)) return memory_->Renew(region);
  if (memory_->Bound(region)) {
    // The old handle is invalid when this returns; the new one is valid before anything that is posted later.
    PostOwn(memory_->Unbind(region));
    if (!AwaitOwn(0)) return Fail("the connection is not open");
  }
  Bind(region);
  return {};
}

// Gives the region, which has a window, a handle that is valid before anything that is posted from now on is done.
void VerbsEndpoint::Bind(Region& region) { PostOwn(memory_->NextBind(region)); }

// A work for a memory window.
void VerbsEndpoint::PostOwn(const ibv_send_wr& wr) {
  if (!AwaitOwn(kWindowWorks - 1)) return;
  Item& item = work_.Post();
  item.wr = wr;
  item.work = Work::kSend;  // of the send queue
  item.own = true;
  ++own_works_;
}

// Until at most so many works for memory windows are under way; false: the connection ended before.
bool VerbsEndpoint::AwaitOwn(uint32_t most) {
  while (phase_ == Phase::kOpen && own_works_ > most) {
    Flush();
    if (!PollQueue() && ++idle_ % kLookEvery == 0) LookAtChannels();
  }
  // What came meanwhile is for Poll: whoever waits for the descriptor is to call it.
  if (watched_ && !completions_.empty()) (void)::eventfd_write(bell_.get(), 1);
  return phase_ == Phase::kOpen;
}

// ------------------------------------------------------------------------------------------------------------ posting

Result<VerbsEndpoint::Item*> VerbsEndpoint::NewItem(Work work, uint64_t id) {
  if (phase_ != Phase::kOpen) return Fail("the connection is not open");
  if (uncompleted_ >= options_.sends)
    return Fail(fmt::format("{} works are posted and not completed: no more is allowed", uncompleted_));
  // Posted by work_.Post(), once nothing can be wrong with it any more.
  Item& item = work_[work_.posted()];
  // HandOver and who posts it fill in the rest.
  item.wr.sg_list = nullptr;
  item.wr.num_sge = 0;
  item.wr.send_flags = 0;
  item.own = false;
  item.work = work;
  item.id = id;
  item.length = 0;
  return &item;
}

// The local key for what is to be sent: registered memory, or a received message.
const uint32_t* VerbsEndpoint::KeyOf(Bytes memory) {
  if (const uint32_t* const key = memory_->Find(memory)) return key;
  const auto holds = [memory](const Arena& arena) { return Contains(arena.pages.bytes(), memory); };
  const auto arena = std::ranges::find_if(arenas_, holds);
  return arena == arenas_.end() ? nullptr : &arena->mr->lkey;
}

// The pieces as a gather list. Those that lie in no registered memory are copied, all of them, when that is allowed.
Result<void> VerbsEndpoint::Gather(Item& item, std::span<const Bytes> pieces, bool may_copy) {
  if (pieces.size() > device_.max_pieces) return Fail(fmt::format("at most {} pieces", device_.max_pieces));
  uint64_t length = 0;
  for (const Bytes piece : pieces) length += piece.size();
  if (length > UINT32_MAX / 2) return Fail("a message has less than 2 GiB");
  item.length = length;
  item.wr.sg_list = item.sge.data();
  item.wr.num_sge = 0;
  for (const Bytes piece : pieces) {
    if (piece.empty()) continue;
    const uint32_t* const key = KeyOf(piece);
    if (!key) {
      if (!may_copy || length > kMaxInline) return Fail("the bytes are not in registered memory");
      const size_t place = static_cast<size_t>(&item - &work_[0]);
      std::byte* const copy = copies_.pages.bytes().data() + place * kMaxInline;
      std::byte* to = copy;
      for (const Bytes p : pieces) to = std::copy(p.begin(), p.end(), to);
      item.sge[0] = {reinterpret_cast<uintptr_t>(copy), static_cast<uint32_t>(length), copies_.mr->lkey};
      item.wr.num_sge = 1;
      break;
    }
    item.sge[static_cast<size_t>(item.wr.num_sge++)] = {reinterpret_cast<uintptr_t>(piece.data()),
                                                        static_cast<uint32_t>(piece.size()), *key};
  }
  if (length > 0 && length <= inline_room_) item.wr.send_flags |= IBV_SEND_INLINE;
  return {};
}

Result<void> VerbsEndpoint::Send(std::span<const Bytes> pieces, uint64_t id, std::optional<uint32_t> invalidate) {
  if (invalidate && !device_.send_with_invalidate)
    return Fail(fmt::format("{} cannot do Send with Invalidate", ::ibv_get_device_name(id_->verbs->device)));
  auto item = NewItem(Work::kSend, id);
  if (!item) return tl::unexpected(item.error());
  if (auto gathered = Gather(**item, pieces, true); !gathered) return gathered;
  ibv_send_wr& wr = (*item)->wr;
  wr.opcode = invalidate ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND;
  if (invalidate) wr.invalidate_rkey = *invalidate;
  (void)work_.Post();
  ++uncompleted_;
  if (events_) events_->OnSend(pieces, invalidate);
  return {};
}

Result<void> VerbsEndpoint::Read(MutableBytes into, uint32_t handle, uint64_t offset, uint64_t id) {
  if (outbound_reads_ == 0) return Fail("no RDMA Reads were agreed on for this side");
  auto item = NewItem(Work::kRead, id);
  if (!item) return tl::unexpected(item.error());
  if (into.size() > UINT32_MAX / 2) return Fail("an RDMA Read has less than 2 GiB");
  ibv_send_wr& wr = (*item)->wr;
  wr.opcode = IBV_WR_RDMA_READ;
  wr.wr.rdma.remote_addr = offset;
  wr.wr.rdma.rkey = handle;
  wr.sg_list = (*item)->sge.data();
  (*item)->length = into.size();
  (*item)->into = into.data();
  if (!into.empty()) {
    const uint32_t* const key = memory_->Find(into, true);
    if (!key) return Fail("the memory to read into is not registered, or only for the peer to read");
    (*item)->sge[0] = {reinterpret_cast<uintptr_t>(into.data()), static_cast<uint32_t>(into.size()), *key};
    wr.num_sge = 1;
  }
  (void)work_.Post();
  ++uncompleted_;
  if (events_) events_->OnReadRequest(into.size(), handle, offset);
  return {};
}

Result<void> VerbsEndpoint::Write(Bytes from, uint32_t handle, uint64_t offset, uint64_t id) {
  auto item = NewItem(Work::kWrite, id);
  if (!item) return tl::unexpected(item.error());
  if (auto gathered = Gather(**item, {&from, 1}, false); !gathered) return gathered;
  ibv_send_wr& wr = (*item)->wr;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma.remote_addr = offset;
  wr.wr.rdma.rkey = handle;
  (void)work_.Post();
  ++uncompleted_;
  if (events_) events_->OnWrite(from, handle, offset);
  return {};
}

Result<void> VerbsEndpoint::Receive(uint32_t count) {
  if (auto added = AddReceives(count); !added) return added;
  PostReceives();
  return {};
}

void VerbsEndpoint::Release(const Completion& completion) {
  const uint64_t i = completion.id;
  const bool ours = completion.work == Work::kReceive && i < buffers_.size() && buffers_[i].given;
  STAG_CHECK(ours);
  if (!ours) return;
  buffers_[i].given = false;
  to_post_.Push(static_cast<uint32_t>(i));
}

// ------------------------------------------------------------------------------------------------------- handing over

void VerbsEndpoint::Flush() {
  // Receives first: what goes out may let the peer send.
  PostReceives();
  HandOver();
}

void VerbsEndpoint::PostReceives() {
  if (to_post_.empty() || phase_ == Phase::kDraining || phase_ == Phase::kOver) return;
  ibv_recv_wr* first = nullptr;
  ibv_recv_wr* last = nullptr;
  while (!to_post_.empty()) {
    const uint32_t i = to_post_.Pop();
    Buffer& buffer = buffers_[i];
    buffer.sge = {reinterpret_cast<uintptr_t>(buffer.at), options_.receive_size, buffer.key};
    buffer.wr = {};
    buffer.wr.wr_id = kReceiveId | i;
    buffer.wr.sg_list = &buffer.sge;
    buffer.wr.num_sge = options_.receive_size > 0 ? 1 : 0;
    (last ? last->next : first) = &buffer.wr;
    last = &buffer.wr;
    ++posted_receives_;
  }
  ibv_recv_wr* bad = nullptr;
  const int error = ::ibv_post_recv(pair_.get(), first, &bad);
  if (error == 0) return;
  for (; bad; bad = bad->next) --posted_receives_;
  Break({Trouble::Kind::kLocal, "the device takes no receives: " + ErrorText(error)});
}

void VerbsEndpoint::HandOver() {
  if (phase_ == Phase::kDraining || phase_ == Phase::kOver) return;
  const auto run = work_.Next();
  if (run.empty()) return;
  for (uint64_t n = run.first; n < run.end; ++n) {
    ibv_send_wr& wr = work_[n].wr;
    wr.wr_id = n;
    wr.next = n + 1 < run.end ? &work_[n + 1].wr : nullptr;
    if (work_.Sign(run, n, work_[n].work == Work::kRead)) wr.send_flags |= IBV_SEND_SIGNALED;
  }
  ibv_send_wr* bad = nullptr;
  const int error = ::ibv_post_send(pair_.get(), &work_[run.first].wr, &bad);
  work_.HandOver(error != 0 && bad ? bad->wr_id : run.end);
  if (error != 0) Break({Trouble::Kind::kLocal, "the device takes no work: " + ErrorText(error)});
}

}  // namespace stag::endpoint
