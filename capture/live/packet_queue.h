// SPDX-License-Identifier: GPL-2.0-or-later
//
// PacketQueue: packets from the thread that receives to the one that analyses and writes: a ring of bytes of a fixed
// size, without locks. A packet that finds no room is lost and counted; the receiving thread never waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "capture/live/packet.h"

namespace stag::capture {

class PacketQueue final : public PacketSink {
 public:
  // `size`: bytes, at least 1 MiB; each packet takes its captured length and about 32 bytes.
  explicit PacketQueue(size_t size);

  // The receiving thread: a packet comes, or no more will.
  void OnPacket(const Packet& packet) override;
  void Close();

  // The other thread. The oldest packet, valid until Pop; waits for one up to `wait`. Nullopt: none came; see closed().
  std::optional<Packet> Front(std::chrono::milliseconds wait);
  // Takes the packet that Front gave away. Only after Front gave one.
  void Pop();
  // Closed and empty: Front gives no more.
  bool finished() const;

  // Packets for which there was no room, and their bytes. Any thread.
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  uint64_t dropped_bytes() const { return dropped_bytes_.load(std::memory_order_relaxed); }
  // The most bytes that were in it.
  uint64_t high_water() const { return high_water_.load(std::memory_order_relaxed); }
  uint64_t size() const { return size_; }

 private:
  struct Header {
    int64_t time_ns = 0;
    uint32_t captured = 0, wire_length = 0;
    LinkType link = LinkType::kUnsupported;
    bool skip = false;  // nothing more up to the end of the ring
  };
  static uint64_t Space(uint64_t captured) { return (sizeof(Header) + captured + 7) & ~uint64_t{7}; }
  // The receiving thread stores head_ and then loads sleeping_; the other stores sleeping_ and then loads head_. At
  // least one of them must see the other's store, or the packet waits for the end of the sleep: that needs one total
  // order of all four (sequential consistency). An acquire load of head_ could come before the store of sleeping_.
  bool Empty() const { return head_.load(std::memory_order_seq_cst) == tail_.load(std::memory_order_relaxed); }

  const uint64_t size_;
  std::unique_ptr<std::byte[]> ring_;
  // Bytes ever written and ever taken; the place in the ring is the remainder by size_.
  alignas(64) std::atomic<uint64_t> head_{0};
  std::atomic<uint64_t> dropped_{0}, dropped_bytes_{0}, high_water_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
  std::atomic<bool> closed_{false}, sleeping_{false};
  std::mutex mutex_;
  std::condition_variable arrived_;
};

}  // namespace stag::capture
