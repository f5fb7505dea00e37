// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/writer.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "capture/file/format_reader.h"
#include "capture/file/link_types.h"
#include "capture/file/pcapng.h"

namespace stag::capture {
namespace {

constexpr size_t kFlushAt = 256u << 10;
constexpr int64_t kNsPerSecond = 1'000'000'000;

// Little-endian fields.
class FieldWriter {
 public:
  explicit FieldWriter(std::vector<std::byte>& out) : out_(out) {}
  void U16(size_t v) {
    out_.resize(out_.size() + 2);
    StoreBe16(out_.data() + out_.size() - 2, __builtin_bswap16(static_cast<uint16_t>(v)));
  }
  void U32(size_t v) {
    out_.resize(out_.size() + 4);
    StoreLe32(out_.data() + out_.size() - 4, static_cast<uint32_t>(v));
  }
  void Put(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void PutPadded(Bytes bytes) {
    Put(bytes);
    out_.resize(out_.size() + static_cast<size_t>(RoundUp4(bytes.size())) - bytes.size());
  }

 protected:
  std::vector<std::byte>& out_;
};

// A block of a pcapng file: type, length, what is written into it, length.
class Block : public FieldWriter {
 public:
  Block(uint32_t type, std::vector<std::byte>& out) : FieldWriter(out), begin_(out.size()) {
    U32(type);
    U32(0);
  }
  ~Block() {
    if (options_) U32(0);  // end of options
    const size_t length = out_.size() - begin_ + elsewhere_ + 4;
    StoreLe32(out_.data() + begin_ + 4, static_cast<uint32_t>(length));
    U32(length);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Bytes of the block that are not in the vector.
  void Elsewhere(size_t bytes) { elsewhere_ += bytes; }
  // The high half first, as times are stored.
  void HighLow(uint64_t v) {
    U32(static_cast<uint32_t>(v >> 32));
    U32(static_cast<uint32_t>(v));
  }
  void Option(uint16_t code, Bytes value) {
    options_ = true;
    value = value.first(std::min<size_t>(value.size(), 0xffff));
    U16(code);
    U16(value.size());
    PutPadded(value);
  }
  // Whole ones.
  void Options(Bytes options) {
    options_ |= !options.empty();
    Put(options);
  }
  void TextOption(uint16_t code, std::string_view text) {
    if (!text.empty()) Option(code, std::as_bytes(std::span(text)));
  }
  void NumberOption(uint16_t code, uint64_t v) {
    options_ = true;
    U16(code);
    U16(8);
    U32(static_cast<uint32_t>(v));
    U32(static_cast<uint32_t>(v >> 32));
  }
  void TimeOption(uint16_t code, int64_t time_ns) {
    options_ = true;
    U16(code);
    U16(8);
    HighLow(static_cast<uint64_t>(time_ns));
  }

 private:
  size_t begin_, elsewhere_ = 0;
  bool options_ = false;
};

constexpr uint16_t kComment = 1;
constexpr std::string_view kNoSuchLink = "frames of this link type cannot be stored in a capture file";

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

void AppendSectionHeader(const FileNotes& notes, std::vector<std::byte>& out) {
  Block block(kSectionHeader, out);
  block.U32(kByteOrderMagic);
  block.U16(1);
  block.U16(0);
  block.U32(0xffffffff);  // the section's length is not given
  block.U32(0xffffffff);
  block.TextOption(kComment, notes.comment);
  block.TextOption(4, notes.application);  // shb_userappl
}

void AppendInterface(const CaptureInterface& interface, std::vector<std::byte>& out) {
  Block block(kInterfaceDescription, out);
  block.U16(interface.link_type);
  block.U16(0);
  block.U32(interface.snap_length);
  block.Options(interface.options);
}

void AppendInterface(uint16_t linktype, std::string_view name, std::string_view description,
                     std::vector<std::byte>& out) {
  Block block(kInterfaceDescription, out);
  block.U16(linktype);
  block.U16(0);
  block.U32(kMaxFrame);
  block.TextOption(2, name);         // if_name
  block.TextOption(3, description);  // if_description
  const std::byte resolution{9};     // 10^-9 s
  block.Option(9, std::span(&resolution, 1));
}

size_t SizeOf(std::span<const Bytes> pieces) {
  size_t size = 0;
  for (const Bytes piece : pieces) size += piece.size();
  return size;
}

// Returns the bytes that went to `views`.
size_t PutPieces(std::span<const Bytes> pieces, std::vector<std::byte>& out, std::vector<FileEncoder::View>* views) {
  size_t viewed = 0;
  for (const Bytes piece : pieces) {
    if (views && piece.size() >= FileEncoder::kViewed) {
      views->push_back({out.size(), piece});
      viewed += piece.size();
    } else {
      out.insert(out.end(), piece.begin(), piece.end());
    }
  }
  return viewed;
}

// `units`: the time.
void AppendPacket(const Frame& frame, std::span<const Bytes> pieces, size_t interface, uint64_t units,
                  std::string_view comment, const FrameOrigin* origin, std::vector<std::byte>& out,
                  std::vector<FileEncoder::View>* views) {
  const size_t size = SizeOf(pieces);
  const auto snapped = [&](uint32_t snap) { return snap == 0 ? frame.wire_length : std::min(snap, frame.wire_length); };
  if (origin && origin->simple && interface == 0 && size == snapped(origin->interface->snap_length)) {
    Block block(kSimplePacket, out);
    block.U32(frame.wire_length);
    block.Elsewhere(PutPieces(pieces, out, views));
    return out.resize(out.size() + static_cast<size_t>(RoundUp4(size)) - size);
  }
  Block block(kEnhancedPacket, out);
  block.U32(interface);
  block.HighLow(units);
  block.U32(size);
  block.U32(frame.wire_length);
  block.Elsewhere(PutPieces(pieces, out, views));
  out.resize(out.size() + static_cast<size_t>(RoundUp4(size)) - size);
  for (size_t begin = 0; begin < comment.size();) {
    const size_t end = std::min(comment.find('\0', begin), comment.size());
    block.TextOption(kComment, comment.substr(begin, end - begin));
    begin = end + 1;
  }
  if (origin) block.Options(origin->options);
}

}  // namespace

Result<FileEncoder> FileEncoder::Start(FileFormat format, std::optional<LinkType> link, std::vector<std::byte>& out,
                                       const FileNotes& notes) {
  FileEncoder encoder(format);
  encoder.interface_name_ = notes.interface_name;
  encoder.interface_description_ = notes.interface_description;
  if (format == FileFormat::kPcapng) AppendSectionHeader(notes, out);
  if (!link) return encoder;
  auto interface = encoder.InterfaceFor(*link, nullptr, out);
  if (!interface) return tl::unexpected(interface.error());
  return encoder;
}

// The interface of a frame, described now when it is new.
Result<size_t> FileEncoder::InterfaceFor(LinkType link, const FrameOrigin* origin, std::vector<std::byte>& out) {
  if (origin && format_ == FileFormat::kPcapng) {
    Describe(*origin->interface, origin->key, out);
    return static_cast<size_t>(std::ranges::find(interfaces_, origin->key, &Interface::key) - interfaces_.begin());
  }
  const auto linktype = origin ? std::optional(origin->interface->link_type) : LinkTypeToFile(link);
  if (!linktype) return Fail(std::string(kNoSuchLink));
  const auto known = std::ranges::find_if(
      interfaces_, [&](const Interface& interface) { return interface.key == 0 && interface.linktype == *linktype; });
  if (known != interfaces_.end()) return static_cast<size_t>(known - interfaces_.begin());
  if (format_ == FileFormat::kPcap && !interfaces_.empty())
    return Fail("a pcap file holds frames of one link type only: write pcapng");
  format_ == FileFormat::kPcap ? AppendPcapHeader(*linktype, out)
                               : AppendInterface(*linktype, interface_name_, interface_description_, out);
  interfaces_.push_back({.linktype = *linktype});
  return interfaces_.size() - 1;
}

void FileEncoder::Describe(const CaptureInterface& interface, uint64_t key, std::vector<std::byte>& out) {
  if (format_ == FileFormat::kPcap || std::ranges::find(interfaces_, key, &Interface::key) != interfaces_.end()) return;
  AppendInterface(interface, out);
  interfaces_.push_back({.linktype = interface.link_type, .key = key});
}

Result<void> FileEncoder::Append(const Frame& frame, std::string_view comment, std::vector<std::byte>& out,
                                 const FrameOrigin* origin) {
  return Append(frame, std::span(&frame.bytes, 1), comment, out, nullptr, origin);
}

Result<void> FileEncoder::Append(const OtherBlock& block, std::vector<std::byte>& out,
                                 const CaptureInterface* interface, uint64_t key) {
  if (format_ == FileFormat::kPcap) return Fail("a pcap file holds frames only: write pcapng");
  if (!block.whole) return Fail(fmt::format("a block of more than {} bytes is too long", kMaxFrame));
  using Kind = OtherBlock::Kind;
  constexpr size_t kInterfaceNumber = 4;
  if (interface) {
    Describe(*interface, key, out);
    const auto named = std::ranges::find(interfaces_, key, &Interface::key);
    named->has_statistics |= block.type == kInterfaceStatistics;
    Block copy(block.type, out);
    copy.U32(static_cast<size_t>(named - interfaces_.begin()));
    copy.PutPadded(block.data.subspan(kInterfaceNumber));
    return {};
  }
  Block copy(block.kind == Kind::kJournal  ? kSystemdJournal
             : block.kind == Kind::kCustom ? kCustom
             : block.kind == Kind::kOther  ? block.type
                                           : kCustomNotCopied,
             out);
  if (block.kind == Kind::kCustom || block.kind == Kind::kCustomNotCopied) copy.U32(block.enterprise);
  copy.PutPadded(block.data);
  return {};
}

Result<void> FileEncoder::Append(const Frame& frame, std::span<const Bytes> pieces, std::string_view comment,
                                 std::vector<std::byte>& out, std::vector<View>* views, const FrameOrigin* origin) {
  const size_t size = SizeOf(pieces);
  const bool in_units = origin && format_ == FileFormat::kPcapng;
  const int64_t seconds = frame.ref.time_ns / kNsPerSecond;
  if (size > kMaxFrame) return Fail(fmt::format("a frame of {} bytes is too long", size));
  if (comment.size() > 0xffff) return Fail("a comment of more than 65535 bytes is too long");
  if ((frame.ref.time_ns < 0 && !in_units) ||
      (format_ == FileFormat::kPcap && seconds > std::numeric_limits<uint32_t>::max()))
    return Fail("the time of a frame is out of the range that the file can hold");
  const auto index = InterfaceFor(frame.link, origin, out);
  if (!index) return tl::unexpected(index.error());
  Interface& interface = interfaces_[*index];
  const int64_t time = in_units ? static_cast<int64_t>(origin->units) : frame.ref.time_ns;
  if (interface.frames++ == 0) interface.first_ns = time;
  interface.last_ns = time;
  if (format_ == FileFormat::kPcapng) {
    AppendPacket(frame, pieces, *index, static_cast<uint64_t>(time), comment, origin, out, views);
    return {};
  }
  FieldWriter fields(out);
  fields.U32(static_cast<uint32_t>(seconds));
  fields.U32(static_cast<uint32_t>(frame.ref.time_ns % kNsPerSecond));
  fields.U32(size);
  fields.U32(frame.wire_length);
  (void)PutPieces(pieces, out, views);
  return {};
}

void FileEncoder::AppendStatistics(uint64_t lost, const InterfaceCounts& counts, std::vector<std::byte>& out) const {
  if (format_ != FileFormat::kPcapng) return;
  for (size_t i = 0; i < std::min<size_t>(interfaces_.size(), lost == 0 ? SIZE_MAX : 1); ++i) {
    const Interface& interface = interfaces_[i];
    if (interface.has_statistics && lost == 0) continue;
    const InterfaceCounts& c = i == 0 ? counts : InterfaceCounts{};
    const uint64_t appended = interface.frames;
    Block block(kInterfaceStatistics, out);
    block.U32(i);
    block.HighLow(static_cast<uint64_t>(interface.last_ns));
    if (appended > 0) {
      block.TimeOption(2, interface.first_ns);  // isb_starttime
      block.TimeOption(3, interface.last_ns);   // isb_endtime
    }
    block.NumberOption(4, c.received.value_or(appended + c.dropped_by_us));  // isb_ifrecv
    // Only these two say that something is missing: what we lost ourselves counts as the interface's.
    block.NumberOption(5, c.dropped_by_interface.value_or(0) + c.dropped_by_us + lost);  // isb_ifdrop
    block.TextOption(kComment, c.comment);
    if (c.dropped_by_system) block.NumberOption(7, *c.dropped_by_system);  // isb_osdrop
  }
}

void FileWriter::FreeZstd::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

FileWriter::FileWriter(OutputFile file, FileEncoder encoder, std::vector<std::byte> header, Compression compression)
    : file_(std::move(file)),
      encoder_(std::move(encoder)),
      buffer_(std::move(header)),
      header_(buffer_),
      tries_again_(!file_.unnamed()) {
  buffer_.reserve(kFlushAt + kMaxFrame + 0x20000);  // a comment, too
  if (compression == Compression::kZstd) {
    zstd_.reset(ZSTD_createCCtx());
    if (!zstd_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, 1);  // keeps up with the network
  }
  ends_.reserve(kFlushAt / 16);
  ends_.push_back(EndAt(buffer_.size()));
}

Compression CompressionOf(std::string_view path) {
  return path.ends_with(".zst") ? Compression::kZstd : Compression::kNone;
}

Result<std::unique_ptr<FileWriter>> FileWriter::Create(const std::string& path, FileFormat format,
                                                       std::optional<LinkType> link, const FileNotes& notes,
                                                       Compression compression, OutputFile::Named named) {
  if (link && !LinkTypeToFile(*link)) return Fail(std::string(kNoSuchLink));
  auto file = OutputFile::Create(path, named);
  if (!file) return tl::unexpected(file.error());
  return Create(std::move(*file), format, link, notes, compression);
}

Result<std::unique_ptr<FileWriter>> FileWriter::Create(OutputFile file, FileFormat format, std::optional<LinkType> link,
                                                       const FileNotes& notes, Compression compression) {
  std::vector<std::byte> header;
  auto encoder = FileEncoder::Start(format, link, header, notes);
  if (!encoder) return tl::unexpected(encoder.error());
  return std::unique_ptr<FileWriter>(
      new FileWriter(std::move(file), std::move(*encoder), std::move(header), compression));
}

FileWriter::~FileWriter() {
  if (!file_.unnamed()) (void)Close();
}

Result<void> FileWriter::Write(const Frame& frame, std::string_view comment, const FrameOrigin* origin) {
  auto appended = encoder_.Append(frame, comment, buffer_, origin);
  return appended ? Appended() : appended;
}

Result<void> FileWriter::Write(const OtherBlock& block, const CaptureInterface* interface, uint64_t key) {
  auto appended = encoder_.Append(block, buffer_, interface, key);
  return appended ? Appended() : appended;
}

Result<void> FileWriter::WritePieces(const Frame& frame, std::span<const Bytes> pieces, std::string_view comment) {
  auto appended = encoder_.Append(frame, pieces, comment, buffer_, zstd_ ? nullptr : &views_);
  return appended ? Appended() : appended;
}

// A frame was appended to the buffer. What it views lasts no longer than the call.
Result<void> FileWriter::Appended() {
  if (over() || (failing_ && Clock::now() < again_)) {  // counted, no more
    ++lost_;
    const End before = ends_.empty() ? End{0, static_cast<uint32_t>(described_)} : ends_.back();
    buffer_.resize(before.at);
    encoder_.Forget(before.interfaces);
    views_.clear();
    return Fail(trouble_);
  }
  size_t end = buffer_.size();
  for (const FileEncoder::View& view : views_) end += view.bytes.size();
  ends_.push_back(EndAt(end));
  return end < kFlushAt && views_.empty() && !failing_ ? Result<void>{} : WriteOut();
}

// The buffer as a zstd frame of its own; empty: there is no memory for that.
Bytes FileWriter::Compressed() {
  try {
    packed_.resize(ZSTD_compressBound(buffer_.size()));
  } catch (const std::bad_alloc&) {
    return {};
  }
  const size_t size = ZSTD_compress2(zstd_.get(), packed_.data(), packed_.size(), buffer_.data(), buffer_.size());
  return Bytes(packed_).first(ZSTD_isError(size) ? 0 : size);
}

Result<void> FileWriter::Flush() {
  again_ = {};
  return WriteOut();
}

Result<void> FileWriter::WriteOut() {
  if (buffer_.empty()) return {};
  const Bytes bytes = zstd_ ? Compressed() : Bytes(buffer_);
  if (bytes.empty()) {
    errno = ENOMEM;
    return Failed(0);
  }
  std::vector<iovec>& pieces = pieces_;
  pieces.clear();
  const auto add = [&pieces](Bytes piece) {
    if (!piece.empty()) pieces.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
  };
  size_t at = 0;
  for (const FileEncoder::View& view : views_) {
    add(bytes.subspan(at, view.at - at));
    add(view.bytes);
    at = view.at;
  }
  add(bytes.subspan(at));
  views_.clear();
  size_t written = 0;
  for (size_t first = 0; first < pieces.size();) {
    const ssize_t n = ::writev(file_.descriptor(), pieces.data() + first,
                               static_cast<int>(std::min<size_t>(pieces.size() - first, 64)));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed(written);
    written += static_cast<size_t>(n);
    for (auto left = static_cast<size_t>(n); left > 0;) {
      iovec& piece = pieces[first];
      const size_t taken = std::min(left, piece.iov_len);
      piece = {static_cast<std::byte*>(piece.iov_base) + taken, piece.iov_len - taken};
      left -= taken;
      first += piece.iov_len == 0;
    }
  }
  buffer_.clear();
  ends_.clear();
  header_buffered_ = failing_ = false;
  described_ = encoder_.interfaces();
  return {};
}

// Only the first `written` bytes of the buffer, or of what it was compressed to, got into the file: it ends with the
// last whole frame of them, and what was described behind that has to be described again.
Result<void> FileWriter::Failed(size_t written) {
  constexpr std::chrono::seconds kPause{1};
  failing_ = true;
  again_ = Clock::now() + kPause;
  if (trouble_.empty()) trouble_ = fmt::format("cannot write {}: {}", file_.name(), std::strerror(errno));
  const auto in_file = zstd_ ? ends_.begin() : std::ranges::upper_bound(ends_, written, {}, &End::at);
  const bool none = in_file == ends_.begin();
  const size_t whole = none ? 0 : (in_file - 1)->at;
  const off_t end = ::lseek(file_.descriptor(), 0, SEEK_CUR);  // fails for a pipe
  const off_t cut = end - static_cast<off_t>(written - whole);
  whole_ = end >= 0 && (cut > 0 || tries_again_) && ::ftruncate(file_.descriptor(), cut) == 0 &&
           ::lseek(file_.descriptor(), cut, SEEK_SET) == cut;
  lost_ += static_cast<uint64_t>(ends_.end() - in_file);
  header_buffered_ &= none;
  if (header_buffered_) --lost_;  // that was the header
  if (!none) described_ = (in_file - 1)->interfaces;
  const size_t left = header_buffered_ ? ends_.front().interfaces : described_;
  encoder_.Forget(left);
  buffer_.clear();
  ends_.clear();
  if (header_buffered_ && !over()) {
    buffer_ = header_;
    ends_.push_back(EndAt(header_.size()));
  }
  return Fail(trouble_);
}

Result<void> FileWriter::Close(const InterfaceCounts& counts) {
  if (std::exchange(closed_, true)) return {};
  (void)Flush();
  if (whole_) encoder_.AppendStatistics(lost_, counts, buffer_);
  (void)Flush();
  if (trouble_.empty()) return file_.Finish();
  file_.Abandon();
  return Fail(trouble_);
}

}  // namespace stag::capture
