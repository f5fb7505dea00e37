// SPDX-License-Identifier: GPL-2.0-or-later
//
// Streaming gzip and zstd as ByteSource. Memory is what the libraries need for their windows (32 KiB; at most 128 MiB,
// as the zstd tool's own default, and only as much as the file asks for), never the size of the content.
#include <fmt/format.h>
#define ZLIB_CONST  // zlib promises not to write to its input
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "capture/file/window.h"

namespace stag::capture {
namespace {

constexpr std::byte kGzipMagic[] = {std::byte{0x1f}, std::byte{0x8b}};
constexpr std::byte kZstdMagic[] = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};

bool StartsWith(Window& input, Bytes magic) { return std::ranges::equal(input.Peek(magic.size()), magic); }

// What both have in common: the compressed input and the verdict.
class Decompressor : public ByteSource {
 public:
  // The next Read gives the bytes that the decoder still holds, without waiting.
  bool Waits(std::chrono::milliseconds patience) const final {
    return !held_back_ && input_.AtHand().empty() && input_.Waits(patience);
  }
  const std::string& error() const final { return error_; }
  uint64_t position() const final { return input_.position(); }
  uint64_t size() const final { return input_.size(); }

 protected:
  explicit Decompressor(Window input) : input_(std::move(input)) {}

  void SetDamaged(const char* format, const char* why) {
    SetError(fmt::format("the {} data is damaged at byte {}: {}", format, input_.offset(), why));
  }
  void SetCutOff(const char* format) {
    SetError(fmt::format("the {} data is cut off at byte {}", format, input_.offset()));
  }

  Window input_;
  bool done_ = false;
  bool held_back_ = false;  // the last Read had no room left

 private:
  // Unless it is the input's fault.
  void SetError(const std::string& message) { error_ = input_.error().empty() ? message : input_.error(); }

  std::string error_;
};

class GzipSource final : public Decompressor {
 public:
  explicit GzipSource(Window input) : Decompressor(std::move(input)) {}
  ~GzipSource() override {
    if (ready_) inflateEnd(&stream_);
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  bool Init() {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;  // the largest window, gzip wrapper
    return ready_;
  }

  size_t Read(MutableBytes out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(out.size(), 1u << 30));
    const uInt wanted = stream_.avail_out;
    while (!done_ && error().empty() && stream_.avail_out == wanted) {
      const Bytes in = input_.PeekSome();
      if (in.empty()) {
        SetCutOff("gzip");
        break;
      }
      stream_.next_in = reinterpret_cast<const Bytef*>(in.data());
      stream_.avail_in = static_cast<uInt>(in.size());
      const int status = inflate(&stream_, Z_NO_FLUSH);
      input_.Consume(in.size() - stream_.avail_in);
      if (status == Z_STREAM_END) {
        // Another member may follow; anything else behind the last one (padding of a tape or a disk) is not ours.
        done_ = !StartsWith(input_, kGzipMagic);
        if (!done_) inflateReset(&stream_);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        SetDamaged("gzip", stream_.msg != nullptr ? stream_.msg : zError(status));
      }
    }
    held_back_ = stream_.avail_out == 0;
    return wanted - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool ready_ = false;
};

class ZstdSource final : public Decompressor {
 public:
  explicit ZstdSource(Window input) : Decompressor(std::move(input)), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  bool Init() { return stream_ != nullptr; }

  size_t Read(MutableBytes out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (!done_ && error().empty() && to.pos == 0) {
      const Bytes in = input_.PeekSome();
      if (in.empty() && between_frames_) {
        done_ = true;
        break;
      }
      // Also without input: what the decoder still holds comes out first.
      ZSTD_inBuffer from{in.data(), in.size(), 0};
      const size_t hint = ZSTD_decompressStream(stream_, &to, &from);
      input_.Consume(from.pos);
      if (ZSTD_isError(hint) != 0) {
        SetDamaged("zstd", ZSTD_getErrorName(hint));
      } else {
        between_frames_ = hint == 0;
        if (in.empty() && to.pos == 0) SetCutOff("zstd");
      }
    }
    held_back_ = to.pos == to.size;
    return to.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool between_frames_ = false;
};

template <typename T>
Result<Window> Start(Window input) {
  auto source = std::make_unique<T>(std::move(input));
  if (!source->Init()) return Fail("not enough memory to decompress the capture");
  return Window(std::move(source));
}

}  // namespace

Result<Window> Decompress(Window input) {
  if (StartsWith(input, kGzipMagic)) return Start<GzipSource>(std::move(input));
  if (StartsWith(input, kZstdMagic)) return Start<ZstdSource>(std::move(input));
  return input;
}

}  // namespace stag::capture
