// SPDX-License-Identifier: GPL-2.0-or-later
//
// The table of TCP connections: those followed, those that may still turn out to be iWARP, and a memory of those that
// are not.
#include "session/fabric/iwarp_tracker.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/base/charged_map.h"
#include "session/fabric/iwarp_connection.h"

namespace stag::fabric {
namespace {

constexpr size_t kOtherSets = 1024, kOtherWays = 4;  // connections remembered as not iWARP, or as closed
static_assert(std::has_single_bit(kOtherWays));      // what counts them goes round
// A RST closes its connection after this many further packets: one that it overtook in the capture still counts.
constexpr uint32_t kResetDelay = 2;

// A connection's two ends in a fixed order, so that both directions find the same one.
struct Key {
  std::array<Endpoint, 2> ends;
  friend bool operator==(const Key&, const Key&) = default;
};

bool Is(const Endpoint& end, const Address& address, uint16_t port) {
  return end.number == port && end.address == address;
}

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0;
    for (const Endpoint& end : key.ends) h = MixHash(MixHash(h, end.address), end.number);
    return static_cast<size_t>(h);
  }
};

struct Entry {
  // With its places in the lists and in the table, and its empty containers.
  static constexpr uint64_t kCost = sizeof(IwarpConnection) + 4096;

  Entry(IwarpShared& shared, const Key& k)
      : key(k), charge(shared.context.budget(), kCost), connection(shared, k.ends) {}
  Key key;
  Charge charge;
  std::list<Entry>::iterator self;
  bool listed_followed = false;
  uint32_t reset_countdown = 0;
  IwarpConnection connection;
};
using Entries = std::list<Entry>;  // least recently used first

// A memory of keys that forgets: four per hash value, the oldest first. Of a fixed size, from the first key on.
class KeyMemory {
 public:
  bool Contains(const Key& key) const {
    if (sets_.empty()) return false;
    const Set& set = sets_[KeyHash{}(key) % kOtherSets];
    return std::find(set.keys.begin(), set.keys.end(), key) != set.keys.end();
  }
  void Add(const Key& key) {
    if (Contains(key)) return;
    if (sets_.empty()) sets_.resize(kOtherSets);
    Set& set = sets_[KeyHash{}(key) % kOtherSets];
    set.keys[set.oldest++ % kOtherWays] = key;
  }
  void Forget(const Key& key) {
    if (sets_.empty()) return;
    Set& set = sets_[KeyHash{}(key) % kOtherSets];
    std::replace(set.keys.begin(), set.keys.end(), key, Key{});
  }

 private:
  struct Set {
    std::array<Key, kOtherWays> keys{};
    uint32_t oldest = 0;
  };
  std::vector<Set> sets_;
};

// The last RST that belonged to no connection: the SYN that it answers may come behind it in the capture.
struct Refusal {
  Key key{};
  Direction from = 0;
  uint32_t sequence = 0, acknowledgment = 0;
  FrameRef frame;
};

}  // namespace

struct IwarpTracker::Impl {
  explicit Impl(TrackerContext& c) : context(c), shared(c), closed(c.budget(), c.limits().closed) {}

  void OnPacket(const link::Packet& packet, const FrameRef& frame);
  Entry* Find(const link::Packet& packet, Direction& from);
  Entry& Add(const Key& key);
  void Remove(Entry& entry);
  void Show(const Entry* entry, Direction from, const link::Packet& packet, const FrameRef& frame);
  void NoteGone(const Entry& entry);
  void Settle(Entry& entry);
  void CountResets();
  void EvictOldest(Entries& list);
  void Relieve();
  void Finish();

  Entries& ListOf(const Entry& entry) { return entry.listed_followed ? followed : candidates; }

