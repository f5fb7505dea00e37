// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/live/file_set.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <new>

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

Result<std::unique_ptr<FileSet>> FileSet::Open(const FileSetOptions& options, std::optional<int64_t> first_ns) {
  std::unique_ptr<FileSet> set(new FileSet(options));
  if (!options.is_row() || first_ns)
    if (auto begun = set->Begin(first_ns.value_or(0)); !begun) return Fail(begun.error().message);
  return set;
}

// The file that is there ends once the next one has begun.
Result<void> FileSet::Begin(int64_t time_ns) {
  const std::string name = options_.is_row() ? RowName(options_.path, files_ + 1, time_ns) : options_.path;
  auto created = [&]() -> Result<std::unique_ptr<FileWriter>> {
    try {
      return FileWriter::Create(name, FileFormat::kPcapng, options_.link, options_.notes, options_.compression);
    } catch (const std::bad_alloc&) {
      return Fail(fmt::format("cannot write {}: no memory", name));
    }
  }();
  if (!created) return tl::unexpected(created.error());
  std::error_code ignored;  // somebody else may have taken a file away
  if (options_.is_row()) {
    // On a full disk a file can be made, and holds nothing.
    if (auto begun = (*created)->Flush(); !begun) {
      created->reset();
      std::filesystem::remove(name, ignored);
      return begun;
    }
  }
  const uint64_t lost_before = lost();
  auto ended = End({});
  if (lost() == lost_before) ended = {};  // what was lost before was said
  writer_ = std::move(*created);
  ++files_;
  names_.push_back(name);
  begin_ns_ = time_ns;
  bytes_ = frames_ = 0;
  if (options_.is_row() && options_.keep > 0 && names_.size() > options_.keep) {
    std::filesystem::remove(names_.front(), ignored);
    names_.pop_front();
  }
  return ended;
}

Result<void> FileSet::End(const InterfaceCounts& counts) {
  if (!writer_) return {};
  auto closed = writer_->Close(counts);
  lost_ += writer_->lost();
  writer_.reset();
  return closed;
}

// Whether the next one is to begin.
bool FileSet::Full(const Frame& frame) const {
  constexpr int64_t kPauseNs = 1'000'000'000;
  if (!options_.is_row() || (failed_ns_ && std::abs(frame.ref.time_ns - *failed_ns_) < kPauseNs)) return false;
  if (!writer_ || writer_->over()) return true;
  if (frames_ == 0) return false;
  if (options_.max_bytes && bytes_ + frame.bytes.size() + kBlockOverhead > *options_.max_bytes) return true;
  return options_.every && frame.ref.time_ns - begin_ns_ >= options_.every->count();
}

Result<void> FileSet::Write(const Frame& frame, std::string_view comment) {
  Result<void> begun;
  if (Full(frame)) {
    const uint64_t files = files_;
    begun = Begin(frame.ref.time_ns);
    failed_ns_.reset();
    if (files_ == files) failed_ns_ = frame.ref.time_ns;
  }
  if (!writer_) {
    ++lost_;
    return begun;
  }
  auto written = writer_->Write(frame, comment);
  if (!written) return written;
  ++frames_;
  bytes_ += frame.bytes.size() + comment.size() + kBlockOverhead;
  return begun;
}

Result<void> FileSet::Flush() { return writer_ ? writer_->Flush() : Result<void>{}; }

Result<void> FileSet::Close(const InterfaceCounts& counts) { return End(counts); }

bool FileSet::over() const { return writer_ ? !options_.is_row() && writer_->over() : failed_ns_.has_value(); }
uint64_t FileSet::lost() const { return lost_ + (writer_ ? writer_->lost() : 0); }

}  // namespace stag::capture
