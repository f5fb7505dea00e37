// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/packet_queue.h"

#include <algorithm>
#include <cstring>

#include "protocol/base/check.h"

namespace stag::capture {

PacketQueue::PacketQueue(size_t size)
    : size_((std::max<size_t>(size, 1u << 20) + 7) & ~size_t{7}), ring_(new std::byte[size_]) {}

void PacketQueue::OnPacket(const Packet& packet) {
  const uint64_t space = Space(packet.bytes.size());
  uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  const uint64_t to_end = size_ - head % size_;
  const uint64_t wasted = to_end < space ? to_end : 0;  // a packet is in one piece
  if (space > size_ || head + wasted + space - tail > size_) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    dropped_bytes_.fetch_add(packet.wire_length, std::memory_order_relaxed);
    return;
  }
  if (wasted > 0) {
    // Less than a header may be left there: then the reader skips it by itself.
    if (wasted >= sizeof(Header)) {
      Header skip;
      skip.skip = true;
      std::memcpy(&ring_[head % size_], &skip, sizeof(skip));
    }
    head += wasted;
  }
  const Header header{packet.time_ns, static_cast<uint32_t>(packet.bytes.size()), packet.wire_length, packet.link,
                      false};
  std::byte* at = &ring_[head % size_];
  std::memcpy(at, &header, sizeof(header));
  if (!packet.bytes.empty()) std::memcpy(at + sizeof(header), packet.bytes.data(), packet.bytes.size());
  head += space;
  head_.store(head, std::memory_order_seq_cst);
  if (const uint64_t used = head - tail; used > high_water_.load(std::memory_order_relaxed))
    high_water_.store(used, std::memory_order_relaxed);
  if (sleeping_.load(std::memory_order_seq_cst)) {
    // With the mutex taken once, the other thread is either waiting or will look again.
    { const std::lock_guard lock(mutex_); }
    arrived_.notify_one();
  }
}

void PacketQueue::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_.store(true, std::memory_order_seq_cst);
  }
  arrived_.notify_one();
}

std::optional<Packet> PacketQueue::Front(std::chrono::milliseconds wait) {
  if (Empty() && wait.count() > 0) {
    std::unique_lock lock(mutex_);
    sleeping_.store(true, std::memory_order_seq_cst);
    arrived_.wait_for(lock, wait, [this] { return !Empty() || closed_.load(std::memory_order_seq_cst); });
    sleeping_.store(false, std::memory_order_seq_cst);
  }
  if (Empty()) return std::nullopt;
  uint64_t tail = tail_.load(std::memory_order_relaxed);
  Header header;
  const uint64_t to_end = size_ - tail % size_;
  bool skip = to_end < sizeof(Header);
  if (!skip) {
    std::memcpy(&header, &ring_[tail % size_], sizeof(header));
    skip = header.skip;
  }
  if (skip) {
    tail += to_end;
    tail_.store(tail, std::memory_order_release);
    std::memcpy(&header, &ring_[tail % size_], sizeof(header));
  }
  return Packet{header.time_ns, header.link, Bytes(&ring_[tail % size_ + sizeof(header)], header.captured),
                header.wire_length};
}

void PacketQueue::Pop() {
  STAG_CHECK(!Empty());
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  Header header;
  std::memcpy(&header, &ring_[tail % size_], sizeof(header));
  tail_.store(tail + Space(header.captured), std::memory_order_release);
}

bool PacketQueue::finished() const { return closed_.load(std::memory_order_seq_cst) && Empty(); }

}  // namespace stag::capture