  TrackerContext& context;
  IwarpShared shared;
  Entries followed, candidates;
  std::unordered_map<Key, Entry*, KeyHash> table;
  // Entries of the last packets, by their ports: most packets need no look into the table.
  std::array<Entry*, 16> recent{};
  static size_t PlaceOf(uint32_t port, uint32_t other_port) { return (port ^ other_port) % 16; }
  std::vector<Entry*> resets;  // closing because of a RST
  KeyMemory others;
  Refusal refusal;
  // For a PacketObserver: connections that closed, until their ports are used again.
  ChargedMap<Key, PacketObserver::Track, KeyHash> closed;
};

// What a PacketObserver sees: the packets of entries, and those that come after one was closed.
void IwarpTracker::Impl::Show(const Entry* entry, Direction from, const link::Packet& packet, const FrameRef& frame) {
  if (entry) return context.packets()->OnSegment(entry->connection.track(), from, packet, frame);
  if (closed.empty()) return;
  Key key{{Endpoint{packet.source, packet.source_port}, Endpoint{packet.destination, packet.destination_port}}};
  if (key.ends[1] < key.ends[0]) std::swap(key.ends[0], key.ends[1]);
  if (const PacketObserver::Track* track = closed.Find(key)) context.packets()->OnSegment(*track, from, packet, frame);
}

// What of an entry that goes a PacketObserver needs to know.
void IwarpTracker::Impl::NoteGone(const Entry& entry) {
  const PacketObserver::Track track = entry.connection.track();
  if (!entry.connection.followed()) return context.packets()->OnForgotten(track);
  if (closed.full()) closed.Clear();
  closed.FindOrAdd(entry.key) = track;
}

void IwarpTracker::Impl::OnPacket(const link::Packet& packet, const FrameRef& frame) {
  Direction from = 0;
  Entry* const entry = Find(packet, from);
  if (context.packets()) Show(entry, from, packet, frame);
  if (entry) {
    Entries& list = ListOf(*entry);
    if (&list.back() != entry) list.splice(list.end(), list, entry->self);
    IwarpConnection& connection = entry->connection;
    if (packet.tcp_flags & link::kTcpRst) {
      connection.OnReset(from, packet.sequence, frame);
    } else if (!(packet.tcp_flags & link::kTcpSyn)) {
      connection.OnSegment(from, packet, frame);
    }
    Settle(*entry);
  }
  if (!resets.empty()) CountResets();
}

// The connection that a packet belongs to, and in which direction; a new one when it may be iWARP; null: not to be
// followed.
Entry* IwarpTracker::Impl::Find(const link::Packet& packet, Direction& from) {
  const bool syn = packet.tcp_flags & link::kTcpSyn;
  Entry*& last = recent[PlaceOf(packet.source_port, packet.destination_port)];
  if (last && !syn && Is(last->key.ends[0], packet.source, packet.source_port) &&
      Is(last->key.ends[1], packet.destination, packet.destination_port)) {
    from = 0;
    return last;
  }
  if (last && !syn && Is(last->key.ends[1], packet.source, packet.source_port) &&
      Is(last->key.ends[0], packet.destination, packet.destination_port)) {
    from = 1;
    return last;
  }
  Key key{{Endpoint{packet.source, packet.source_port}, Endpoint{packet.destination, packet.destination_port}}};
  from = key.ends[1] < key.ends[0] ? 1 : 0;
  if (from == 1) std::swap(key.ends[0], key.ends[1]);
  const auto found = table.find(key);
  last = found != table.end() ? found->second : nullptr;
  if (Entry* entry = last) {
    if (!syn || entry->connection.OnSyn(from, packet)) return entry;
    entry->connection.Close(CloseReason::kSuperseded);
    Remove(*entry);
  } else {
    if (others.Contains(key)) {
      if (!syn) return nullptr;
      others.Forget(key);
    } else if (!syn && (packet.wire_length == 0 || (packet.tcp_flags & link::kTcpRst))) {
      if (packet.tcp_flags & link::kTcpRst)
        refusal = {key, from, packet.sequence, packet.acknowledgment, context.now()};
      return nullptr;  // nothing to learn from it
    }
  }
  Entry& entry = Add(key);
  if (!syn) return &entry;
  entry.connection.OnSyn(from, packet);
  if (refusal.key == key && refusal.from != from && refusal.acknowledgment == packet.sequence + 1)
    entry.connection.OnReset(refusal.from, refusal.sequence, refusal.frame);
  return &entry;
}

