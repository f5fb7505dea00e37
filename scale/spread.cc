// SPDX-License-Identifier: GPL-2.0-or-later
#include "scale/spread.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace stag::scale {
namespace {

using Box = Team::Box;

constexpr size_t kPartBytes = size_t{1} << 20;

// The first byte of a message.
enum class Kind : char { kReady = 'r', kPart = 'p', kLastPart = 'l', kWork = 'w', kGive = 'g', kEnd = 'e' };

std::string Numbered(Kind kind, std::optional<size_t> piece = {}) {
  return static_cast<char>(kind) + (piece ? std::to_string(*piece) : std::string());
}

size_t PieceOf(std::string_view message) { return std::stoul(std::string(message.substr(1))); }

}  // namespace

void WorkFor(Team& team, const std::function<void(size_t piece, Spool& made)>& work) {
  Spool spool;
  std::map<size_t, std::pair<uint64_t, uint64_t>> kept;  // by piece: where in the spool
  std::string answer = Numbered(Kind::kReady);
  for (;;) {
    team.Send(0, Box::kLeader, answer);
    answer = Numbered(Kind::kReady);
    const std::string message = team.Receive(Box::kMember).bytes;
    const Kind kind = static_cast<Kind>(message.at(0));
    if (kind == Kind::kEnd) return;
    const size_t piece = PieceOf(message);
    if (kind == Kind::kWork) {
      const uint64_t from = spool.size();
      work(piece, spool);
      kept[piece] = {from, spool.size()};
      answer = Numbered(Kind::kReady, piece);
      continue;
    }
    const auto [from, to] = kept.at(piece);
    std::string part;
    spool.Read(from, to, kPartBytes, [&](std::string_view bytes, bool last) {
      part.assign(1, static_cast<char>(last ? Kind::kLastPart : Kind::kPart)).append(bytes);
      team.Send(0, Box::kLeader, part);
    });
    kept.erase(piece);
    if (kept.empty()) spool.Clear();
  }
}

Leader::Leader(Team& team, std::vector<size_t> order)
    : team_(team), order_(std::move(order)), done_by_(order_.size()), waits_(team.size()) {}

void Leader::OnReady(size_t member, std::string_view bytes) {
  if (bytes.size() > 1) done_by_.at(PieceOf(bytes)) = member;
  waits_[member] = true;
  Direct(member);
}

void Leader::Direct(size_t member) {
  if (!waits_[member]) return;
  if (wanted_ && done_by_[*wanted_] == member) {
    team_.Send(member, Box::kMember, Numbered(Kind::kGive, wanted_));
    wanted_.reset();
  } else if (next_ < order_.size()) {
    team_.Send(member, Box::kMember, Numbered(Kind::kWork, order_[next_++]));
  } else {
    return;
  }
  waits_[member] = false;
}

void Leader::Collect(size_t piece, const std::function<void(std::string_view bytes)>& take) {
  wanted_ = piece;
  if (done_by_[piece]) Direct(*done_by_[piece]);
  for (;;) {
    const Team::Message message = team_.Receive(Box::kLeader);
    const Kind kind = static_cast<Kind>(message.bytes.at(0));
    if (kind == Kind::kReady) {
      OnReady(message.from, message.bytes);
      continue;
    }
    take(std::string_view(message.bytes).substr(1));
    if (kind == Kind::kLastPart) return;
  }
}

void Leader::End() {
  next_ = order_.size();
  while (std::ranges::count(waits_, true) < static_cast<ptrdiff_t>(waits_.size())) {
    const Team::Message message = team_.Receive(Box::kLeader);
    OnReady(message.from, message.bytes);
  }
  for (size_t member = 0; member < waits_.size(); ++member) team_.Send(member, Box::kMember, Numbered(Kind::kEnd));
}

}  // namespace stag::scale
