// SPDX-License-Identifier: GPL-2.0-or-later
//
// NfsErrors: which operations and procedures of NFS failed with which status, and of how many. Statuses that are part
// of normal life (NOENT, EXIST, what asks to try again, ...) are told from those that do harm.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/blame.h"
#include "session/rpcrdma/session.h"

namespace stag::analysis {

class NfsErrors final : public session::Observer {
 public:
  // An operation of NFSv4 or of its callbacks, or a procedure of NFSv2 and NFSv3, and the status of its result.
  struct Kind {
    std::string operation;  // "NFSv3 WRITE", "NFSv4 OPEN"
    std::string status;     // "NFS3ERR_NOSPC"
    uint64_t count = 0;
    uint64_t of = 0;  // results of the operation
    FrameRef first;
    session::ConnectionId connection = 0;  // of the first
    bool harmful = false;
    std::optional<Blame> blames = {};  // the server says that it is its own
    std::string_view meaning = {};     // of harmful ones

    double percent() const { return static_cast<double>(count) / static_cast<double>(of) * 100; }
  };

  void OnTransaction(const session::Connection& connection, const session::Transaction& t) override;
  // Adds another part of the same capture.
  void Add(const NfsErrors& other);

  // Those that do harm first, then the most frequent; at most kMostKinds.
  std::vector<Kind> Kinds() const;
  uint64_t left_out() const { return left_out_; }  // results of further kinds

 private:
  static constexpr size_t kMostKinds = 1024, kNumbers = 128;
  enum Family : uint8_t { kNfs2, kNfs3, kNfs4, kCallback, kFamilies };
  struct Key {
    Family family = kNfs2;
    uint32_t number = 0, status = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Seen {
    uint64_t count = 0;
    FrameRef first;
    session::ConnectionId connection = 0;
  };

  void Take(Family family, uint32_t number, uint32_t status, const session::Transaction& t);
  // Whatever its status does elsewhere.
  static bool IsOrdinary(const Key& key);
  Kind KindOf(const Key& key, const Seen& seen) const;

  std::array<std::array<uint64_t, kNumbers>, kFamilies> results_{};
  std::map<Key, Seen> errors_;
  uint64_t left_out_ = 0;
};

}  // namespace stag::analysis
