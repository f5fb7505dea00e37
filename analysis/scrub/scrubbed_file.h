// SPDX-License-Identifier: GPL-2.0-or-later
//
// ScrubbedFile: the capture that is written. Frames are appended with their payload zeroed, and what is known of it
// later is put into its place; when all is known, checksums are set and the file gets its name. What is to be
// compressed, or goes to a pipe, is in a file without a name until then. What is kept of each frame is in a temporary
// file, so that memory does not grow.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/scrub/checksums.h"
#include "analysis/scrub/scrubbed_frames.h"
#include "capture/file/output_file.h"
#include "capture/file/writer.h"

namespace stag::scrub {

// Writes all frames of a capture, compressed. There is no file when they cannot be read to their end.
Result<void> WriteCompressed(capture::Reader& from, capture::OutputFile to, capture::FileFormat format);

class ScrubbedFile final : public ScrubbedFrames {
 public:
  // `path`: "-" is standard output. Written as pcap when it ends with .pcap, else as pcapng; compressed with zstd when
  // .zst follows. `ports`: of tunnels.
  static Result<std::unique_ptr<ScrubbedFile>> Create(const std::string& path,
                                                      const link::TunnelPorts& ports = link::kTunnelPorts);
  // What was written goes, unless Finish gave it its name.
  ~ScrubbedFile() override;
  ScrubbedFile(const ScrubbedFile&) = delete;
  ScrubbedFile& operator=(const ScrubbedFile&) = delete;

  // Of the frames that are appended next: interfaces stay apart, without their names. `file`: its number; null: nothing
  // is known.
  void SetOrigin(const capture::FrameOrigin* origin, uint64_t file);
  // Before the first frame: the file says that it is a slice.
  void SetSlice() { slice_ = true; }
  Result<void> Append(const Frame& frame, const FramePayload& payload, uint32_t states) override;
  // A custom block without contents; in a pcap file, which has no blocks, an empty frame.
  Result<void> AppendEmpty(const FrameRef& ref) override;
  uint64_t frames() const override { return frames_; }
  void Write(const Place& place, Bytes bytes) override;
  void CopyLater(const Place& from, const Place& to) override;
  void ChangeLater(const Place& place, bool fpdu) override;
  void SealLater(const std::vector<Place>& fpdu, bool right) override;
  std::optional<uint32_t> Psn(uint64_t frame) override;

  // Sets checksums, writes everything out and gives the file its name.
  Result<void> Finish();

 private:
  struct Record {
    uint64_t at = 0;  // of the frame's bytes in the file
    uint32_t size = 0, wire_length = 0;
    uint32_t payload = 0, captured = 0;  // offset in the frame, bytes
    uint32_t states = 0;
    uint32_t psn = 0;
    uint32_t link = 0, unused = 0;
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using Temporary = std::unique_ptr<std::FILE, Close>;
  ScrubbedFile(capture::OutputFile out, const std::string& path, int draft, const link::TunnelPorts& ports);
  Result<void> Start(std::optional<LinkType> link);
  Result<void> Keep(const Record& record);
  Result<void> Flush();
  Record Find(uint64_t frame);
  void Note(const std::string& trouble);
  void SealFpdus(MutableBytes file);
  void CopyAll(MutableBytes file);
  void ChangeAll(MutableBytes file);
  void SealFrames(MutableBytes file);
  MutableBytes Part(MutableBytes file, uint64_t at, uint64_t size);
  MutableBytes At(MutableBytes file, const Place& place);
  Error CannotWrite() const;
  Result<void> Compress();
  Result<void> Copy();

  capture::OutputFile out_;
  const capture::FileFormat format_;
  const bool compressed_;
  const link::TunnelPorts ports_;
  const int draft_;  // without a name, until it is delivered; -1: out_ is written at once
  const int fd_;     // what the frames are in: the draft, or out_
  bool slice_ = false;
  std::optional<capture::FileEncoder> encoder_;
  capture::CaptureInterface interface_;  // of the next frame
  capture::FrameOrigin origin_;          // likewise; without an interface: unknown
  std::vector<std::byte> buffer_;
  uint64_t written_ = 0;  // bytes of the file before the buffer
  uint64_t frames_ = 0;
  LinkType link_ = LinkType::kUnsupported;    // of a pcap file
  std::vector<FrameRef> early_;               // before the first frame of a pcap file, whose link type is not known yet
  uint64_t mapped_ = 0, block_ = UINT64_MAX;  // Part: about so many bytes are in memory; the last block
  std::string trouble_;                       // the first failure to write
  std::vector<Record> recent_;                // records behind those in the file
  uint64_t stored_ = 0;                       // records in the file
  Temporary records_, copies_, changes_, seals_;
};

}  // namespace stag::scrub
