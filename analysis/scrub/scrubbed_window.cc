// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/scrubbed_window.h"

#include <algorithm>

#include "protocol/iwarp/fpdu.h"

namespace stag::scrub {

Result<void> ScrubbedWindow::Append(const Frame& frame, const FramePayload& payload, uint32_t states) {
  Entry& entry = entries_.emplace_back();
  entry.ref = frame.ref;
  entry.link = frame.link;
  entry.wire_length = frame.wire_length;
  entry.states = states;
  entry.payload = payload;
  entry.bytes.assign(frame.bytes.begin(), frame.bytes.end());
  waiting_ += entry.bytes.size();
  newest_ns_ = std::max(newest_ns_, frame.ref.time_ns);
  return {};
}

std::optional<Frame> ScrubbedWindow::Front() {
  if (given_ == frames()) return std::nullopt;
  Entry& entry = *Find(given_ + 1);
  if (given_ >= released_ && waiting_ <= size_.bytes && newest_ns_ - entry.ref.time_ns < size_.ns) return std::nullopt;
  if (!finished_) Finish(entry);
  finished_ = true;
  return Frame{entry.ref, entry.link, entry.bytes, entry.wire_length};
}

void ScrubbedWindow::Pop() {
  const uint64_t size = Find(++given_)->bytes.size();
  finished_ = false;
  waiting_ -= size;
  remembered_ += size;
  while (remembered_ > size_.bytes && before_ < given_) {
    remembered_ -= entries_.front().bytes.size();
    entries_.pop_front();
    ++before_;
  }
}

MutableBytes ScrubbedWindow::At(Entry& entry, const Place& place) {
  if (place.offset >= entry.payload.captured) return {};
  const uint64_t n = std::min(place.length, entry.payload.captured - place.offset);
  return MutableBytes(entry.bytes).subspan(entry.payload.offset + static_cast<size_t>(place.offset), n);
}

// What it repeats is in it now: frames before it went out, or are about to.
void ScrubbedWindow::Settle(Entry& entry) {
  if (std::exchange(entry.final, true)) return;
  for (const Copy& copy : entry.copies) {
    Entry* const from = Find(copy.from.frame);
    if (!from) continue;
    const Bytes bytes = At(*from, copy.from);
    const MutableBytes room = At(entry, copy.to);
    std::copy_n(bytes.begin(), std::min(bytes.size(), room.size()), room.begin());
  }
  entry.copies.clear();
}

void ScrubbedWindow::Finish(Entry& entry) {
  Settle(entry);
  std::vector<MutableBytes> parts;
  for (const Seal& seal : entry.seals) {
    parts.clear();
    bool whole = true;
    for (const Place& place : seal.fpdu) {
      Entry* const other = Find(place.frame);
      if (other) Settle(*other);
      parts.push_back(other ? At(*other, place) : MutableBytes{});
      whole = whole && parts.back().size() == place.length;
    }
    if (whole) StoreFpduCrc(parts, seal.right);
  }
  entry.seals.clear();
  for (const Change& change : entry.changes) ChangeRepeat(At(entry, change.place), change.fpdu);
  entry.changes.clear();
  checksums_.Store(entry.bytes, entry.link, entry.wire_length, entry.states);
}

void ScrubbedWindow::Write(const Place& place, Bytes bytes) {
  Entry* const entry = Find(place.frame);
  if (!entry || entry->final) return;
  const MutableBytes room = At(*entry, place);
  std::copy_n(bytes.begin(), std::min(bytes.size(), room.size()), room.begin());
}

void ScrubbedWindow::CopyLater(const Place& from, const Place& to) {
  if (Entry* const entry = Find(to.frame); entry && !entry->final) entry->copies.push_back({from, to});
}

void ScrubbedWindow::ChangeLater(const Place& place, bool fpdu) {
  if (Entry* const entry = Find(place.frame); entry && !entry->final) entry->changes.push_back({place, fpdu});
}

void ScrubbedWindow::SealLater(const std::vector<Place>& fpdu, bool right) {
  uint64_t left = iwarp::kCrcSize;
  for (size_t i = fpdu.size(); i-- > 0;) {
    if (left > fpdu[i].length) {
      left -= fpdu[i].length;
      continue;
    }
    if (Entry* const entry = Find(fpdu[i].frame); entry && !entry->final) entry->seals.push_back({fpdu, right});
    return;
  }
}

std::optional<uint32_t> ScrubbedWindow::Psn(uint64_t frame) {
  const Entry* const entry = Find(frame);
  return entry ? std::optional(entry->payload.psn) : std::nullopt;
}

}  // namespace stag::scrub
