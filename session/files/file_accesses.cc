// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/files/file_accesses.h"

#include <algorithm>

#include "protocol/nfs/nfs4_operations.h"

namespace stag::session {

void FileAccesses::Collect(const Transaction& t) {
  accesses_.clear();
  names_.clear();
  found_.clear();
  current_at_.clear();
  files_.assign(1, File{});
  current_ = saved_ = 0;
  const rpc::CallHeader& call = t.call.rpc;
  if (call.words < 6 || call.opaque_arguments()) return;
  if (call.program != nfs::kNfsProgram && call.program != nfs::kMountProgram) return;
  compound_ = call.program == nfs::kNfsProgram && call.version == 4;

  payload_ = &t.call;
  next_item_ = 0;
  nfs::WalkCall(call, t.call.stream, t.call.stream_length, *this);
  // The reply of a COMPOUND that reads, writes and names nothing adds nothing.
  const bool named = std::ranges::any_of(files_, [](const File& file) { return !file.name.empty(); });
  if (t.reply.present && (!compound_ || named || !found_.empty())) {
    payload_ = &t.reply;
    next_item_ = 0;
    nfs::WalkReply(call, t.reply.rpc, t.reply.stream, t.reply.stream_length, *this);
  }
  payload_ = nullptr;

  for (Access& found : found_) {
    FileAccess& access = found.access;
    if (compound_ && !files_[found.file].handle.empty()) access.handle = files_[found.file].handle;
    if (Failed(t, found)) continue;
    // A READ without data and without a reply moved nothing.
    if (!access.write && !access.item && (!t.reply.present || t.reply.complete)) continue;
    accesses_.push_back(access);
  }
  for (const File& file : files_) {
    if (!file.name.empty() && !file.handle.empty()) names_.push_back({file.name, file.handle});
  }
}

// The server refused the operation: nothing was read or written.
bool FileAccesses::Failed(const Transaction& t, const Access& found) const {
  if (t.reply.form == ReplyForm::kError) return true;
  if (!t.reply.present) return false;
  if (t.reply.rpc.status == ParseStatus::kOk && !t.reply.rpc.success()) return true;
  if (!compound_) return t.reply.walk.has_status && t.reply.walk.nfs_status != 0;
  if (found.op_index >= t.operations.size()) return false;
  const Operation& operation = t.operations[found.op_index];
  // Operations after the first that failed were not performed.
  return operation.has_status ? operation.status != 0 : t.reply.complete;
}

bool FileAccesses::IsReduced(const nfs::Item& item) {
  const bool known = payload_ && next_item_ < payload_->items.size();
  const DataItem* data = known ? &payload_->items[next_item_++] : nullptr;
  if (Access* found = Find(item.op_index); found && data && item.kind != nfs::ItemKind::kLinkText) {
    found->access.payload = payload_;
    found->access.item = data;
  }
  return data && data->reduced;
}

FileAccesses::Access* FileAccesses::Find(uint32_t op_index) {
  for (auto it = found_.rbegin(); it != found_.rend(); ++it) {
    if (it->op_index == op_index) return &*it;
  }
  return nullptr;
}

void FileAccesses::BecomeFile(File file) {
  current_ = files_.size();
  files_.push_back(file);
}

void FileAccesses::OnOperation(uint32_t op_index, uint32_t op) {
  op_ = op;
  if (current_at_.size() <= op_index) current_at_.resize(op_index + 1, 0);
  current_at_[op_index] = current_;
  switch (op) {
    case nfs::kOpPutrootfh:
    case nfs::kOpPutpubfh:
    case nfs::kOpLookupp:
    case nfs::kOpOpenattr:
    case nfs::kOpSecinfo:
    case nfs::kOpSecinfoNoName: BecomeFile({}); break;
    case nfs::kOpSavefh: saved_ = current_; break;
    case nfs::kOpRestorefh: current_ = saved_; break;
    default: break;
  }
}

void FileAccesses::OnCurrentHandle(uint32_t, Bytes handle) { BecomeFile({handle, {}}); }

void FileAccesses::OnName(uint32_t, Bytes, Bytes name) {
  if (!compound_) {
    files_[0].name = name;
  } else if (op_ == nfs::kOpLookup || op_ == nfs::kOpOpen || op_ == nfs::kOpCreate) {
    BecomeFile({{}, name});
  }
}

void FileAccesses::OnHandle(uint32_t op_index, Bytes handle) {
  if (!compound_) {
    files_[0].handle = handle;
  } else if (op_index < current_at_.size()) {
    files_[current_at_[op_index]].handle = handle;
  }
}

void FileAccesses::OnEntry(Bytes name, Bytes handle) { names_.push_back({name, handle}); }

void FileAccesses::OnRead(uint32_t op_index, Bytes handle, uint64_t file_offset, uint32_t) {
  Access found;
  found.access.handle = handle;
  found.access.offset = file_offset;
  found.op_index = op_index;
  found.file = current_;
  found_.push_back(found);
}

void FileAccesses::OnWrite(uint32_t op_index, Bytes handle, uint64_t file_offset, uint32_t count) {
  OnRead(op_index, handle, file_offset, count);
  found_.back().access.write = true;
}

void FileAccesses::OnReadResult(uint32_t op_index, uint32_t, bool eof) {
  if (Access* found = Find(op_index)) found->access.eof = eof;
}

}  // namespace stag::session
