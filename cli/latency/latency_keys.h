// SPDX-License-Identifier: GPL-2.0-or-later
//
// LatencyKeys: which row of a table an RPC belongs to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "session/files/file_accesses.h"
#include "session/rpcrdma/session.h"

namespace stag::cli {

enum class LatencyKey : uint8_t { kProcedure, kConnection, kClient, kServer, kFile, kSize };

class LatencyKeys {
 public:
  // A name that was seen for a file handle, and when.
  struct FileName {
    uint64_t frame = 0;
    std::string name;
  };

  // `file`: stands before the number of a connection when it is the key.
  LatencyKeys(LatencyKey by, std::optional<std::string> file) : by_(by), file_(std::move(file)) {}

  // `subject`: what PutSubject makes of the RPC. Into `key`, whatever was there.
  void Take(const session::Connection& connection, const session::Transaction& t, std::string_view subject,
            std::string& key);

  // By the key that stands for the file.
  const std::unordered_map<std::string, FileName>& names() const { return names_; }

 private:
  void TakeFile(const session::Transaction& t, std::string& key);
  void TakeSize(const session::Transaction& t, std::string_view subject, std::string& key);

  const LatencyKey by_;
  const std::optional<std::string> file_;
  session::FileAccesses accesses_;
  std::unordered_map<std::string, FileName> names_;
};

}  // namespace stag::cli
