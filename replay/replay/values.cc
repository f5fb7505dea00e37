// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/values.h"

#include <algorithm>
#include <unordered_map>

namespace stag::replay {

namespace {

using nfs::ValueKind;

constexpr char kStateKey = '\x7f';  // of what names the state in a stateid
constexpr size_t kSeqidBytes = 4;

void Append(std::string& key, Bytes bytes) { key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); }

// RFC 8881 section 8.2.3, RFC 7530 section 9.1.4.3: all zeros or all ones behind the seqid.
bool IsSpecialStateid(Bytes stateid) {
  const Bytes other = stateid.subspan(kSeqidBytes);
  return std::ranges::all_of(other, [](std::byte b) { return b == std::byte{0}; }) ||
         std::ranges::all_of(other, [](std::byte b) { return b == std::byte{0xff}; });
}

// The handle that the Call named last, up to an operation.
Bytes DirectoryOf(std::span<const FoundValue> call, uint32_t op_index) {
  Bytes handle;
  for (const FoundValue& value : call) {
    if (value.op_index > op_index) break;
    if (value.kind == ValueKind::kHandle) handle = value.bytes;
  }
  return handle;
}

std::string MatchKey(const FoundValue& value, uint32_t ordinal) {
  std::string key(1, static_cast<char>(value.kind));
  key += value.name.empty() ? 'o' : 'n';
  key += std::to_string(value.op_index) + ':';
  if (value.name.empty()) {
    key += std::to_string(ordinal);
  } else {
    Append(key, value.name);
  }
  return key;
}

// Calls fn(index, key) for each value, counting those without a name.
template <typename Fn>
void ForEachMatchKey(std::span<const FoundValue> values, Fn fn) {
  std::unordered_map<uint64_t, uint32_t> counts;
  for (size_t i = 0; i < values.size(); ++i) {
    const FoundValue& value = values[i];
    const uint64_t group = uint64_t{value.op_index} << 8 | static_cast<uint64_t>(value.kind);
    fn(i, MatchKey(value, value.name.empty() ? counts[group]++ : 0));
  }
}

}  // namespace

void Values::OfCall(const rpc::CallHeader& header, Bytes message) {
  ops_.clear();
  callback_netid_ = callback_address_ = {};
  found_.clear();
  items_.clear();
  chunks_ = {};
  message_ = message;
  walk_ = nfs::WalkCall(header, message, message.size(), *this);
}

void Values::OfReply(const rpc::CallHeader& call, const rpc::ReplyHeader& header, Bytes message,
                     std::span<const Bytes> chunks) {
  found_.clear();
  items_.clear();
  chunks_ = chunks;
  message_ = message;
  sequence_done_ = false;
  walk_ = nfs::WalkReply(call, header, message, message.size(), *this);
}

bool Values::IsReduced(const nfs::Item& item) {
  FoundItem found{item.offset, item.length};
  const size_t chunk = items_.size();
  if (chunk < chunks_.size() && !chunks_[chunk].empty()) found.chunk = static_cast<uint32_t>(chunk);
  items_.push_back(found);
  return found.chunk != UINT32_MAX;
}

void Values::OnValue(const nfs::Value& value) {
  found_.push_back({value.kind, value.op_index, value.offset,
                    message_.subspan(static_cast<size_t>(value.offset), value.length), value.name});
}

void Values::OnOperation(uint32_t op_index, uint32_t op) {
  ops_.resize(std::max<size_t>(ops_.size(), size_t{op_index} + 1));
  ops_[op_index] = op;
}

void Values::OnCallbackAddress(uint32_t, Bytes netid, Bytes address) {
  callback_netid_ = netid;
  callback_address_ = address;
}

void Values::OnOperationResult(uint32_t, uint32_t op, uint32_t status) {
  constexpr uint32_t kSequence = 53;  // RFC 8881 section 18.46
  if (op == kSequence && status == 0) sequence_done_ = true;
}

void ForEachKey(std::span<const FoundValue> values, std::span<const FoundValue> call,
                const std::function<void(const KeyedValue&)>& fn) {
  std::string key;
  Bytes client;
  for (size_t i = 0; i < values.size(); ++i) {
    const FoundValue& value = values[i];
    const auto give = [&](size_t from, size_t size) {
      fn({key, value.offset + from, value.bytes.subspan(from, size), value.kind, i});
    };
    key.assign(1, static_cast<char>(value.kind));
    switch (value.kind) {
      case ValueKind::kHandle:
      case ValueKind::kConfirmVerifier:
      case ValueKind::kSession: break;
      case ValueKind::kClientId: client = value.bytes; break;
      case ValueKind::kClientSequence:  // counts on from what the server gave, so the number is not in the key
        Append(key, client);
        give(0, value.bytes.size());
        continue;
      case ValueKind::kCookie:
      case ValueKind::kCookieVerifier: {
        const Bytes directory = DirectoryOf(call, value.op_index);
        key += static_cast<char>(directory.size());
        Append(key, directory);
        break;
      }
      case ValueKind::kStateid:
        if (IsSpecialStateid(value.bytes)) continue;
        Append(key, value.bytes);
        give(0, kSeqidBytes);
        key.assign(1, kStateKey);
        Append(key, value.bytes.subspan(kSeqidBytes));
        give(kSeqidBytes, value.bytes.size() - kSeqidBytes);
        continue;
      case ValueKind::kSlot:
      case ValueKind::kSlotCount:
      case ValueKind::kClientVerifier:
      case ValueKind::kClientOwner: continue;  // made, not looked up
    }
    if (value.bytes.empty()) continue;
    Append(key, value.bytes);
    give(0, value.bytes.size());
  }
}

void Match(std::span<const FoundValue> recorded, std::span<const FoundValue> live, std::vector<size_t>& out) {
  out.assign(recorded.size(), SIZE_MAX);
  std::unordered_map<std::string, size_t> at;
  ForEachMatchKey(live, [&](size_t i, std::string key) { at.try_emplace(std::move(key), i); });
  ForEachMatchKey(recorded, [&](size_t i, const std::string& key) {
    if (const auto it = at.find(key); it != at.end()) out[i] = it->second;
  });
}

std::string_view ValueName(nfs::ValueKind kind) {
  switch (kind) {
    case ValueKind::kHandle: return "file handle";
    case ValueKind::kCookie: return "directory cookie";
    case ValueKind::kCookieVerifier: return "cookie verifier";
    case ValueKind::kClientId: return "client id";
    case ValueKind::kConfirmVerifier: return "confirm verifier";
    case ValueKind::kClientSequence: return "client sequence";
    case ValueKind::kSession: return "session id";
    case ValueKind::kSlot: return "slot";
    case ValueKind::kSlotCount: return "slot count";
    case ValueKind::kStateid: return "stateid";
    case ValueKind::kClientVerifier: return "client verifier";
    case ValueKind::kClientOwner: return "client owner";
  }
  return "value";
}

}  // namespace stag::replay