Entry& IwarpTracker::Impl::Add(const Key& key) {
  Entry& entry = candidates.emplace_back(shared, key);
  entry.self = std::prev(candidates.end());
  table.emplace(key, &entry);
  closed.Erase(key);
  if (candidates.size() > context.limits().candidates) context.Crowd();
  return entry;
}

void IwarpTracker::Impl::Remove(Entry& entry) {
  std::erase(resets, &entry);
  if (context.packets()) NoteGone(entry);
  table.erase(entry.key);
  if (Entry*& last = recent[PlaceOf(entry.key.ends[0].number, entry.key.ends[1].number)]; last == &entry)
    last = nullptr;
  ListOf(entry).erase(entry.self);
}

void IwarpTracker::Impl::EvictOldest(Entries& list) {
  Entry& entry = list.front();
  entry.connection.Close(CloseReason::kEvicted);
  Remove(entry);
}

// After a packet: what became of its connection.
void IwarpTracker::Impl::Settle(Entry& entry) {
  if (entry.connection.done()) {
    others.Add(entry.key);
    Remove(entry);
    return;
  }
  if (entry.connection.followed() && !entry.listed_followed) {
    followed.splice(followed.end(), candidates, entry.self);
    entry.listed_followed = true;
    if (followed.size() > context.limits().followed) context.Crowd();
  }
  if (entry.connection.reset_seen() && entry.reset_countdown == 0) {
    entry.reset_countdown = kResetDelay + 1;
    resets.push_back(&entry);
  }
}

void IwarpTracker::Impl::CountResets() {
  for (size_t i = 0; i < resets.size();) {
    Entry& entry = *resets[i];
    if (--entry.reset_countdown != 0) {
      ++i;
      continue;
    }
    entry.connection.Close(CloseReason::kReset);
    others.Add(entry.key);
    Remove(entry);
  }
}

// Connections that may turn out to be iWARP go first, then those that have been silent for longest; the newest of each
// stays. One sixteenth more than it takes, so that it is not done for each packet.
void IwarpTracker::Impl::Relieve() {
  const DecoderLimits& limits = context.limits();
  while (candidates.size() > std::max<size_t>(limits.candidates, 1)) EvictOldest(candidates);
  while (followed.size() > std::max<size_t>(limits.followed, 1)) EvictOldest(followed);
  const Budget& budget = context.budget();
  if (!budget.over()) return;
  shared.pool.Clear();
  closed.Clear();
  const uint64_t enough = budget.limit() - budget.limit() / 16;
  while (budget.used() > enough && candidates.size() > 1) EvictOldest(candidates);
  while (budget.used() > enough && followed.size() > 1) EvictOldest(followed);
}

void IwarpTracker::Impl::Finish() {
  for (Entries* list : {&followed, &candidates}) {
    while (!list->empty()) {
      Entry& entry = list->front();
      entry.connection.Close(CloseReason::kEndOfCapture);
      Remove(entry);
    }
  }
  closed.Clear();
  shared.pool.Clear();
}

IwarpTracker::IwarpTracker(TrackerContext& context) : impl_(std::make_unique<Impl>(context)) {}
IwarpTracker::~IwarpTracker() = default;

void IwarpTracker::OnPacket(const link::Packet& packet, const FrameRef& frame) { impl_->OnPacket(packet, frame); }
void IwarpTracker::Relieve() { impl_->Relieve(); }
void IwarpTracker::Finish() { impl_->Finish(); }

}  // namespace stag::fabric
