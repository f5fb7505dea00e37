// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/live_values.h"

#include <algorithm>

namespace stag::replay {

namespace {

using nfs::ValueKind;

constexpr uint32_t kWorthAView = 16384;  // less is copied
constexpr uint32_t kMaxSlots = 1024;
constexpr size_t kMaxSessions = 1024;
constexpr size_t kMaxOwner = 1024;  // NFS4_OPAQUE_LIMIT

Bytes AsBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

void Append(std::vector<std::byte>& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void AppendWord(std::string& out, uint32_t value) {
  std::byte word[4];
  StoreBe32(word, value);
  out.append(reinterpret_cast<const char*>(word), sizeof word);
}

}  // namespace

LiveValues::Session* LiveValues::FindSession(std::string_view key) {
  const auto it = std::ranges::find(sessions_, key, &Session::key);
  return key.empty() || it == sessions_.end() ? nullptr : &*it;
}

LiveValues::Session& LiveValues::AddSession(std::string_view key) {
  if (sessions_.size() >= kMaxSessions) {
    const auto idle =
        std::ranges::find_if(sessions_, [](const Session& s) { return std::ranges::none_of(s.slots, &Slot::taken); });
    sessions_.erase(idle == sessions_.end() ? sessions_.begin() : idle);
  }
  sessions_.push_back({std::string(key), {}});
  return sessions_.back();
}

bool LiveValues::TakeSlot(Session& session, Bytes recorded, HeldSlot& held) {
  std::vector<Slot>& slots = session.slots;
  size_t slot = LoadBe32(recorded.data() + 4);
  if (slot >= slots.size() || slots[slot].taken) {
    slot = static_cast<size_t>(std::ranges::find(slots, false, &Slot::taken) - slots.begin());
    if (slot == slots.size()) return false;
  }
  slots[slot].taken = true;
  held = {session.key, static_cast<uint32_t>(slot)};
  size_t highest = slots.size() - 1;
  while (!slots[highest].taken) --highest;
  made_.clear();
  AppendWord(made_, slots[slot].sequence);
  AppendWord(made_, static_cast<uint32_t>(slot));
  AppendWord(made_, static_cast<uint32_t>(highest));
  return true;
}

Bytes LiveValues::Make(Made made, Bytes recorded) {
  switch (made) {
    case Made::kNo: break;
    case Made::kCallbackNetid: return AsBytes(callback_netid_);
    case Made::kCallbackAddress: return AsBytes(callback_address_);
    case Made::kNoDelegation: {
      // OPEN4_SHARE_ACCESS_WANT_NO_DELEG, where the recorded client did not say what it wants.
      constexpr uint32_t kWants = 0xff00, kWantsNone = 0x0400;
      const uint32_t access = LoadBe32(recorded.data());
      made_.clear();
      AppendWord(made_, (access & kWants) == 0 ? access | kWantsNone : access);
      return AsBytes(made_);
    }
  }
  return {};
}

Bytes LiveValues::Replacement(const Use& use, Bytes recorded) {
  if (use.made != Made::kNo) return Make(use.made, recorded);
  switch (use.kind) {
    case ValueKind::kClientVerifier: {
      made_.clear();
      AppendWord(made_, static_cast<uint32_t>(identity_.verifier >> 32));
      AppendWord(made_, static_cast<uint32_t>(identity_.verifier));
      return AsBytes(made_);
    }
    case ValueKind::kClientOwner: {
      const size_t kept = std::min(recorded.size(), kMaxOwner - identity_.owner_suffix.size());
      made_.assign(reinterpret_cast<const char*>(recorded.data()), kept);
      made_ += identity_.owner_suffix;
      return AsBytes(made_);
    }
    case ValueKind::kClientSequence: {  // the live value is a distance
      const Bytes distance = live_.Find(use.key);
      if (distance.empty()) return {};
      made_.clear();
      AppendWord(made_, LoadBe32(recorded.data()) + LoadBe32(distance.data()));
      return AsBytes(made_);
    }
    default: return use.key.empty() ? Bytes{} : live_.Find(use.key);
  }
}

bool LiveValues::Rewrite(const PlannedCall& call, RewrittenCall& out) {
  const Bytes recorded = call.rpc.call.bytes;
  out.message.clear();
  out.slot = {};
  out.item_offset = call.item ? call.item->offset : 0;
  out.item = {};
  if (call.item && call.item->length >= kWorthAView)
    out.item = recorded.subspan(static_cast<size_t>(call.item->offset), call.item->length);
  const size_t item_begin = out.item.empty() ? recorded.size() : static_cast<size_t>(call.item->offset);
  const size_t item_end = std::min(recorded.size(), item_begin + static_cast<size_t>(RoundUp4(out.item.size())));
  // What is recorded from `from` to `to`, but for the item.
  const auto put = [&](size_t from, size_t to) {
    const size_t before = std::clamp(to, from, std::max(from, item_begin)), behind = std::max(from, item_end);
    Append(out.message, recorded.subspan(from, before - from));
    if (to > behind) Append(out.message, recorded.subspan(behind, to - behind));
  };
  Session* session = FindSession(call.session);
  size_t copied = 0;
  bool unknown = false;
  for (const Use& use : call.uses) {
    const Bytes old = recorded.subspan(static_cast<size_t>(use.offset), use.length);
    Bytes value;
    if (use.made == Made::kNo && use.kind == ValueKind::kSlot) {
      if (!session || !out.slot.session.empty()) continue;
      if (!TakeSlot(*session, old, out.slot)) return false;
      value = AsBytes(made_);
    } else {
      value = Replacement(use, old);
      unknown |= value.empty() && !use.secondary() && use.made == Made::kNo;
    }
    const bool counted = use.made == Made::kCallbackNetid || use.made == Made::kCallbackAddress ||
                         use.kind == ValueKind::kClientOwner ||
                         (use.kind == ValueKind::kHandle && call.rpc.version > 2);
    if (value.empty() || (value.size() != old.size() && !counted)) continue;
    put(copied, static_cast<size_t>(use.offset));
    if (value.size() == old.size()) {
      Append(out.message, value);
      copied = static_cast<size_t>(use.offset) + use.length;
      continue;
    }
    StoreBe32(out.message.data() + out.message.size() - 4, static_cast<uint32_t>(value.size()));
    Append(out.message, value);
    out.message.resize(out.message.size() + (RoundUp4(value.size()) - value.size()));
    copied = static_cast<size_t>(use.offset + RoundUp4(use.length));
    if (call.item && use.offset < call.item->offset)
      out.item_offset += RoundUp4(value.size()) - RoundUp4(use.length);  // modulo 2^64
  }
  put(copied, recorded.size());
  unknown_ += unknown;
  return true;
}

void LiveValues::Learn(const PlannedCall& call, const Values& reply) {
  const recording::RecordedRpc& rpc = call.rpc;
  if (!call.gives) return;
  const rpc::CallHeader header = rpc::DecodeCall(rpc.call.bytes, rpc.call.bytes.size());
  recorded_.OfReply(header, rpc::DecodeReply(rpc.reply.bytes, rpc.reply.bytes.size()), rpc.reply.bytes);
  call_.OfCall(header, rpc.call.bytes);
  const std::span<const FoundValue> live = reply.found();
  Match(recorded_.found(), live, matches_);
  ForEachKey(recorded_.found(), call_.found(), [&](const KeyedValue& value) {
    const size_t match = matches_[value.index];
    if (match == SIZE_MAX) return;
    const FoundValue& found = live[match];
    if (value.kind == ValueKind::kClientSequence) {
      std::byte distance[4];
      StoreBe32(distance, LoadBe32(found.bytes.data()) - LoadBe32(value.bytes.data()));
      return Set(value.key, distance);
    }
    const uint64_t from = value.offset - recorded_.found()[value.index].offset;
    Set(value.key, value.kind == ValueKind::kStateid
                       ? found.bytes.subspan(static_cast<size_t>(from), value.bytes.size())
                       : found.bytes);
    if (value.kind != ValueKind::kSession) return;
    const auto count = std::ranges::find_if(
        live, [&](const FoundValue& v) { return v.kind == ValueKind::kSlotCount && v.op_index == found.op_index; });
    if (count == live.end()) return;
    Session* session = FindSession(value.key);
    if (!session) session = &AddSession(value.key);
    session->slots.assign(std::clamp(LoadBe32(count->bytes.data()), 1u, kMaxSlots), Slot{});
  });
}

void LiveValues::Release(const HeldSlot& held, bool done) {
  Session* session = FindSession(held.session);
  if (!session || held.slot >= session->slots.size()) return;
  Slot& slot = session->slots[held.slot];
  slot.taken = false;
  if (done) ++slot.sequence;
}

}  // namespace stag::replay
