// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/times/ordered_reader.h"

#include <algorithm>
#include <functional>

#include "protocol/base/hash.h"

namespace stag::capture {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr uint64_t kLookBytes = uint64_t{16} << 20;
constexpr std::chrono::milliseconds kPatience{1000};  // with who writes what is read, before the window is emptied
constexpr size_t kFlows = 1024;
constexpr size_t kOpenSteps = 8;
// A step is of another kind than one that is so many times as long.
constexpr int64_t kAlike = 8;
// So many frames behind a step are not a few that are late.
constexpr uint64_t kFew = 8;

// Times are within 63 bits: so are their differences.
int64_t Distance(int64_t a, int64_t b) { return a > b ? a - b : b - a; }

}  // namespace

OrderedReader::OrderedReader(Reader& reader, Order order, uint64_t memory, Start start, const link::TunnelPorts& ports)
    : ReaderAround(reader),
      order_(order),
      span_ns_(order == Order::kTime ? kHourNs : kSpanNs),
      memory_limit_(memory),
      ports_(ports),
      straight_(order == Order::kFile || (order == Order::kAuto && start == Start::kInOrder)),
      disordered_(order == Order::kTime || start == Start::kGoesBack) {}

OrderedReader::Start OrderedReader::Look(Reader& reader) {
  return reader.GoesBack(kFrames, kLookBytes) ? Start::kGoesBack : Start::kInOrder;
}

void OrderedReader::LookAt(const Frame& frame) {
  until_look_ = kLookEvery;
  (void)BackFrom(frame);
  flows_to_ns_ = frame.ref.time_ns;
}

// A frame whose time is before that of the frame before, which was delivered.
Reader::Next OrderedReader::BeginToHold(Frame& frame) {
  last_ns_ = second_ns_ = newest_ns_;
  given_ns_ = newest_ns_;
  given_era_ = era_;
  if (newest_ns_ - frame.ref.time_ns > kHourNs) {
    BeginEra();
    newest_ns_ = frame.ref.time_ns;
    frame.ref.clock = clock_;
    given_ = frame.ref.number;
    return Next::kFrame;
  }
  straight_ = draining_ = false;
  Hold(frame);
  return ReadHeld(frame);
}

Reader::Next OrderedReader::ReadHeld(Frame& frame) {
  LetGo();
  while (!draining_ && end_ == Next::kFrame) {
    if (!waiting_.empty()) {
      if (Full()) {
        draining_ = !disordered_ && steps_.empty();
        break;
      }
      silent_ = reader_.Waits(silent_ ? std::chrono::milliseconds{0} : kPatience);
      if (silent_) break;
    }
    if (const Next next = reader_.ReadFrame(frame); next == Next::kFrame) {
      Hold(frame);
    } else {
      end_ = next;
    }
  }
  if (waiting_.empty()) {
    straight_ = true;
    if (end_ != Next::kFrame) return end_;
    return ReadFrame(frame);
  }
  while (!steps_.empty() && waiting_.front().number >= steps_.front().number) Decide();
  squeezed_ |= UsedMemory() > memory_limit_;
  std::ranges::pop_heap(waiting_, std::greater{});
  const Turn key = waiting_.back();
  waiting_.pop_back();
  slot_now_ = key.slot;
  held_now_ = true;
  frame = slots_[slot_now_].frame;
  frame.ref.moved = static_cast<int32_t>(++given_ - frame.ref.number);
  disorder_.moved += frame.ref.moved != 0 ? 1 : 0;
  if (key.era != given_era_) {
    given_era_ = key.era;
    given_ns_ = kNever;
  }
  if (frame.ref.timed && frame.ref.time_ns < given_ns_) {
    ++disorder_.late;
    disorder_.late_by_ns = std::max(disorder_.late_by_ns, given_ns_ - frame.ref.time_ns);
    disorder_.short_of_memory |= squeezed_;
  }
  given_ns_ = std::max(given_ns_, frame.ref.time_ns);
  return Next::kFrame;
}

// Of the frame that was delivered last.
void OrderedReader::LetGo() {
  if (!held_now_) return;
  held_now_ = false;
  free_.push_back(slot_now_);
  Memory& memory = memory_[slots_[slot_now_].memory];
  if (--memory.users > 0) return;
  bytes_ -= memory.memory.size;
  memory.memory = {};
}

// Nothing that comes goes before the next frame, as far as the window reaches, and what it needs is known.
bool OrderedReader::Full() const {
  const Turn& next = waiting_.front();
  if (waiting_.size() >= kFrames || next.era < era_ || UsedMemory() > memory_limit_) return true;
  if (newest_ns_ - next.time_ns >= span_ns_) return true;
  return !steps_.empty() && last_ns_ - steps_.front().time_ns >= span_ns_;
}

void OrderedReader::Hold(const Frame& frame) {
  uint32_t slot = static_cast<uint32_t>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Held& held = slots_[slot];
  held.frame = frame;
  held.frame.ref.clock = clock_;
  held.memory = Pin();
  if (reader_.has_comments()) held.comment = reader_.comment();
  if (order_ == Order::kAuto) held.back_from = BackFrom(frame);
  Place(slot);
}

