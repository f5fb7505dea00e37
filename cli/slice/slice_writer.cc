// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/slice_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "capture/file/link_types.h"
#include "capture/file/pcapng.h"
#include "capture/file/writer.h"
#include "cli/base/version.h"

namespace stag::cli {
namespace {

// Bytes of the comments that a frame has already: pcapng knows 65535, and one more follows.
constexpr size_t kMaxComment = 0xf000;

// The parts of a source beside frames, in the order of the file, since the last frame that was written.
class Beside final : public capture::BlockListener {
 public:
  // `source`: its number.
  Beside(uint64_t source, uint64_t& left_out) : keys_((source + 1) << 32), left_out_(left_out) {}

  uint64_t KeyOf(uint64_t interface) const { return keys_ + interface; }
  void OnInterface(const capture::CaptureInterface& interface) override { Put({}, &interface); }
  void OnBlock(const capture::OtherBlock& block, const capture::CaptureInterface* interface) override {
    if (block.type == capture::kNotCopied) return void(++left_out_);
    Put(block, interface);
  }
  void Write(capture::FileWriter& writer) {
    for (Waiting& waiting : waiting_) {
      const capture::CaptureInterface* const interface = waiting.interface ? &*waiting.interface : nullptr;
      const uint64_t key = interface ? KeyOf(interface->id) : 0;
      waiting.block.data = waiting.data;
      if (interface && waiting.block.type == 0) {  // described, and no block
        writer.Describe(*interface, key);
      } else {
        (void)writer.Write(waiting.block, interface, key);
      }
    }
    waiting_.clear();
    size_ = 0;
  }

 private:
  struct Waiting {
    capture::OtherBlock block;
    std::vector<std::byte> data;
    std::optional<capture::CaptureInterface> interface;
  };
  // Up to 64 MiB wait for a frame; what is over that is left out.
  static constexpr size_t kMost = 64u << 20;
  void Put(const capture::OtherBlock& block, const capture::CaptureInterface* interface) {
    size_ += sizeof(Waiting) + block.data.size() + (interface ? interface->options.size() : 0);
    if (size_ > kMost) return void(++left_out_);
    Waiting& waiting = waiting_.emplace_back(Waiting{block, {block.data.begin(), block.data.end()}, std::nullopt});
    if (interface) waiting.interface = *interface;
  }

  const uint64_t keys_;
  uint64_t& left_out_;
  std::vector<Waiting> waiting_;
  size_t size_ = 0;
};

// The frames of one source that are to be written, one at a time.
class Cursor {
 public:
  Cursor(SliceSource& source, uint64_t number, Diagnostics& diagnostics)
      : source_(&source), diagnostics_(&diagnostics), beside_(std::make_unique<Beside>(number, source.left_out)) {}
  Beside& beside() const { return *beside_; }
  const Frame& frame() const { return frame_; }
  SliceSource& source() const { return *source_; }
  const capture::Reader* reader() const { return reader_.get(); }

  // False: there are no more.
  bool Next() {
    if (!opened_) {
      opened_ = true;
      auto reader = source_->input.Frames();
      if (!reader) {
        if (source_->sliced.opened) diagnostics_->ComplainText(reader.error().message);
        source_->sliced.opened = false;
        return false;
      }
      reader_ = std::move(*reader);
      reader_->Listen(*beside_);
    }
    while (reader_) {
      const capture::Reader::Next next = reader_->ReadFrame(frame_);
      if (next == capture::Reader::Next::kFrame) {
        if (source_->sliced.all) source_->sliced.read = std::max(source_->sliced.read, frame_.ref.number);
        if (source_->sliced.Has(frame_.ref.number)) return true;
        continue;
      }
      if (next == capture::Reader::Next::kDamaged && !source_->sliced.damaged) {
        source_->sliced.damaged = true;
        diagnostics_->Complain("{}: {}", source_->input.name(), reader_->error());
      }
      reader_.reset();
    }
    return false;
  }

 private:
  SliceSource* source_;
  Diagnostics* diagnostics_;
  bool opened_ = false;
  std::unique_ptr<Beside> beside_;
  std::unique_ptr<capture::Reader> reader_;
  Frame frame_;
};

class SliceWriter {
 public:
  // `part`: not every frame of the sources is written.
  SliceWriter(const SliceTarget& target, bool several, bool part)
      : target_(target), several_(several), part_(part), progress_(target.progress, target.path) {}

