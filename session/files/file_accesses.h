// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileAccesses: what one transaction says of file contents: the READs and WRITEs with their file handles and data, and
// the names that handles were given. NFSv2, v3, and v4 with the current and saved file handle followed through the
// COMPOUND (RFC 8881 section 16.2.3.1).
#pragma once

#include <vector>

#include "protocol/nfs/walk.h"
#include "session/rpcrdma/transaction.h"

namespace stag::session {

struct FileAccess {
  bool write = false;
  Bytes handle;                      // empty: not known
  uint64_t offset = 0;               // in the file
  const Payload* payload = nullptr;  // of which `item` is a part
  const DataItem* item = nullptr;    // null: the data was not seen
  bool eof = false;                  // READ: the end of the file is where the data ends
};

struct NamedHandle {
  Bytes name, handle;
};

// Views point into the transaction. Reuse the object: it keeps its storage.
class FileAccesses : private nfs::Visitor {
 public:
  void Collect(const Transaction& t);
  const std::vector<FileAccess>& accesses() const { return accesses_; }  // in order of the call
  const std::vector<NamedHandle>& names() const { return names_; }

 private:
  // A file of the COMPOUND, known by what comes first: its handle (PUTFH) or its name (LOOKUP, OPEN, CREATE); GETFH
  // tells the handle afterwards.
  struct File {
    Bytes handle, name;
  };
  struct Access {
    FileAccess access;
    uint32_t op_index = 0;
    size_t file = 0;
  };

  bool IsReduced(const nfs::Item& item) override;
  void OnOperation(uint32_t op_index, uint32_t op) override;
  void OnRead(uint32_t op_index, Bytes handle, uint64_t file_offset, uint32_t count) override;
  void OnWrite(uint32_t op_index, Bytes handle, uint64_t file_offset, uint32_t count) override;
  void OnName(uint32_t op_index, Bytes directory, Bytes name) override;
  void OnCurrentHandle(uint32_t op_index, Bytes handle) override;
  void OnHandle(uint32_t op_index, Bytes handle) override;
  void OnEntry(Bytes name, Bytes handle) override;
  void OnReadResult(uint32_t op_index, uint32_t count, bool eof) override;

  void BecomeFile(File file);
  Access* Find(uint32_t op_index);
  bool Failed(const Transaction& t, const Access& access) const;

  const Payload* payload_ = nullptr;  // being walked
  size_t next_item_ = 0;
  bool compound_ = false;
  size_t current_ = 0, saved_ = 0;  // indices into files_
  uint32_t op_ = 0;
  std::vector<File> files_;
  std::vector<size_t> current_at_;  // COMPOUND: the current file when operation i began
  std::vector<Access> found_;
  std::vector<FileAccess> accesses_;
  std::vector<NamedHandle> names_;
};

}  // namespace stag::session
