// SPDX-License-Identifier: GPL-2.0-or-later
//
// pcapng (draft-ietf-opsawg-pcapng): blocks of type, length, body, length. A section header sets the byte order and
// forgets the interfaces of the section before; interface descriptions give link type, snap length and the unit of
// times; enhanced, simple and obsolete packet blocks hold frames. Every other block is skipped, however long, unless
// somebody listens, but those that Wireshark shows as frames count as (empty) frames.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "capture/file/format_reader.h"
#include "capture/file/link_types.h"
#include "capture/file/pcapng.h"

namespace stag::capture {
namespace {

constexpr uint32_t kPacket = 2;  // obsolete

constexpr size_t kBlockHeader = 8;   // type and length
constexpr size_t kBlockTrailer = 4;  // length again
constexpr size_t kSectionHeaderBody = 16;
constexpr size_t kInterfaceBody = 8;
constexpr size_t kPacketBody = 20;  // of an enhanced or an obsolete packet, before the frame
constexpr size_t kSimplePacketBody = 4;

constexpr uint16_t kOptionEnd = 0, kOptionComment = 1, kOptionTimeResolution = 9, kOptionTimeOffset = 14;

// Enough for any real file; keeps a file made of nothing but interfaces from filling the memory.
constexpr size_t kMaxInterfaces = 65536;

struct Interface {
  LinkType link = LinkType::kUnsupported;
  uint32_t snap_length = 0;                     // 0 = no limit
  uint8_t time_resolution = 6;                  // if_tsresol: power of ten, or of two with the top bit
  int64_t time_offset_seconds = 0;              // if_tsoffset
  std::unique_ptr<CaptureInterface> described;  // where somebody listens
};

// `units` since the epoch in an interface's resolution, as nanoseconds.
int64_t Nanoseconds(const Interface& interface, uint64_t units) {
  const unsigned exponent = interface.time_resolution & 0x7f;
  __int128 ns = 0;
  if ((interface.time_resolution & 0x80) != 0) {
    ns = static_cast<__int128>(units) * 1'000'000'000 >> exponent;
  } else {
    for (unsigned e = 9; e < exponent && units != 0; ++e) units /= 10;
    ns = units;
    for (unsigned e = exponent; e < 9; ++e) ns *= 10;
  }
  return ClampTime(ns + static_cast<__int128>(interface.time_offset_seconds) * 1'000'000'000);
}

class PcapngReader final : public FormatReader {
 public:
  explicit PcapngReader(Window window) : FormatReader(std::move(window)) {}

  Next ReadFrame(Frame& frame) override {
    options_ = {};
    other_.reset();
    origin_ = {};
    while (!finished()) {
      if (!FinishBlock()) break;
      block_start_ = window_.offset();
      const Bytes header = window_.Peek(kBlockHeader);
      if (header.size() < kBlockHeader) return header.empty() ? AtEnd() : CutOff(block_start_);
      // The type of a section header reads the same in both byte orders; its length is in the order that it declares.
      const uint32_t type = order_.Load32(header.data());
      if (type == kSectionHeader) {
        (void)BeginSection();
        continue;
      }
      if (!BeginBlock(order_.Load32(header.data() + 4))) break;
      switch (type) {
        case kInterfaceDescription: (void)ReadInterface(); break;
        case kEnhancedPacket:
        case kPacket:
          if (ReadPacket(type, frame)) return Next::kFrame;
          break;
        case kSimplePacket:
          if (ReadSimplePacket(frame)) return Next::kFrame;
          break;
        case kSystemdJournal:
        case kCustom:
        case kCustomNotCopied:
        case kSysdigEvent:
        case kSysdigEvent2:
        case kSysdigLargeEvent:
          DeliverPlaceholder(frame);
          ReadOther(type);
          return Next::kFrame;
        default:
          if (listener_) ReportOther(type);
          break;
      }
    }
    return verdict();
  }

  void Listen(BlockListener& listener) override { listener_ = &listener; }
  const FrameOrigin* origin() const override { return listener_ && origin_.interface ? &origin_ : nullptr; }
  const OtherBlock* other_block() const override { return other_ ? &*other_ : nullptr; }
  bool has_comments() const override { return true; }
  bool is_slice() const override { return slice_; }
  std::string comment() const override { return CommentOf(options_); }
  std::string CommentOf(Bytes options) const {
    std::string text;
    for (Bytes left = options; left.size() >= 4;) {
      const uint16_t code = order_.Load16(left.data()), length = order_.Load16(left.data() + 2);
      left = left.subspan(4);
      if (code == kOptionEnd || length > left.size()) break;
      if (code == kOptionComment) {
        if (!text.empty()) text += '\0';
        text.append(reinterpret_cast<const char*>(left.data()), length);
      }
      left = left.subspan(std::min<size_t>(left.size(), static_cast<size_t>(RoundUp4(length))));
    }
    return text;
  }

  // The section header at the window's start; with its verdict the file is opened or not.
  bool BeginSection() {
    const Bytes block = window_.Peek(kBlockHeader + kSectionHeaderBody);
    if (block.size() < kBlockHeader + kSectionHeaderBody) return Stop(CutOff(block_start_));
    const uint32_t magic = LoadBe32(block.data() + kBlockHeader);
    if (magic != kByteOrderMagic && magic != __builtin_bswap32(kByteOrderMagic))
      return Stop(Damaged(fmt::format("the section header at byte {} has no byte order", block_start_)));
    order_ = FileOrder(magic == kByteOrderMagic);
    const uint16_t major = order_.Load16(block.data() + kBlockHeader + 4);
    if (major != 1)
      return Stop(Damaged(
          fmt::format("the section at byte {} is pcapng version {}: only version 1 is known", block_start_, major)));
    interfaces_.clear();
    if (!BeginBlock(order_.Load32(block.data() + 4)) || !TakeBody(kSectionHeaderBody)) return false;
    const Bytes options = window_.Peek(static_cast<size_t>(std::min<uint64_t>(body_left_, kMaxOptions)));
    slice_ |= CommentOf(options).starts_with(kSliceMark);
    return true;
  }

 private:
  bool EndsBehind(Bytes ahead) const override {
    uint64_t begin = block_length_ == 0 ? 0 : body_left_ + kBlockTrailer;
    while (begin + kBlockHeader <= ahead.size()) {
      const uint32_t type = order_.Load32(&ahead[begin]);
      const uint32_t length = order_.Load32(&ahead[begin + 4]);
      if (length < kBlockHeader + kBlockTrailer || type == kSectionHeader) return false;
      begin += RoundUp4(length);
      if (begin > ahead.size()) return true;
      if (type == kEnhancedPacket || type == kPacket || type == kSimplePacket) return false;
    }
    return true;
  }

  static bool Stop(Next) { return false; }

  // Consumes the block's header; `length` is its whole length. Some writers leave out the padding, which is there.
  bool BeginBlock(uint32_t length) {
    if (length < kBlockHeader + kBlockTrailer)
      return Stop(
          Damaged(fmt::format("the block before {} has an impossible length of {} bytes: the file is damaged there",
                              Where(block_start_), length)));
    window_.Consume(kBlockHeader);
    block_length_ = length;
    body_left_ = RoundUp4(length) - kBlockHeader - kBlockTrailer;
    return true;
  }

  // Skips what is left of the block that is being read, if any, and checks the second copy of its length.
  bool FinishBlock() {
    if (block_length_ == 0) return true;
    if (!window_.Skip(body_left_)) return Stop(CutOff(block_start_));
    const Bytes trailer = window_.Peek(kBlockTrailer);
    if (trailer.size() < kBlockTrailer) return Stop(CutOff(block_start_));
    if (order_.Load32(trailer.data()) != block_length_)
      return Stop(Damaged(
          fmt::format("the two lengths of the block at byte {} differ: the file is damaged there", block_start_)));
    window_.Consume(kBlockTrailer);
    block_length_ = 0;
    return true;
  }

  // The next `n` bytes of the block's body; nothing, with the reason said, when block or file is shorter.
  std::optional<Bytes> TakeBody(size_t n) {
    if (n > body_left_) {
      Damaged(
          fmt::format("the block at byte {} is shorter than what it holds: the file is damaged there", block_start_));
      return std::nullopt;
    }
    const Bytes bytes = window_.Peek(n);
    if (bytes.size() < n) {
      CutOff(block_start_);
      return std::nullopt;
    }
    window_.Consume(n);
    body_left_ -= n;
    return bytes;
  }

  bool ReadInterface() {
    const auto body = TakeBody(kInterfaceBody);
    if (!body) return false;
    if (interfaces_.size() == kMaxInterfaces)
      return Stop(Damaged(fmt::format("more than {} interfaces in one section", kMaxInterfaces)));
    Interface interface;
    interface.link = LinkTypeFromFile(order_.Load16(body->data()));
    interface.snap_length = order_.Load32(body->data() + 4);
    if (listener_) Describe(interface, order_.Load16(body->data()));
    while (body_left_ >= 4) {
      const auto option = TakeBody(4);
      if (!option) return false;
      const uint16_t code = order_.Load16(option->data());
      const uint16_t length = order_.Load16(option->data() + 2);
      if (code == kOptionEnd) break;
      const auto value = TakeBody(static_cast<size_t>(RoundUp4(length)));
      if (!value) return false;
      if (code == kOptionTimeResolution && length == 1)
        interface.time_resolution = std::to_integer<uint8_t>((*value)[0]);
      if (code == kOptionTimeOffset && length == 8)
        interface.time_offset_seconds = static_cast<int64_t>(order_.Load64(value->data()));
    }
    interfaces_.push_back(std::move(interface));
    return true;
  }

  // For those who listen: the interface with its options, which stand ahead.
  void Describe(Interface& interface, uint16_t link_type) {
    CaptureInterface& described = *(interface.described = std::make_unique<CaptureInterface>());
    described.id = next_id_++;
    described.link_type = link_type;
    described.snap_length = interface.snap_length;
    const size_t most = std::min(kMaxOptions, static_cast<size_t>(std::min<uint64_t>(body_left_, kMaxOptions)));
    CopyOptions(window_.Peek(most), kInterfaceNumbers, described.options);
    if (described.options.size() > options_left_) described.options.clear();
    options_left_ -= described.options.size();
    listener_->OnInterface(described);
  }

  // Numbers among options, and how many bytes they have: what the order of bytes concerns.
  struct NumberOption {
    uint16_t code;
    uint16_t size;
  };
  static constexpr NumberOption kInterfaceNumbers[] = {{8, 8}, {10, 4}, {14, 8}, {16, 8}, {17, 8}};
  static constexpr NumberOption kPacketNumbers[] = {{2, 4}, {4, 8}, {5, 8}, {6, 4}};
  static constexpr NumberOption kStatisticsNumbers[] = {{2, 0}, {3, 0}, {4, 8}, {5, 8}, {6, 8}, {7, 8}, {8, 8}};

  // Options but comments (of packets: they are asked for), in little-endian order. Times are two words.
  template <size_t kSize>
  void CopyOptions(Bytes left, const NumberOption (&numbers)[kSize], std::vector<std::byte>& out,
                   bool comments = true) const {
    constexpr size_t kHead = 4;
    while (left.size() >= kHead) {
      const uint16_t code = order_.Load16(left.data()), length = order_.Load16(left.data() + 2);
      const auto padded = static_cast<size_t>(RoundUp4(length));
      if (code == kOptionEnd || padded > left.size() - kHead) return;
      const Bytes value = left.subspan(kHead, padded);
      left = left.subspan(kHead + padded);
      if (code == kOptionComment && !comments) continue;
      const size_t at = out.size();
      out.resize(at + kHead);
      StoreLe32(out.data() + at, uint32_t{length} << 16 | code);
      out.insert(out.end(), value.begin(), value.end());
      std::fill(out.begin() + static_cast<ptrdiff_t>(at + kHead + length), out.end(), std::byte{0});
      const auto* const number = std::ranges::find(numbers, code, &NumberOption::code);
      if (!order_.big_endian() || number == std::end(numbers)) continue;
      const auto begin = out.begin() + static_cast<ptrdiff_t>(at + kHead);
      if (number->size == length) std::reverse(begin, begin + length);
      if (number->size == 0 && length == 8) std::reverse(begin, begin + 4), std::reverse(begin + 4, begin + 8);
    }
  }

  // A block that is no frame and has no number, for those who listen.
  void ReportOther(uint32_t type) {
    if (body_left_ > kMaxFrame) return;
    const Bytes body = window_.Peek(static_cast<size_t>(body_left_));
    if (body.size() != body_left_) return;
    OtherBlock block{.kind = OtherBlock::Kind::kOther, .type = type, .data = body};
    if (type == kInterfaceStatistics) {
      constexpr size_t kFixed = 12;
      if (body.size() < kFixed || order_.Load32(body.data()) >= interfaces_.size()) return;
      copy_.assign(kFixed, std::byte{0});
      StoreLe32(copy_.data() + 4, order_.Load32(body.data() + 4));
      StoreLe32(copy_.data() + 8, order_.Load32(body.data() + 8));
      CopyOptions(body.subspan(kFixed), kStatisticsNumbers, copy_);
      copy_.resize(copy_.size() + 4);  // the end of options
      block.data = copy_;
      return listener_->OnBlock(block, interfaces_[order_.Load32(body.data())].described.get());
    }
    if (order_.big_endian() && (type == kNameResolution || type == kDecryptionSecrets)) {
      copy_.assign(body.begin(), body.end());
      if (type == kDecryptionSecrets && body.size() >= 8) {
        std::reverse(copy_.begin(), copy_.begin() + 4), std::reverse(copy_.begin() + 4, copy_.begin() + 8);
      }
      for (size_t at = 0; type == kNameResolution && at + 4 <= body.size();) {
        const uint16_t length = order_.Load16(&body[at + 2]);
        StoreLe32(&copy_[at], uint32_t{length} << 16 | order_.Load16(&body[at]));
        at += 4 + static_cast<size_t>(RoundUp4(length));
      }
      block.data = copy_;
    }
    listener_->OnBlock(block, nullptr);
  }

  // An enhanced packet, or an obsolete one: they differ in the width of the interface's number.
  bool ReadPacket(uint32_t type, Frame& frame) {
    const auto body = TakeBody(kPacketBody);
    if (!body) return false;
    const std::byte* p = body->data();
    const uint32_t interface = type == kPacket ? order_.Load16(p) : order_.Load32(p);
    const uint64_t time = uint64_t{order_.Load32(p + 4)} << 32 | order_.Load32(p + 8);
    const uint32_t captured = order_.Load32(p + 12);
    const uint32_t on_wire = order_.Load32(p + 16);
    if (!CheckInterface(interface)) return false;
    const int64_t time_ns = Nanoseconds(interfaces_[interface], time);
    SetOrigin(interface, time);
    const uint64_t padded = RoundUp4(captured);
    if (captured > kMaxFrame || body_left_ <= padded || body_left_ > Window::kMaxPeek)
      return Deliver(interface, time_ns, captured, on_wire, frame);
    // Frame and options together, that both stay where they are.
    const size_t body_size = static_cast<size_t>(body_left_);
    if (const Bytes all = window_.Peek(body_size); all.size() == body_size)
      options_ = all.subspan(static_cast<size_t>(padded));
    if (listener_ && !options_.empty()) {
      copy_.clear();
      CopyOptions(options_, kPacketNumbers, copy_, false);
      origin_.options = copy_;
    }
    return Deliver(interface, time_ns, captured, on_wire, frame);
  }

  // A simple packet: of interface 0, without time, and its captured length must be worked out.
  bool ReadSimplePacket(Frame& frame) {
    const auto body = TakeBody(kSimplePacketBody);
    if (!body || !CheckInterface(0)) return false;
    const uint32_t on_wire = order_.Load32(body->data());
    const uint32_t snap_length = interfaces_[0].snap_length;
    const uint32_t captured = snap_length == 0 ? on_wire : std::min(on_wire, snap_length);
    SetOrigin(0, 0);
    origin_.simple = true;
    if (!Deliver(0, last_time_ns_, captured, on_wire, frame)) return false;
    frame.ref.timed = false;
    return true;
  }

  void SetOrigin(uint32_t interface, uint64_t units) {
    if (!listener_) return;
    origin_.interface = interfaces_[interface].described.get();
    origin_.key = origin_.interface->id + 1;
    origin_.units = units;
  }

  bool CheckInterface(uint32_t interface) {
    if (interface < interfaces_.size()) return true;
    return Stop(Damaged(fmt::format("{} names interface {}, but its section describes only {}", Where(block_start_),
                                    interface, interfaces_.size())));
  }

  // Keeps the numbers of the frames after it the same as Wireshark's. Has no time of its own: that of the frame before.
  void DeliverPlaceholder(Frame& frame) {
    frame.ref = {++frames_, last_time_ns_};
    frame.link = LinkType::kUnsupported;
    frame.bytes = {};
    frame.wire_length = 0;
  }

  // Looks at what follows, which FinishBlock skips.
  void ReadOther(uint32_t type) {
    constexpr size_t kEnterprise = 4;
    OtherBlock& other = other_.emplace();
    other.kind = type == kSystemdJournal    ? OtherBlock::Kind::kJournal
                 : type == kCustom          ? OtherBlock::Kind::kCustom
                 : type == kCustomNotCopied ? OtherBlock::Kind::kCustomNotCopied
                                            : OtherBlock::Kind::kOther;
    other.type = type;
    const size_t fixed = type == kCustom || type == kCustomNotCopied ? kEnterprise : 0;
    if (body_left_ <= kMaxFrame) other.data = window_.Peek(static_cast<size_t>(body_left_));
    other.whole = other.data.size() == body_left_ && other.data.size() >= fixed;
    if (!other.whole) return void(other.data = {});
    if (fixed > 0) other.enterprise = order_.Load32(other.data.data());
    other.data = other.data.subspan(fixed);
  }

  bool Deliver(uint32_t interface, int64_t time_ns, uint32_t captured, uint32_t on_wire, Frame& frame) {
    if (captured > kMaxFrame)
      return Stop(Damaged(
          fmt::format("{} claims {} captured bytes: the file is damaged there", Where(block_start_), captured)));
    const auto bytes = TakeBody(captured);
    if (!bytes) return false;
    frame.ref = {++frames_, time_ns};
    last_time_ns_ = time_ns;
    frame.link = interfaces_[interface].link;
    frame.interface = interface;
    frame.bytes = *bytes;
    frame.wire_length = std::max(on_wire, captured);
    return true;
  }

  static constexpr size_t kMaxOptions = 64 << 10;  // bytes of an interface that are kept

  FileOrder order_;
  std::vector<Interface> interfaces_;
  BlockListener* listener_ = nullptr;
  FrameOrigin origin_;              // of the frame that was read last, where somebody listens
  std::vector<std::byte> copy_;     // for those who listen: scratch
  size_t options_left_ = 4u << 20;  // bytes of options of interfaces that may yet be kept
  uint64_t next_id_ = 0;
  bool slice_ = false;
  Bytes options_;                    // of the packet that was read last
  std::optional<OtherBlock> other_;  // was read last
  int64_t last_time_ns_ = 0;
  uint64_t block_start_ = 0;
  uint32_t block_length_ = 0;  // of the block that is being read; 0 between blocks
  uint64_t body_left_ = 0;     // bytes of its body not yet consumed
};

}  // namespace

bool IsPcapng(Bytes start) { return start.size() >= 4 && LoadBe32(start.data()) == kSectionHeader; }

Result<std::unique_ptr<Reader>> OpenPcapng(Window window, const std::string& name) {
  auto reader = std::make_unique<PcapngReader>(std::move(window));
  if (!reader->BeginSection()) return Fail(fmt::format("{} is no readable pcapng capture: {}", name, reader->error()));
  return reader;
}

}  // namespace stag::capture
