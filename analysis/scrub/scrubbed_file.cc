// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/scrubbed_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "capture/file/reader.h"

namespace stag::scrub {
namespace {

constexpr size_t kFlushAt = 1u << 20;
constexpr size_t kRecentRecords = 1u << 14;
constexpr char kCannotRead[] = "cannot read a temporary file";
constexpr char kCannotWrite[] = "cannot write a temporary file";

bool IsCompressed(const std::string& path) { return path.ends_with(".zst"); }
bool IsPcap(const std::string& path) { return path.ends_with(".pcap") || path.ends_with(".pcap.zst"); }

template <typename T>
bool Put(std::FILE* file, const T& value) {
  return std::fwrite(&value, sizeof value, 1, file) == 1;
}
template <typename T>
bool Get(std::FILE* file, T& value) {
  return std::fread(&value, sizeof value, 1, file) == 1;
}
// Back to the start, for reading; std::rewind does not say when what was put does not get into the file.
bool Rewind(std::FILE* file) { return std::fflush(file) == 0 && std::fseek(file, 0, SEEK_SET) == 0; }

// The folder of a file that is to be compressed has room for it; a pipe or a device has none.
std::string FolderFor(const capture::OutputFile& out, const std::string& path) {
  if (!out.seekable()) return {};
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

capture::FileNotes NotesOf(bool slice) {
  capture::FileNotes notes;
  if (slice) notes.comment = capture::kSliceNote;
  return notes;
}

}  // namespace

Result<void> WriteCompressed(capture::Reader& from, capture::OutputFile to, capture::FileFormat format) {
  using Next = capture::Reader::Next;
  struct Listener final : capture::BlockListener {
    void OnInterface(const capture::CaptureInterface&) override {}
    void OnBlock(const capture::OtherBlock&, const capture::CaptureInterface*) override {}
  } listener;
  from.Listen(listener);
  Frame frame;
  Next next = from.ReadFrame(frame);
  std::optional<LinkType> link = LinkType::kEthernet;
  if (next == Next::kFrame) link = frame.link;
  if (from.other_block() || from.origin()) link.reset();
  auto writer =
      capture::FileWriter::Create(std::move(to), format, link, NotesOf(from.is_slice()), capture::Compression::kZstd);
  if (!writer) return tl::unexpected(writer.error());
  for (; next == Next::kFrame; next = from.ReadFrame(frame)) {
    const auto* const block = from.other_block();
    if (auto written = block ? (*writer)->Write(*block) : (*writer)->Write(frame, {}, from.origin()); !written)
      return written;
  }
  if (next == Next::kDamaged) return stag::Fail(fmt::format("cannot read a temporary file: {}", from.error()));
  return (*writer)->Close();
}

Result<std::unique_ptr<ScrubbedFile>> ScrubbedFile::Create(const std::string& path, const link::TunnelPorts& ports) {
  auto out = capture::OutputFile::Create(path);
  if (!out) return tl::unexpected(out.error());
  int draft = -1;
  if (IsCompressed(path) || !out->seekable()) {
    const auto made = capture::NamelessFile(FolderFor(*out, path));
    if (!made) return tl::unexpected(made.error());
    draft = *made;
  }
  std::unique_ptr<ScrubbedFile> file(new ScrubbedFile(std::move(*out), path, draft, ports));
  if (!file->records_ || !file->copies_ || !file->changes_ || !file->seals_)
    return stag::Fail(fmt::format("cannot create a temporary file: {}", std::strerror(errno)));
  return file;
}

ScrubbedFile::ScrubbedFile(capture::OutputFile out, const std::string& path, int draft, const link::TunnelPorts& ports)
    : out_(std::move(out)),
      format_(IsPcap(path) ? capture::FileFormat::kPcap : capture::FileFormat::kPcapng),
      compressed_(IsCompressed(path)),
      ports_(ports),
      draft_(draft),
      fd_(draft >= 0 ? draft : out_.descriptor()),
      records_(std::tmpfile()),
      copies_(std::tmpfile()),
      changes_(std::tmpfile()),
      seals_(std::tmpfile()) {}

ScrubbedFile::~ScrubbedFile() {
  if (draft_ >= 0) ::close(draft_);
}

Error ScrubbedFile::CannotWrite() const {
  const std::string what = draft_ >= 0 ? "a temporary file" : out_.name();
  return Error{fmt::format("cannot write {}: {}", what, std::strerror(errno))};
}

void ScrubbedFile::Note(const std::string& trouble) {
  if (trouble_.empty()) trouble_ = trouble;
}

Result<void> ScrubbedFile::Start(std::optional<LinkType> link) {
  if (encoder_) return {};
  auto encoder = capture::FileEncoder::Start(format_, link, buffer_, NotesOf(slice_));
  if (!encoder) return tl::unexpected(encoder.error());
  encoder_ = std::move(*encoder);
  for (const FrameRef& ref : early_) {
    const capture::FrameOrigin* const known = origin_.interface ? &origin_ : nullptr;
    if (auto appended = encoder_->Append({ref, link.value_or(LinkType::kUnsupported), {}, 0}, {}, buffer_, known);
        !appended)
      return appended;
  }
  early_.clear();
  link_ = link.value_or(LinkType::kUnsupported);
  return {};
}

Result<void> ScrubbedFile::AppendEmpty(const FrameRef& ref) {
  if (buffer_.size() >= kFlushAt) {
    if (auto flushed = Flush(); !flushed) return flushed;
  }
  if (format_ == capture::FileFormat::kPcapng) {
    if (auto started = Start(std::nullopt); !started) return started;
    if (auto appended = encoder_->Append(capture::OtherBlock{}, buffer_); !appended) return appended;
  } else if (!encoder_ && early_.size() < kRecentRecords) {
    early_.push_back(ref);
  } else if (auto started = Start(LinkType::kEthernet); !started) {
    return started;
  } else if (auto appended = encoder_->Append({ref, link_, {}, 0}, {}, buffer_, origin_.interface ? &origin_ : nullptr);
             !appended) {
    return appended;
  }
  return Keep({});
}

void ScrubbedFile::SetOrigin(const capture::FrameOrigin* origin, uint64_t file) {
  origin_ = {};
  if (!origin) return;
  origin_.interface = &interface_;
  origin_.key = (file + 1) << 32 | origin->interface->id;
  origin_.simple = origin->simple;
  interface_.link_type = origin->interface->link_type;
  interface_.snap_length = origin->interface->snap_length;
  if (!interface_.options.empty()) return;
  constexpr unsigned char kNanoseconds[] = {9, 0, 1, 0, 9, 0, 0, 0};  // if_tsresol
  const Bytes option = std::as_bytes(std::span(kNanoseconds));
  interface_.options.assign(option.begin(), option.end());
}

Result<void> ScrubbedFile::Append(const Frame& frame, const FramePayload& payload, uint32_t states) {
  const bool known = origin_.interface != nullptr;
  if (auto started = Start(known ? std::nullopt : std::optional(frame.link)); !started) return started;
  link_ = frame.link;
  origin_.units = static_cast<uint64_t>(frame.ref.time_ns);
  if (buffer_.size() >= kFlushAt) {
    if (auto flushed = Flush(); !flushed) return flushed;
  }
  if (auto appended = encoder_->Append(frame, {}, buffer_, known ? &origin_ : nullptr); !appended) return appended;
  // Behind the bytes: in pcap nothing, in pcapng the padding and the block's length.
  const size_t behind =
      format_ == capture::FileFormat::kPcap ? 0 : RoundUp4(frame.bytes.size()) - frame.bytes.size() + 4;
  Record record;
  record.at = written_ + buffer_.size() - behind - frame.bytes.size();
  record.size = static_cast<uint32_t>(frame.bytes.size());
  record.wire_length = frame.wire_length;
  record.payload = static_cast<uint32_t>(payload.offset);
  record.captured = static_cast<uint32_t>(payload.captured);
  record.psn = payload.psn;
  record.states = states;
  record.link = static_cast<uint32_t>(frame.link);
  return Keep(record);
}

// For the next frame.
Result<void> ScrubbedFile::Keep(const Record& record) {
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
    Note(kCannotRead);
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
  if (::pwrite(fd_, bytes.data(), n, static_cast<off_t>(at)) != static_cast<ssize_t>(n)) Note(CannotWrite().message);
}

void ScrubbedFile::CopyLater(const Place& from, const Place& to) {
  if (!Put(copies_.get(), from) || !Put(copies_.get(), to)) Note(kCannotWrite);
}

void ScrubbedFile::ChangeLater(const Place& place, bool fpdu) {
  if (!Put(changes_.get(), place) || !Put(changes_.get(), fpdu)) Note(kCannotWrite);
}

void ScrubbedFile::SealLater(const std::vector<Place>& fpdu, bool right) {
  const uint64_t head = fpdu.size() << 1 | (right ? 1 : 0);
  bool fine = Put(seals_.get(), head);
  for (const Place& place : fpdu) fine = fine && Put(seals_.get(), place);
  if (!fine) Note(kCannotWrite);
}

Result<void> ScrubbedFile::Flush() {
  for (Bytes left = buffer_; !left.empty();) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(CannotWrite());
    left = left.subspan(static_cast<size_t>(n));
  }
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

// Bytes of the mapped file. What was looked at leaves memory now and then: a mapped file counts as the program's.
MutableBytes ScrubbedFile::Part(MutableBytes file, uint64_t at, uint64_t size) {
  constexpr uint64_t kAround = 64u << 10;  // what comes into memory with a byte
  constexpr uint64_t kMostAround = 2u << 20;
  if (const uint64_t block = at / kAround; block != block_) {
    block_ = block;
    mapped_ += kAround + size;
  }
  if (mapped_ > kMostAround) {
    (void)::madvise(file.data(), file.size(), MADV_DONTNEED);
    mapped_ = 0;
  }
  return file.subspan(static_cast<size_t>(at), static_cast<size_t>(size));
}

// The captured part of `place` in the mapped file.
MutableBytes ScrubbedFile::At(MutableBytes file, const Place& place) {
  const Record record = Find(place.frame);
  if (place.offset >= record.captured) return {};
  const uint64_t n = std::min(place.length, record.captured - place.offset);
  return Part(file, record.at + record.payload + place.offset, n);
}

void ScrubbedFile::SealFpdus(MutableBytes file) {
  if (!Rewind(seals_.get())) return Note(kCannotWrite);
  std::vector<MutableBytes> parts;
  for (uint64_t head = 0; Get(seals_.get(), head);) {
    parts.clear();
    bool whole = true;
    for (uint64_t left = head >> 1; left > 0; --left) {
      Place place;
      if (!Get(seals_.get(), place)) return Note(kCannotRead);
      parts.push_back(At(file, place));
      whole = whole && parts.back().size() == place.length;
    }
    if (whole) StoreFpduCrc(parts, (head & 1) != 0);
  }
  if (std::ferror(seals_.get())) Note(kCannotRead);
}

void ScrubbedFile::CopyAll(MutableBytes file) {
  if (!Rewind(copies_.get())) return Note(kCannotWrite);
  Place from, to;
  while (Get(copies_.get(), from) && Get(copies_.get(), to)) {
    const Bytes bytes = At(file, from);
    const MutableBytes room = At(file, to);
    std::copy_n(bytes.begin(), std::min(bytes.size(), room.size()), room.begin());
  }
  if (std::ferror(copies_.get())) Note(kCannotRead);
}

void ScrubbedFile::ChangeAll(MutableBytes file) {
  if (!Rewind(changes_.get())) return Note(kCannotWrite);
  Place place;
  bool fpdu = false;
  while (Get(changes_.get(), place) && Get(changes_.get(), fpdu)) ChangeRepeat(At(file, place), fpdu);
  if (std::ferror(changes_.get())) Note(kCannotRead);
}

void ScrubbedFile::SealFrames(MutableBytes file) {
  Checksums checksums(ports_);
  for (uint64_t frame = 1; frame <= frames_; ++frame) {
    const Record record = Find(frame);
    if (record.size == 0) continue;
    checksums.Store(Part(file, record.at, record.size), static_cast<LinkType>(record.link), record.wire_length,
                    record.states);
  }
}

Result<void> ScrubbedFile::Finish() {
  if (auto started = Start(LinkType::kEthernet); !started) return started;
  if (auto flushed = Flush(); !flushed) return flushed;
  void* map = ::mmap(nullptr, written_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (map == MAP_FAILED) return stag::Fail(fmt::format("cannot map {}: {}", out_.name(), std::strerror(errno)));
  const MutableBytes file(static_cast<std::byte*>(map), written_);
  SealFpdus(file);
  CopyAll(file);
  ChangeAll(file);
  SealFrames(file);
  ::munmap(map, written_);
  if (!trouble_.empty()) return stag::Fail(trouble_);
  if (compressed_) return Compress();
  if (draft_ >= 0) return Copy();
  return out_.Finish();
}

Result<void> ScrubbedFile::Compress() {
  const auto reader = capture::Reader::Open(fmt::format("/proc/self/fd/{}", draft_));
  if (!reader) return tl::unexpected(reader.error());
  return WriteCompressed(**reader, std::move(out_), format_);
}

Result<void> ScrubbedFile::Copy() {
  std::vector<std::byte> block(1u << 20);
  for (uint64_t at = 0; at < written_;) {
    const ssize_t n = ::pread(draft_, block.data(), block.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      return stag::Fail(
          fmt::format("cannot read a temporary file: {}", n < 0 ? std::strerror(errno) : "it became shorter"));
    if (auto written = out_.Write(Bytes(block).first(static_cast<size_t>(n))); !written) return written;
    at += static_cast<uint64_t>(n);
  }
  return out_.Finish();
}

}  // namespace stag::scrub
