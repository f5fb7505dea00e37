// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/scrub/scrubbed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "capture/file/reader.h"

namespace stag::cli {
namespace {

constexpr size_t kFlushAt = 4u << 20;
constexpr size_t kRecentRecords = 1u << 16;

bool IsCompressed(const std::string& path) { return path.ends_with(".zst"); }
bool IsPcap(const std::string& path) { return path.ends_with(".pcap") || path.ends_with(".pcap.zst"); }
capture::FileFormat FormatOf(const std::string& path) {
  return IsPcap(path) ? capture::FileFormat::kPcap : capture::FileFormat::kPcapng;
}

bool WriteAll(int fd, const std::byte* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

template <typename T>
bool Put(std::FILE* file, const T& value) {
  return std::fwrite(&value, sizeof value, 1, file) == 1;
}
template <typename T>
bool Get(std::FILE* file, T& value) {
  return std::fread(&value, sizeof value, 1, file) == 1;
}

// Standard output, a pipe or a device gets the bytes; only a regular file is replaced.
bool IsReplaced(const std::string& path) {
  struct stat there {};
  return path != "-" && (::stat(path.c_str(), &there) != 0 || S_ISREG(there.st_mode));
}

}  // namespace

Result<std::unique_ptr<ScrubbedFile>> ScrubbedFile::Create(const std::string& path, const link::TunnelPorts& ports) {
  const char* directory = std::getenv("TMPDIR");
  const bool replaces = IsReplaced(path);
  std::string temporary = !replaces ? fmt::format("{}/stag", directory && *directory ? directory : "/tmp") : path;
  temporary += ".scrub-XXXXXX";
  const int fd = ::mkstemp(temporary.data());
  if (fd < 0) return stag::Fail(fmt::format("cannot create {}: {}", temporary, std::strerror(errno)));
  std::unique_ptr<ScrubbedFile> file(new ScrubbedFile(path, temporary, replaces, fd, ports));
  if (!file->records_ || !file->copies_ || !file->changes_ || !file->seals_)
    return stag::Fail(fmt::format("cannot create a temporary file: {}", std::strerror(errno)));
  return file;
}

ScrubbedFile::ScrubbedFile(std::string path, std::string temporary, bool replaces, int fd,
                           const link::TunnelPorts& ports)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      replaces_(replaces),
      ports_(ports),
      fd_(fd),
      records_(std::tmpfile()),
      copies_(std::tmpfile()),
      changes_(std::tmpfile()),
      seals_(std::tmpfile()) {}

ScrubbedFile::~ScrubbedFile() {
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void ScrubbedFile::Note(const std::string& trouble) {
  if (trouble_.empty()) trouble_ = trouble;
}

Result<void> ScrubbedFile::Append(const Frame& frame, const FramePayload& payload, uint32_t states) {
  if (!encoder_) {
    auto encoder = capture::FileEncoder::Start(FormatOf(path_), frame.link, buffer_);
    if (!encoder) return tl::unexpected(encoder.error());
    encoder_ = std::move(*encoder);
  }
  if (buffer_.size() >= kFlushAt) {
    if (auto flushed = Flush(); !flushed) return flushed;
  }
  if (auto appended = encoder_->Append(frame, {}, buffer_); !appended) return appended;
  // Behind the bytes: in pcap nothing, in pcapng the padding and the block's length.
  const size_t behind = IsPcap(path_) ? 0 : RoundUp4(frame.bytes.size()) - frame.bytes.size() + 4;
  Record record;
  record.at = written_ + buffer_.size() - behind - frame.bytes.size();
  record.size = static_cast<uint32_t>(frame.bytes.size());
  record.wire_length = frame.wire_length;
  record.payload = static_cast<uint32_t>(payload.offset);
  record.captured = static_cast<uint32_t>(payload.captured);
  record.psn = payload.psn;
  record.states = states;
  record.link = static_cast<uint32_t>(frame.link);
  recent_.push_back(record);
  ++frames_;
  if (recent_.size() < 2 * kRecentRecords) return {};
  if (std::fseek(records_.get(), 0, SEEK_END) != 0 ||
      std::fwrite(recent_.data(), sizeof(Record), kRecentRecords, records_.get()) != kRecentRecords)
    return stag::Fail("cannot write a temporary file");
  recent_.erase(recent_.begin(), recent_.begin() + kRecentRecords);
  stored_ += kRecentRecords;
  return {};
}

ScrubbedFile::Record ScrubbedFile::Find(uint64_t frame) {
  if (frame == 0 || frame > frames_) return {};
  const uint64_t index = frame - 1;
  if (index >= stored_) return recent_[index - stored_];
  Record record;
  if (std::fseek(records_.get(), static_cast<long>(index * sizeof(Record)), SEEK_SET) != 0 ||
      !Get(records_.get(), record)) {
    Note("cannot read a temporary file");
    return {};
  }
  return record;
}

std::optional<uint32_t> ScrubbedFile::Psn(uint64_t frame) {
  return frame == 0 || frame > frames_ ? std::nullopt : std::optional(Find(frame).psn);
}

void ScrubbedFile::Write(const Place& place, Bytes bytes) {
  const Record record = Find(place.frame);
  if (place.offset >= record.captured) return;
  const uint64_t n = std::min({place.length, uint64_t{bytes.size()}, record.captured - place.offset});
  const uint64_t at = record.at + record.payload + place.offset;
  if (at >= written_) {
    std::copy_n(bytes.begin(), n, buffer_.begin() + static_cast<ptrdiff_t>(at - written_));
    return;
  }
  if (::pwrite(fd_, bytes.data(), n, static_cast<off_t>(at)) != static_cast<ssize_t>(n))
    Note(fmt::format("cannot write {}: {}", temporary_, std::strerror(errno)));
}

void ScrubbedFile::CopyLater(const Place& from, const Place& to) {
  if (!Put(copies_.get(), from) || !Put(copies_.get(), to)) Note("cannot write a temporary file");
}

void ScrubbedFile::ChangeLater(const Place& place, bool fpdu) {
  if (!Put(changes_.get(), place) || !Put(changes_.get(), fpdu)) Note("cannot write a temporary file");
}

void ScrubbedFile::SealLater(const std::vector<Place>& fpdu, bool right) {
  const uint64_t head = fpdu.size() << 1 | (right ? 1 : 0);
  bool fine = Put(seals_.get(), head);
  for (const Place& place : fpdu) fine = fine && Put(seals_.get(), place);
  if (!fine) Note("cannot write a temporary file");
}

Result<void> ScrubbedFile::Flush() {
  if (!WriteAll(fd_, buffer_.data(), buffer_.size()))
    return stag::Fail(fmt::format("cannot write {}: {}", temporary_, std::strerror(errno)));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

// The captured part of `place` in the mapped file.
MutableBytes ScrubbedFile::At(MutableBytes file, const Place& place) {
  const Record record = Find(place.frame);
  if (place.offset >= record.captured) return {};
  const uint64_t n = std::min(place.length, record.captured - place.offset);
  return file.subspan(record.at + record.payload + place.offset, n);
}

void ScrubbedFile::SealFpdus(MutableBytes file) {
  std::rewind(seals_.get());
  std::vector<MutableBytes> parts;
  for (uint64_t head = 0; Get(seals_.get(), head);) {
    parts.clear();
    bool whole = true;
    for (uint64_t left = head >> 1; left > 0; --left) {
      Place place;
      if (!Get(seals_.get(), place)) return Note("cannot read a temporary file");
      parts.push_back(At(file, place));
      whole = whole && parts.back().size() == place.length;
    }
    if (whole) StoreFpduCrc(parts, (head & 1) != 0);
  }
}

void ScrubbedFile::CopyAll(MutableBytes file) {
  std::rewind(copies_.get());
  Place from, to;
  while (Get(copies_.get(), from) && Get(copies_.get(), to)) {
    const Bytes bytes = At(file, from);
    const MutableBytes room = At(file, to);
    std::copy_n(bytes.begin(), std::min(bytes.size(), room.size()), room.begin());
  }
}

void ScrubbedFile::ChangeAll(MutableBytes file) {
  std::rewind(changes_.get());
  Place place;
  bool fpdu = false;
  while (Get(changes_.get(), place) && Get(changes_.get(), fpdu)) ChangeRepeat(At(file, place), fpdu);
}

void ScrubbedFile::SealFrames(MutableBytes file) {
  Checksums checksums(ports_);
  for (uint64_t frame = 1; frame <= frames_; ++frame) {
    const Record record = Find(frame);
    checksums.Store(file.subspan(record.at, record.size), static_cast<LinkType>(record.link), record.wire_length,
                    record.states);
  }
}

Result<void> ScrubbedFile::Finish() {
  if (!encoder_) {
    auto encoder = capture::FileEncoder::Start(FormatOf(path_), LinkType::kEthernet, buffer_);
    if (!encoder) return tl::unexpected(encoder.error());
    encoder_ = std::move(*encoder);
  }
  if (auto flushed = Flush(); !flushed) return flushed;
  void* map = ::mmap(nullptr, written_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) return stag::Fail(fmt::format("cannot map {}: {}", temporary_, std::strerror(errno)));
  const MutableBytes file(static_cast<std::byte*>(map), written_);
  SealFpdus(file);
  CopyAll(file);
  ChangeAll(file);
  SealFrames(file);
  ::munmap(map, written_);
  if (!trouble_.empty()) return stag::Fail(trouble_);
  return Deliver();
}

// The temporary file gives way to one that is compressed.
Result<void> ScrubbedFile::Compress() {
  std::string packed = temporary_ + "-XXXXXX";
  const int fd = ::mkstemp(packed.data());
  if (fd < 0) return stag::Fail(fmt::format("cannot create {}: {}", packed, std::strerror(errno)));
  const auto copy = [&]() -> Result<void> {
    auto reader = capture::Reader::Open(temporary_);
    if (!reader) return tl::unexpected(reader.error());
    Frame frame;
    const bool any = (*reader)->ReadFrame(frame) == capture::Reader::Next::kFrame;
    auto writer = capture::FileWriter::Create(packed, FormatOf(path_), any ? frame.link : LinkType::kEthernet, {},
                                              capture::Compression::kZstd);
    if (!writer) return tl::unexpected(writer.error());
    bool more = any;
    while (more) {
      if (auto written = (*writer)->Write(frame); !written) return written;
      more = (*reader)->ReadFrame(frame) == capture::Reader::Next::kFrame;
    }
    return (*writer)->Close();
  };
  auto copied = copy();
  ::unlink(copied ? temporary_.c_str() : packed.c_str());
  ::close(copied ? std::exchange(fd_, fd) : fd);
  if (copied) temporary_ = std::move(packed);
  return copied;
}

Result<void> ScrubbedFile::Deliver() {
  if (IsCompressed(path_)) {
    if (auto compressed = Compress(); !compressed) return compressed;
  }
  if (!replaces_) {
    const int to = path_ == "-" ? ::dup(STDOUT_FILENO) : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    std::vector<std::byte> block(1u << 20);
    ::lseek(fd_, 0, SEEK_SET);
    ssize_t n = 0;
    bool written = to >= 0;
    while (written && (n = ::read(fd_, block.data(), block.size())) > 0)
      written = WriteAll(to, block.data(), static_cast<size_t>(n));
    const int reason = errno;
    if (to >= 0) ::close(to);
    if (n < 0) return stag::Fail(fmt::format("cannot read {}: {}", temporary_, std::strerror(reason)));
    if (!written)
      return stag::Fail(
          fmt::format("cannot write {}: {}", path_ == "-" ? "standard output" : path_, std::strerror(reason)));
    return {};
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return stag::Fail(fmt::format("cannot rename {} to {}: {}", temporary_, path_, std::strerror(errno)));
  temporary_.clear();
  return {};
}

}  // namespace stag::cli
