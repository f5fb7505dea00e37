// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/file_set.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>

namespace stag::capture {
namespace {

constexpr uint64_t kBlockOverhead = 32;  // of a frame in pcapng

// "dir/a.pcapng" -> "dir/a_00001_20260131120000.pcapng"; of "a.pcapng.zst" both endings stay behind.
std::string RowName(const std::string& path, uint64_t number, int64_t time_ns) {
  const size_t slash = path.find_last_of('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  size_t dot = path.find('.', name + 1);
  if (const size_t pcap = path.rfind(".pcap"); pcap != std::string::npos && pcap > name) dot = pcap;
  const std::string stem = path.substr(0, dot), ending = dot == std::string::npos ? "" : path.substr(dot);
  return fmt::format("{}_{:05}_{:%Y%m%d%H%M%S}{}", stem, number, fmt::gmtime(std::time_t{time_ns / 1'000'000'000}),
                     ending);
}

}  // namespace

Result<std::unique_ptr<FileSet>> FileSet::Open(const FileSetOptions& options) {
  std::unique_ptr<FileSet> set(new FileSet(options));
  if (!options.is_row())
    if (auto begun = set->Begin(0); !begun) return Fail(begun.error().message);
  return set;
}

Result<void> FileSet::Begin(int64_t time_ns) {
  const std::string name = options_.is_row() ? RowName(options_.path, files_ + 1, time_ns) : options_.path;
  auto created = FileWriter::Create(name, FileFormat::kPcapng, options_.link, options_.notes, options_.compression);
  if (!created) return tl::unexpected(created.error());
  writer_ = std::move(*created);
  ++files_;
  names_.push_back(name);
  begin_ns_ = time_ns;
  bytes_ = frames_ = 0;
  if (options_.is_row() && options_.keep > 0 && names_.size() > options_.keep) {
    std::error_code ignored;  // somebody else may have taken it away
    std::filesystem::remove(names_.front(), ignored);
    names_.pop_front();
  }
  return {};
}

Result<void> FileSet::End(const InterfaceCounts& counts) {
  if (!writer_) return {};
  auto closed = writer_->Close(counts);
  lost_ += writer_->lost();
  writer_.reset();
  return closed;
}

bool FileSet::Full(const Frame& frame) const {
  if (frames_ == 0) return false;
  if (options_.max_bytes && bytes_ + frame.bytes.size() + kBlockOverhead > *options_.max_bytes) return true;
  return options_.every && frame.ref.time_ns - begin_ns_ >= options_.every->count();
}

Result<void> FileSet::Write(const Frame& frame, std::string_view comment) {
  if (trouble_.empty() && options_.is_row() && (!writer_ || Full(frame))) {
    Result<void> begun = End({});
    if (begun) begun = Begin(frame.ref.time_ns);
    if (!begun) trouble_ = begun.error().message;
  }
  if (!trouble_.empty() && !writer_) {
    ++lost_;
    return Fail(trouble_);
  }
  ++frames_;
  bytes_ += frame.bytes.size() + comment.size() + kBlockOverhead;
  auto written = writer_->Write(frame, comment);
  if (!written && trouble_.empty()) trouble_ = written.error().message;
  return written;
}

Result<void> FileSet::Flush() { return writer_ ? writer_->Flush() : Result<void>{}; }

Result<void> FileSet::Close(const InterfaceCounts& counts) {
  auto ended = End(counts);
  if (!trouble_.empty()) return Fail(trouble_);
  return ended;
}

uint64_t FileSet::lost() const { return lost_ + (writer_ ? writer_->lost() : 0); }

}  // namespace stag::capture
