// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencyKeys: which row of a table an RPC belongs to.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/base/budget.h"
#include "protocol/base/enum_names.h"
#include "session/files/file_accesses.h"
#include "session/rpcrdma/session.h"

namespace stag::analysis {

enum class LatencyKey : uint8_t { kProcedure, kConnection, kClient, kServer, kFile, kSize };

// The names that were seen for file handles, by the keys that stand for the files. Bounded.
class FileNames {
 public:
  // `memory`: bytes.
  explicit FileNames(uint64_t memory) : budget_(memory), charge_(budget_) {}

  struct Name {
    uint64_t frame = 0;  // where it was seen: its order
    std::string name;
  };
  using Names = std::unordered_map<std::string, Name>;
  void Take(const std::string& key, Name&& name);
  const Names& all() const { return names_; }
  // Gives all up.
  Names Release() { return std::move(names_); }
  // Names that there was no room for.
  uint64_t left_out() const { return left_out_; }

 private:
  static constexpr size_t kMost = 65536;
  Budget budget_;
  Charge charge_;
  Names names_;
  uint64_t left_out_ = 0;
};

class LatencyKeys {
 public:
  // `file`: stands before the number of a connection when it is the key.
  LatencyKeys(LatencyKey by, std::optional<std::string> file) : by_(by), file_(std::move(file)) {}

  // `subject`: what PutSubject makes of the RPC. Into `key`, whatever was there. `on_name` gets what the RPC names.
  using OnName = std::function<void(const std::string& key, FileNames::Name&& name)>;
  void Take(const session::Connection& connection, const session::Transaction& t, std::string_view subject,
            std::string& key, const OnName& on_name);

 private:
  void TakeFile(const session::Transaction& t, std::string& key, const OnName& on_name);
  void TakeSize(const session::Transaction& t, std::string_view subject, std::string& key);

  const LatencyKey by_;
  const std::optional<std::string> file_;
  session::FileAccesses accesses_;
};

}  // namespace stag::analysis

template <>
struct stag::EnumNames<stag::analysis::LatencyKey> {
  static constexpr std::array<std::string_view, 6> kNames = {"procedure", "connection", "client",
                                                             "server",    "file",       "size"};
};
