// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "capture/file/format_reader.h"
#include "capture/file/link_types.h"

namespace stag::capture {
namespace {

constexpr size_t kFlushAt = 256u << 10;
constexpr int64_t kSecond = 1'000'000'000;

// Little-endian fields.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out) {}
  void U16(uint16_t v) {
    out_.resize(out_.size() + 2);
    StoreBe16(out_.data() + out_.size() - 2, __builtin_bswap16(v));
  }
  void U32(size_t v) {
    out_.resize(out_.size() + 4);
    StoreBe32(out_.data() + out_.size() - 4, __builtin_bswap32(static_cast<uint32_t>(v)));
  }
  void Put(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void PutPadded(Bytes bytes) {
    Put(bytes);
    out_.resize(out_.size() + static_cast<size_t>(RoundUp4(bytes.size())) - bytes.size());
  }

 private:
  std::vector<std::byte>& out_;
};

void AppendPcapHeader(uint16_t linktype, std::vector<std::byte>& out) {
  FieldWriter fields(out);
  fields.U32(0xa1b23c4d);
  fields.U16(2);
  fields.U16(4);
  fields.U32(0);
  fields.U32(0);
  fields.U32(kMaxFrame);
  fields.U32(linktype);
}

void AppendSectionHeader(std::vector<std::byte>& out) {
  constexpr size_t kLength = 28;
  FieldWriter fields(out);
  fields.U32(0x0a0d0d0a);
  fields.U32(kLength);
  fields.U32(0x1a2b3c4d);
  fields.U16(1);
  fields.U16(0);
  fields.U32(0xffffffff);  // the section's length is not given
  fields.U32(0xffffffff);
  fields.U32(kLength);
}

void AppendInterface(uint16_t linktype, std::vector<std::byte>& out) {
  constexpr size_t kLength = 32;
  FieldWriter fields(out);
  fields.U32(1);
  fields.U32(kLength);
  fields.U16(linktype);
  fields.U16(0);
  fields.U32(kMaxFrame);
  fields.U16(9);  // if_tsresol: 10^-9 s
  fields.U16(1);
  fields.U32(9);
  fields.U32(0);  // end of options
  fields.U32(kLength);
}

void AppendEnhancedPacket(const Frame& frame, size_t interface, std::string_view comment, std::vector<std::byte>& out) {
  const size_t options = comment.empty() ? 0 : 4 + static_cast<size_t>(RoundUp4(comment.size())) + 4;
  const size_t length = 28 + static_cast<size_t>(RoundUp4(frame.bytes.size())) + options + 4;
  const auto time = static_cast<uint64_t>(frame.ref.time_ns);
  FieldWriter fields(out);
  fields.U32(6);
  fields.U32(length);
  fields.U32(interface);
  fields.U32(static_cast<uint32_t>(time >> 32));
  fields.U32(static_cast<uint32_t>(time));
  fields.U32(frame.bytes.size());
  fields.U32(frame.wire_length);
  fields.PutPadded(frame.bytes);
  if (options != 0) {
    fields.U16(1);  // opt_comment
    fields.U16(static_cast<uint16_t>(comment.size()));
    fields.PutPadded(std::as_bytes(std::span(comment)));
    fields.U32(0);  // end of options
  }
  fields.U32(length);
}

}  // namespace

Result<FileEncoder> FileEncoder::Start(FileFormat format, LinkType link, std::vector<std::byte>& out) {
  FileEncoder encoder(format);
  if (format == FileFormat::kPcapng) AppendSectionHeader(out);
  auto interface = encoder.InterfaceFor(link, out);
  if (!interface) return tl::unexpected(interface.error());
  return encoder;
}

// The interface of a link type, described now when it is new.
Result<size_t> FileEncoder::InterfaceFor(LinkType link, std::vector<std::byte>& out) {
  const auto linktype = LinkTypeToFile(link);
  if (!linktype) return Fail("frames of this link type cannot be stored in a capture file");
  const auto known = std::ranges::find(interfaces_, *linktype);
  if (known != interfaces_.end()) return static_cast<size_t>(known - interfaces_.begin());
  if (format_ == FileFormat::kPcap && !interfaces_.empty())
    return Fail("a pcap file holds frames of one link type only: write pcapng");
  format_ == FileFormat::kPcap ? AppendPcapHeader(*linktype, out) : AppendInterface(*linktype, out);
  interfaces_.push_back(*linktype);
  return interfaces_.size() - 1;
}

Result<void> FileEncoder::Append(const Frame& frame, std::string_view comment, std::vector<std::byte>& out) {
  const int64_t seconds = frame.ref.time_ns / kSecond;
  if (frame.bytes.size() > kMaxFrame) return Fail(fmt::format("a frame of {} bytes is too long", frame.bytes.size()));
  if (comment.size() > 0xffff) return Fail("a comment of more than 65535 bytes is too long");
  if (frame.ref.time_ns < 0 || (format_ == FileFormat::kPcap && seconds > std::numeric_limits<uint32_t>::max()))
    return Fail("the time of a frame is out of the range that the file can hold");
  const auto interface = InterfaceFor(frame.link, out);
  if (!interface) return tl::unexpected(interface.error());
  if (format_ == FileFormat::kPcapng) {
    AppendEnhancedPacket(frame, *interface, comment, out);
    return {};
  }
  FieldWriter fields(out);
  fields.U32(static_cast<uint32_t>(seconds));
  fields.U32(static_cast<uint32_t>(frame.ref.time_ns % kSecond));
  fields.U32(frame.bytes.size());
  fields.U32(frame.wire_length);
  fields.Put(frame.bytes);
  return {};
}

FileWriter::FileWriter(std::string path, int fd, FileEncoder encoder, std::vector<std::byte> header)
    : path_(std::move(path)), fd_(fd), encoder_(std::move(encoder)), buffer_(std::move(header)) {}

Result<std::unique_ptr<FileWriter>> FileWriter::Create(const std::string& path, FileFormat format, LinkType link) {
  std::vector<std::byte> header;
  auto encoder = FileEncoder::Start(format, link, header);
  if (!encoder) return tl::unexpected(encoder.error());
  const bool standard_output = path == "-";
  const int fd =
      standard_output ? ::dup(STDOUT_FILENO) : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return Fail(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  return std::unique_ptr<FileWriter>(
      new FileWriter(standard_output ? "standard output" : path, fd, std::move(*encoder), std::move(header)));
}

FileWriter::~FileWriter() { (void)Close(); }

Result<void> FileWriter::Write(const Frame& frame, std::string_view comment) {
  auto appended = encoder_.Append(frame, comment, buffer_);
  if (!appended) return appended;
  return buffer_.size() < kFlushAt ? Result<void>{} : Flush();
}

Result<void> FileWriter::Flush() {
  size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + written, buffer_.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
    written += static_cast<size_t>(n);
  }
  buffer_.clear();
  return {};
}

Result<void> FileWriter::Close() {
  if (fd_ < 0) return {};
  auto flushed = Flush();
  if (::close(fd_) != 0 && flushed) flushed = Fail(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  fd_ = -1;
  return flushed;
}

}  // namespace stag::capture
