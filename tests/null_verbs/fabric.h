// SPDX-License-Identifier: GPL-2.0-or-later
//
// The null fabric: what all devices that speak with each other share. Its state (memory regions, completion queues,
// queue pairs) lies in memory that all processes on it map: the file that STAG_NULL_VERBS names; without it, in memory
// of this process, and its threads speak with each other. All zeros is the state before anything was made.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace stag::null_verbs {

// What the environment asks for.
struct Wishes {
  bool free_copies = false;  // STAG_NULL_COPIES=free: RDMA Reads and Writes move no bytes (Sends do)
};
const Wishes& Wished();

uint32_t Self();                          // this process
[[noreturn]] void Stop(const char* why);  // the program broke a rule of the verbs

// A lock that processes share. One that a process held when it died is taken over.
class Lock {
 public:
  void lock() {
    uint32_t nobody = 0;
    if (!owner_.compare_exchange_strong(nobody, Self(), std::memory_order_acquire)) Wait();
  }
  void unlock() { owner_.store(0, std::memory_order_release); }

 private:
  void Wait();
  std::atomic<uint32_t> owner_;
};

// Where a process waits: a datagram socket, whose descriptor it gave to its program.
struct Mailbox {
  uint32_t pid = 0, number = 0;
};
struct Note {
  uint32_t kind = 0;    // of a completion channel 0, of a device an ibv_event_type
  uint32_t number = 0;  // of the completion queue, or of the queue pair
};
// The descriptor; -1: there is none (errno).
int MakeMailbox(Mailbox& mailbox);
void Post(const Mailbox& mailbox, const Note& note);
bool Take(int mailbox, Note& note);

inline constexpr uint32_t kRegions = 1u << 16, kQueues = 1u << 10, kPairs = 1u << 10;
inline constexpr uint32_t kNobody = 0;  // the number of no queue pair

// A memory region, or a memory window. Its handle is its index and a key of 8 bits.
struct alignas(64) Region {
  static constexpr uint32_t kValid = 1u << 31;
  std::atomic<uint32_t> use;  // kValid, and how many look at it or copy
  uint32_t handle;
  uint32_t domain, pid;
  uint64_t address, length;
  uint32_t access;
  uint32_t pair;                  // of a window: the queue pair on which it was bound
  uint32_t region;                // of a window: the index of its memory region
  std::atomic<uint32_t> windows;  // of a memory region: those that are bound to it
  bool taken, window;
};

struct Done {
  ibv_wc wc;
  uint32_t pair;  // its number
  uint32_t unused;
  uint64_t retires;  // of a send queue: so many works have their place back
};
static_assert(sizeof(Done) == 64);

// A completion queue.
struct alignas(64) Queue {
  bool taken;
  uint32_t pid, number, capacity;
  uint64_t entries;  // place of Done[capacity]
  Mailbox channel;
  std::atomic<uint32_t> stalled;  // queue pairs whose sends wait for something
  alignas(64) Lock producing;
  uint64_t head_seen;
  std::atomic<uint64_t> tail;
  std::atomic<uint32_t> armed;  // 1: any completion, 2: a solicited one
  alignas(64) Lock taking;
  std::atomic<uint64_t> head;
};

enum class Waiting : uint32_t { kNo, kForReceive, kForPeer };

// A queue pair. What is sent is done by whoever can do it: who posts it, or the peer that removes what it waits for.
struct alignas(64) Pair {
  bool taken, signal_all;
  uint32_t pid, domain, send_queue, receive_queue;  // numbers of queues are indices here
  uint32_t max_sends, max_receives, send_pieces, receive_pieces, inline_room, send_stride, receive_stride;
  uint64_t sends, receives;  // places of the rings
  uint32_t rnr_retries, reads_served;
  Mailbox device;
  std::atomic<uint32_t> number, state, peer;
  std::atomic<Waiting> waiting;
  alignas(64) Lock sending;
  uint64_t posted, first, last;  // works; those that wait, in the ring of sends: [first, last)
  uint32_t tries;
  int64_t deadline;  // ns
  std::atomic<uint64_t> retired;
  alignas(64) Lock taking;  // of receives
  std::atomic<uint64_t> taken_receives;
  alignas(64) Lock giving;
  uint64_t taken_seen;
  std::atomic<uint64_t> given_receives;
};

struct Shared {
  Lock lock;  // of all that is made and goes
  uint32_t last_region, last_queue, last_pair, last_domain, pair_generation;
  uint64_t used;      // bytes of the heap
  uint64_t free[40];  // by size: 2^n bytes
  Region regions[kRegions];
  Queue queues[kQueues];
  Pair pairs[kPairs];
};

Shared& Fabric();
inline Region& RegionOf(uint32_t handle) { return Fabric().regions[(handle >> 8) % kRegions]; }
inline Queue& QueueAt(uint32_t index) { return Fabric().queues[index]; }
inline Pair& PairOf(uint32_t number) { return Fabric().pairs[number % kPairs]; }

// Memory of the fabric: a place is its distance from Fabric().
uint64_t Allocate(uint64_t size);
void Free(uint64_t place, uint64_t size);
template <typename T>
T* At(uint64_t place) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(&Fabric()) + place);
}

// An entry that nobody has, whose index is not `last`; it is taken. Needs Fabric().lock.
template <typename T, size_t N>
uint32_t TakeEntry(T (&table)[N], uint32_t& last) {
  for (uint32_t tried = 0; tried < N; ++tried) {
    last = (last + 1) % N;
    if (last == 0 || table[last].taken) continue;
    table[last].taken = true;
    return last;
  }
  Stop("the null fabric has no room for another object");
}

}  // namespace stag::null_verbs