// The memory of the frame that was read last has one user more.
size_t OrderedReader::Pin() {
  const FrameMemory& memory = reader_.memory();
  if (newest_memory_ >= memory_.size() || memory_[newest_memory_].memory.owner != memory.owner) {
    const auto unused = std::ranges::find(memory_, size_t{0}, &Memory::users);
    newest_memory_ = static_cast<size_t>(unused - memory_.begin());
    if (unused == memory_.end()) memory_.emplace_back();
    memory_[newest_memory_].memory = memory;
    bytes_ += memory.size;
  }
  ++memory_[newest_memory_].users;
  return newest_memory_;
}

uint64_t OrderedReader::BackFrom(const Frame& frame) {
  link::Decode(frame, packet_, ports_);
  uint64_t key = MixHash(MixHash(static_cast<uint64_t>(packet_.carrier), packet_.source), packet_.destination);
  if (packet_.carrier == link::Carrier::kOther) return 0;
  if (packet_.carrier == link::Carrier::kTcp) {
    key = MixHash(key, uint64_t{packet_.source_port} << 16 | packet_.destination_port);
  } else if (packet_.payload.size() >= 8) {
    key = MixHash(key, LoadBe32(&packet_.payload[4]) & 0xffffff);  // the queue pair
  }
  if (flows_.empty()) flows_.resize(kFlows);
  Flow& flow = flows_[key % kFlows];
  const bool back = flow.key == key && frame.ref.time_ns < flow.time_ns;
  const uint64_t from = back ? flow.number : 0;
  flow = {key, frame.ref.number, frame.ref.time_ns};
  return from;
}

void OrderedReader::Place(uint32_t slot) {
  const Held& held = slots_[slot];
  const int64_t time = held.frame.ref.time_ns;
  if (last_ns_ != kNever && Distance(time, last_ns_) > kHourNs) BeginEra();
  if (order_ == Order::kAuto) Measure(held);
  last_ns_ = flows_to_ns_ = time;
  if (time >= newest_ns_) {
    second_ns_ = newest_ns_;
    newest_ns_ = time;
  } else if (newest_ns_ - time > span_ns_ && era_ == given_era_ && time < given_ns_) {
    floor_ns_ = newest_ns_;  // it keeps its place, and nothing that comes goes before it
  }
  const Turn key{era_, held.frame.ref.number, std::max(time, floor_ns_), slot};
  waiting_.push_back(key);
  std::ranges::push_heap(waiting_, std::greater{});
}

// Times are not compared with those before.
void OrderedReader::BeginEra() {
  ++era_;
  newest_ns_ = second_ns_ = last_ns_ = floor_ns_ = kNever;
  open_.clear();
}

void OrderedReader::Measure(const Held& held) {
  const FrameRef& ref = held.frame.ref;
  if (last_ns_ != kNever && ref.time_ns < last_ns_) {
    if (open_.size() == kOpenSteps) open_.erase(open_.begin());
    open_.push_back(ref.number);
    steps_.push_back({ref.number, ref.time_ns, last_ns_ - ref.time_ns, newest_ns_, second_ns_, 0, std::nullopt,
                      flows_to_ns_ > ref.time_ns, false});
  }
  std::erase_if(open_, [&](uint64_t number) {
    const auto step = std::ranges::lower_bound(steps_, number, {}, &Step::number);
    if (step == steps_.end() || step->number != number) return true;  // is decided
    if (ref.time_ns >= step->newest_ns) {
      step->gap_ns = ref.time_ns - last_ns_;
      return true;
    }
    ++step->frames;
    step->flow |= held.back_from != 0 && held.back_from < number;
    return false;
  });
}

// Of the oldest step, whether a clock was set there.
void OrderedReader::Decide() {
  const Step step = steps_.front();
  steps_.pop_front();
  const bool set = WasSet(step);
  decided_[decided_count_++ % decided_.size()] = step;
  if (set) return BeginClock(step);
  disordered_ = true;
}

bool OrderedReader::WasSet(const Step& step) const {
  if (step.known && !step.flow) return false;
  // One frame that is late, or early.
  if (step.frames < 2 && (step.size_ns <= span_ns_ || step.gap_ns)) return false;
  if (step.second_ns <= step.time_ns) return false;
  if (step.frames < kFew && step.gap_ns && *step.gap_ns >= step.size_ns / 2) return false;  // and back
  const auto alike = [&](const Step& other) {
    return other.number != 0 && other.size_ns >= step.size_ns / kAlike &&
           Distance(other.time_ns, step.time_ns) <= 2 * (kSpanNs + step.size_ns);
  };
  return std::ranges::none_of(decided_, alike) && std::ranges::none_of(steps_, alike);
}

// Frames from the step on are of a clock that was set there.
void OrderedReader::BeginClock(const Step& step) {
  ++disorder_.clocks_set;
  ++clock_;
  const auto after =
      std::partition(waiting_.begin(), waiting_.end(), [&](const Turn& key) { return key.number < step.number; });
  std::vector<Turn> again(after, waiting_.end());
  waiting_.erase(after, waiting_.end());
  std::ranges::make_heap(waiting_, std::greater{});
  std::ranges::sort(again, {}, &Turn::number);
  steps_.clear();  // those behind this one are found again
  BeginEra();
  for (const Turn& key : again) {
    slots_[key.slot].frame.ref.clock = clock_;
    Place(key.slot);
  }
}

}  // namespace stag::capture
