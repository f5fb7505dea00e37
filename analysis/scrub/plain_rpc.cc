// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/plain_rpc.h"

#include <algorithm>

#include "protocol/iwarp/mpa.h"

namespace stag::scrub {
namespace {

constexpr size_t kMark = 4, kSmallestReply = 12;
constexpr uint32_t kLastFragment = 0x80000000u;
constexpr uint32_t kMaxRecord = 2u << 20;

std::string Name(const Address& address, uint32_t port) {
  std::string name(reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size());
  name += static_cast<char>(address.kind);
  name += static_cast<char>(port >> 8);
  name += static_cast<char>(port);
  return name;
}

bool IsMessage(Bytes message) {
  if (message.size() < kSmallestReply) return false;
  const uint32_t type = LoadBe32(&message[4]), third = LoadBe32(&message[8]);
  return (type == rpc::kCall && third == 2) || (type == rpc::kReply && third <= rpc::kDenied);
}

// Whole records only: of what comes in several fragments, or is not RPC, nothing is known.
bool BeginsRecord(Bytes bytes) {
  if (bytes.size() < kMark + kSmallestReply) return false;
  const uint32_t mark = LoadBe32(bytes.data());
  return (mark & kLastFragment) != 0 && (mark & ~kLastFragment) <= kMaxRecord && IsMessage(bytes.subspan(kMark));
}

}  // namespace

void PlainRpc::Drop(Direction& direction) {
  direction.bytes = {};
  direction.places = {};
  direction.charge.Set(0);
  direction.in_record = false;
}

void PlainRpc::OnSegment(const link::Packet& packet, uint64_t frame) {
  if (packet.wire_length == 0) return;
  const std::string from = Name(packet.source, packet.source_port);
  const std::string to = Name(packet.destination, packet.destination_port);
  if (directions_.size() >= limits_.directions && !directions_.contains(from + to)) directions_.clear();
  Direction& direction = directions_.try_emplace(from + to, waiting_).first->second;
  const Bytes key = packet.payload.first(std::min(packet.payload.size(), iwarp::kMpaKeySize));
  if (iwarp::RecogniseMpaKey(key) != iwarp::MpaKey::kNone) return Drop(direction);  // no RPC in record marks any more
  const bool continues = direction.in_record && packet.sequence == direction.next;
  if (!continues) {
    Drop(direction);
    if (!BeginsRecord(packet.payload)) return;
  }
  if (!direction.charge.TryAdd(packet.payload.size() + sizeof(Place))) return Drop(direction);
  direction.in_record = true;
  direction.next = packet.sequence + static_cast<uint32_t>(packet.wire_length);
  direction.bytes.insert(direction.bytes.end(), packet.payload.begin(), packet.payload.end());
  direction.places.push_back({frame, 0, packet.payload.size()});
  Consume(from, to, direction);
  if (packet.payload.size() < packet.wire_length) Drop(direction);  // cut: what follows stands elsewhere
}

void PlainRpc::Consume(const std::string& from, const std::string& to, Direction& direction) {
  std::vector<std::byte> out;
  while (direction.bytes.size() >= kMark + kSmallestReply) {
    if (!BeginsRecord(direction.bytes)) return Drop(direction);
    const size_t size = kMark + (LoadBe32(direction.bytes.data()) & ~kLastFragment);
    if (direction.bytes.size() < size)  // it may never be whole: what a record begins with
      return WritePlaces(frames_, direction.places, Bytes(direction.bytes).first(kMark + kSmallestReply));
    const Bytes record = Bytes(direction.bytes).first(size);
    if (!Message(from, to, record.subspan(kMark), size - kMark, out)) return Drop(direction);
    out.insert(out.begin(), record.begin(), record.begin() + kMark);
    WritePlaces(frames_, direction.places, out);
    direction.bytes.erase(direction.bytes.begin(), direction.bytes.begin() + static_cast<ptrdiff_t>(size));
    uint64_t left = size;
    auto place = direction.places.begin();
    for (; left > 0; place += place->length == 0) {
      const uint64_t n = std::min(left, place->length);
      place->offset += n;
      place->length -= n;
      left -= n;
    }
    direction.places.erase(direction.places.begin(), place);
    if (!direction.charge.TrySet(direction.bytes.size() + direction.places.size() * sizeof(Place)))
      return Drop(direction);
  }
}

bool PlainRpc::OnDatagram(const link::Packet& packet, Bytes payload, uint64_t length, uint64_t frame) {
  std::vector<std::byte> out;
  if (!IsMessage(payload)) return false;
  if (!Message(Name(packet.source, packet.source_port), Name(packet.destination, packet.destination_port), payload,
               length, out))
    return false;
  frames_.Write({frame, 0, out.size()}, out);
  return true;
}

bool PlainRpc::Message(const std::string& from, const std::string& to, Bytes message, uint64_t length,
                       std::vector<std::byte>& out) {
  static const std::vector<session::DataItem> kInline;
  const std::string xid(reinterpret_cast<const char*>(message.data()), 4);
  if (LoadBe32(&message[4]) == rpc::kReply) {
    const auto known = calls_.find(from + to + xid);
    if (known == calls_.end()) return false;
    rpc_.Reply(known->second.header, known->second.reads, message, length, kInline, out);
    return true;
  }
  const rpc::CallHeader header = rpc::DecodeCall(message, length);
  if (header.words < 6) return false;
  rpc_.Call(message, length, kInline, out);
  KnownCall call(asked_);
  call.header = header;
  call.header.credential.body = call.header.verifier.body = {};
  std::vector<FileRange> reads, writes;
  RpcScrubber::Ranges(header, message, length, kInline, reads, writes);
  call.handles.reserve(reads.size());
  for (FileRange range : reads) {
    range.handle = call.handles.emplace_back(range.handle.begin(), range.handle.end());
    call.reads.push_back(range);
  }
  Keep(to + from + xid, std::move(call));
  return true;
}

// The oldest go for it; of one that is too large the Reply stays zero.
void PlainRpc::Keep(std::string name, KnownCall call) {
  constexpr uint64_t kFixed = 512;  // bytes: of the tables, too
  uint64_t bytes = kFixed + call.reads.size() * (sizeof(FileRange) + sizeof(std::vector<std::byte>));
  for (const auto& handle : call.handles) bytes += handle.size();
  if (bytes > limits_.bytes / 2) return;
  while (oldest_.size() >= limits_.calls || !call.charge.TrySet(bytes)) {
    const auto oldest = calls_.find(oldest_.front().first);
    if (oldest != calls_.end() && oldest->second.serial == oldest_.front().second) calls_.erase(oldest);
    oldest_.pop_front();
  }
  call.serial = ++serial_;
  oldest_.emplace_back(name, call.serial);
  calls_.insert_or_assign(std::move(name), std::move(call));
}

}  // namespace stag::scrub
