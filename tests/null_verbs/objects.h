// SPDX-License-Identifier: GPL-2.0-or-later
//
// The objects of libibverbs in this process: what a program sees of each, and what the device has besides.
#pragma once

#include <cstddef>

#include "tests/null_verbs/pairs.h"

namespace stag::null_verbs {

inline constexpr uint32_t kMaxPieces = 16, kMaxInline = 512;  // of a work request

// What STAG_NULL_FAULT asks for.
enum class Demand : uint8_t { kNone, kRnr, kProtection, kSilence, kDisconnect, kRemoval };

struct NullContext {
  Mailbox mailbox;
  verbs_context verbs;
};
struct NullChannel {
  ibv_comp_channel channel;
  Mailbox mailbox;
};
struct NullQueue {
  ibv_cq cq;
  uint32_t index, number;
  uint32_t events;  // given to the program
  std::atomic<uint32_t> acknowledged;
};
struct NullPair {
  ibv_qp qp;
  Pair* pair;
  uint32_t number;
  Demand demand;
  uint64_t at, works;  // the demand is for its `at`-th work
  uint32_t events;
  std::atomic<uint32_t> acknowledged;
};
struct NullDomain {
  ibv_pd pd;
  uint32_t number;
};

inline NullContext& Of(ibv_context* context) {
  verbs_context* const verbs =
      reinterpret_cast<verbs_context*>(reinterpret_cast<std::byte*>(context) - offsetof(verbs_context, context));
  return *reinterpret_cast<NullContext*>(reinterpret_cast<std::byte*>(verbs) - offsetof(NullContext, verbs));
}
inline NullQueue& Of(ibv_cq* cq) { return *reinterpret_cast<NullQueue*>(cq); }
inline NullPair& Of(ibv_qp* qp) { return *reinterpret_cast<NullPair*>(qp); }
inline uint32_t DomainOf(ibv_pd* pd) { return reinterpret_cast<NullDomain*>(pd)->number; }

}  // namespace stag::null_verbs
