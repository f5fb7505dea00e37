// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reader: pcap and pcapng files (either byte order, micro- and nanosecond times, several interfaces), plain or
// compressed with gzip or zstd, from a path or standard input ("-"), as a stream of frames. Constant memory: files are
// read through a window of about 1 MiB, unless somebody keeps frames.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/file/byte_source.h"
#include "protocol/base/frame.h"
#include "protocol/base/lasting.h"
#include "protocol/base/result.h"

namespace stag::capture {

// A block of a pcapng file that is no frame, though Wireshark numbers it as one.
struct OtherBlock {
  enum class Kind : uint8_t {
    kCustom,
    kCustomNotCopied,  // by a program that does not know it
    kJournal,
    kOther,  // of `type`; Wireshark numbers events of sysdig only
  };
  Kind kind = Kind::kCustom;
  uint32_t type = 0;        // of kOther
  uint32_t enterprise = 0;  // a Private Enterprise Number: who knows a custom block
  Bytes data;               // what follows, up to the end of the block
  bool whole = true;        // false: there is more, or less, than a block may have
};

// The comment on a section of a pcapng file that is a part of a capture, and how it begins.
inline constexpr std::string_view kSliceMark = "stag slice: ",
                                  kSliceNote = "stag slice: a part of a capture; what is missing in it was left out";

// An interface of a file, as the file describes it.
struct CaptureInterface {
  uint64_t id = 0;  // no other one of the Reader has it
  uint16_t link_type = 0;
  uint32_t snap_length = 0;        // 0: no limit
  std::vector<std::byte> options;  // of a pcapng file of little-endian order, without their end
};

// Facts of a frame that a file states beside those of a Frame.
struct FrameOrigin {
  const CaptureInterface* interface = nullptr;
  uint64_t key = 0;     // not 0; names the interface among those of all Readers of a run
  uint64_t units = 0;   // the time, in the interface's units
  bool simple = false;  // a simple packet: without time and options
  Bytes options;        // of a pcapng file of little-endian order, without comments
};

// For a program that copies files: gets the parts of a pcapng file beside frames, in the order of the file, but for the
// blocks that are numbered.
class BlockListener {
 public:
  virtual ~BlockListener() = default;
  virtual void OnInterface(const CaptureInterface& interface) = 0;
  // `interface`: that of a kind of block that names one (interface statistics), at its beginning.
  virtual void OnBlock(const OtherBlock& block, const CaptureInterface* interface) = 0;
};

// In which order frames are taken.
enum class Order : uint8_t {
  kAuto,  // where times go back, by time, within a window; where a clock was set, as they stand
  kFile,  // as they stand
  kTime,  // by time, as far as memory reaches
};

// Whether `time_ns` is a step back from `last_ns`; longer ones are those of another clock.
constexpr bool StepsBack(int64_t last_ns, int64_t time_ns) {
  constexpr int64_t kHour = int64_t{3600} * 1'000'000'000;
  return time_ns < last_ns && last_ns - time_ns <= kHour;
}

class Reader {
 public:
  // Fails with a message for people when the file cannot be opened or is no capture.
  static Result<std::unique_ptr<Reader>> Open(const std::string& path);
  // The same from any source of bytes; `name` is for messages.
  static Result<std::unique_ptr<Reader>> Open(std::unique_ptr<ByteSource> source, const std::string& name);
  virtual ~Reader() = default;

  enum class Next : uint8_t { kFrame, kEnd, kDamaged };
  // kFrame: `frame` is filled and valid until the next call. kDamaged: the file is cut off or corrupt from here on; all
  // that could be read was delivered and error() says what is wrong and where; later calls return kDamaged again.
  virtual Next ReadFrame(Frame& frame) = 0;
  // What the bytes of the frame that was read last are in.
  virtual const FrameMemory& memory() const = 0;
  // The file that the bytes of frames can be read from again, while there is the Reader; null: there is none.
  virtual const Lasting* lasting() const { return nullptr; }
  virtual const std::string& error() const = 0;
  // The comments that a pcapng file has on the frame that was read last, with a NUL between them. Only readers of files
  // know them.
  virtual std::string comment() const { return {}; }
  // What stands in for the frame that was read last, which then has no bytes, no link type and the time of the frame
  // before; null: it is a frame. Only readers of files know. Valid until the next ReadFrame.
  virtual const OtherBlock* other_block() const { return nullptr; }
  // Before the first ReadFrame; the listener is called from it, and must outlive the Reader. Only readers of files know
  // such.
  virtual void Listen(BlockListener& /*listener*/) {}
  // The origin that the file states of the frame that was read last; null: it states none, or nobody listens. Valid
  // until the next ReadFrame.
  virtual const FrameOrigin* origin() const { return nullptr; }
  // The file says of itself that it is a slice (kSliceMark): what is missing in it was left out, not lost.
  virtual bool is_slice() const { return false; }
  // The file's format has comments on frames: comment() can be other than empty.
  virtual bool has_comments() const { return false; }

  // Reads up to so many frames, and bytes of the file on disk, for their times alone: whether one of them is before
  // that of the frame before it, by an hour at most.
  virtual bool GoesBack(size_t frames, uint64_t bytes);
  // Whether ReadFrame would wait for who writes what it reads, still so after `patience`.
  virtual bool Waits(std::chrono::milliseconds /*patience*/) { return false; }

  // For progress: bytes taken from the file as it is on disk (read ahead by up to 1 MiB), and its size (0 when unknown:
  // standard input).
  virtual uint64_t position() const = 0;
  virtual uint64_t size() const = 0;
};

}  // namespace stag::capture
