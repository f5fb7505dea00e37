// SPDX-License-Identifier: GPL-2.0-or-later
//
// Nfs4File: a new file in the directory of --nfs4-export, of an NFSv4.1 client of its own, which probes read and write.
#pragma once

#include <string>
#include <vector>

#include "replay/probe/nfs4_bench.h"

namespace stag::probe {

// It begins with Pattern(kContent). File and client go at the end.
class Nfs4File {
 public:
  static constexpr uint32_t kContent = 16384;  // bytes

  // Skips the probe when there is no directory.
  explicit Nfs4File(Bench& bench);
  ~Nfs4File();
  Nfs4File(const Nfs4File&) = delete;
  Nfs4File& operator=(const Nfs4File&) = delete;

  Nfs4& client() { return client_; }
  Link& link() { return client_.link(); }
  const nfs_client::nfs4::StateId& state() const { return state_; }
  const std::string& name() const { return name_; }
  size_t depth() const { return path_.size(); }  // LOOKUPs from the root to the directory

  // SEQUENCE, PUTFH, and what `add` adds.
  Call Make(const Nfs4::Add& add, bool cache = false);
  // WRITE, FILE_SYNC4, up to the count of the data.
  Call Write(uint64_t offset, uint32_t count, bool cache = false) {
    return Make([&](nfs_client::nfs4::Compound& c) { PutWrite(c, offset, count); }, cache);
  }
  void PutWrite(nfs_client::nfs4::Compound& c, uint64_t offset, uint32_t count) const;
  // PUTFH of the file; returns `c`.
  nfs_client::nfs4::Compound& Put(nfs_client::nfs4::Compound& c) const { return c.PutHandle(handle_); }
  // PUTROOTFH and LOOKUPs of the directory; returns `c`.
  nfs_client::nfs4::Compound& PutDirectory(nfs_client::nfs4::Compound& c) const;
  // What is behind the results of SEQUENCE and PUTFH.
  static nfs_client::nfs4::CompoundResults Behind(const Compounded& came);
  // Reads them without chunks. Ends the probe when they differ.
  void ExpectBytes(uint64_t offset, Bytes expected);

 private:
  const std::vector<std::string> path_;  // of the directory
  Nfs4 client_;
  const std::string name_;
  nfs_client::nfs4::StateId state_{};
  Data handle_;
};

}  // namespace stag::probe