  Result<void> Write(Cursor& cursor) {
    Frame frame = cursor.frame();
    SliceSource& source = cursor.source();
    const capture::OtherBlock* const block = cursor.reader()->other_block();
    if (block && (!block->whole || block->kind == capture::OtherBlock::Kind::kCustomNotCopied))
      return ++source.left_out, Result<void>{};
    const capture::FrameOrigin* const known = cursor.reader()->origin();
    if (!writer_) {
      const auto link = block || known ? std::nullopt : std::optional(frame.link);
      capture::FileNotes notes;
      notes.application = kVersionText;
      if (part_ || cursor.reader()->is_slice()) notes.comment = capture::kSliceNote;
      const auto compression =
          target_.path.ends_with(".zst") ? capture::Compression::kZstd : capture::Compression::kNone;
      auto created = capture::FileWriter::Create(target_.path, capture::FileFormat::kPcapng, link, notes, compression,
                                                 capture::OutputFile::Named::kWhenWhole);
      if (!created && link && !capture::LinkTypeToFile(*link)) return Refused(source, frame, created.error());
      if (!created) return tl::unexpected(created.error());
      writer_ = std::move(*created);
    }
    cursor.beside().Write(*writer_);
    if (block) {
      const auto written = writer_->Write(*block);
      if (!written) return Refused(source, frame, written.error());
      ++source.written;
      return {};
    }
    if (source.sliced.cutter) frame.bytes = frame.bytes.first(source.sliced.cutter->Keep(frame));
    comment_ = cursor.reader()->comment();
    if (comment_.size() > kMaxComment) comment_.clear();
    if (!comment_.empty()) comment_ += '\0';
    Put(comment_, "frame {}", frame.ref.number);
    if (several_) Put(comment_, " of {}", source.input.name());
    capture::FrameOrigin origin;
    if (known) {
      origin = *known;
      origin.key = cursor.beside().KeyOf(origin.interface->id);
    }
    const auto written = writer_->Write(frame, comment_, known ? &origin : nullptr);
    if (!written) return Refused(source, frame, written.error());
    ++source.written;
    if (progress_.active() && ++written_ % 1024 == 0)
      progress_.Update(cursor.reader()->position(), cursor.reader()->size(), written_);
    return {};
  }
  // Writes the parts behind the last frame of a source.
  void End(Cursor& cursor) {
    if (writer_) cursor.beside().Write(*writer_);
  }
  Result<void> Close() { return writer_ ? writer_->Close() : Result<void>{}; }

 private:
  static Result<void> Refused(const SliceSource& source, const Frame& frame, const Error& error) {
    return Fail(fmt::format("{}, frame {}: {}", source.input.name(), frame.ref.number, error.message));
  }

  const SliceTarget& target_;
  const bool several_, part_;
  Progress progress_;
  std::unique_ptr<capture::FileWriter> writer_;
  std::string comment_;
  uint64_t written_ = 0;
};

// The first of the frames that come next; with `merge`, the earliest; of equals, that of the first source.
std::vector<Cursor>::iterator Following(std::vector<Cursor>& cursors, bool merge) {
  if (!merge) return cursors.begin();
  return std::ranges::min_element(cursors, {}, [](const Cursor& cursor) { return cursor.frame().ref.time_ns; });
}

}  // namespace

Result<void> WriteSlice(std::vector<SliceSource>& sources, const SliceTarget& target, Diagnostics& diagnostics) {
  const bool part = std::ranges::any_of(sources, [](const SliceSource& source) { return !source.sliced.all; });
  SliceWriter writer(target, sources.size() > 1, part);
  std::vector<Cursor> waiting;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].sliced.opened && sources[i].sliced.nothing.empty()) waiting.emplace_back(sources[i], i, diagnostics);
  }
  // Without --merge a source is opened when its turn comes.
  std::vector<Cursor> cursors;
  for (size_t next = 0; next < waiting.size() || !cursors.empty();) {
    while (next < waiting.size() && (target.merge || cursors.empty())) {
      Cursor cursor = std::move(waiting[next++]);
      if (cursor.Next()) cursors.push_back(std::move(cursor));
    }
    if (cursors.empty()) break;
    const auto cursor = Following(cursors, target.merge);
    if (auto written = writer.Write(*cursor); !written) return written;
    if (cursor->Next()) continue;
    writer.End(*cursor);
    cursors.erase(cursor);
  }
  return writer.Close();
}

}  // namespace stag::cli
