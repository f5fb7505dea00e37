// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/slice/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "capture/file/output_file.h"
#include "capture/file/reader_around.h"
#include "capture/times/aligned_reader.h"

namespace stag::cli {
namespace {

// Frames of a reader for which `wants` is true, with the numbers that they have.
class SomeFrames final : public capture::ReaderAround {
 public:
  SomeFrames(capture::Reader& reader, std::function<bool(const Frame&)> wants)
      : ReaderAround(reader), wants_(std::move(wants)) {}
  Next ReadFrame(Frame& frame) override {
    for (;;) {
      const Next next = reader_.ReadFrame(frame);
      if (next != Next::kFrame || !wants_ || wants_(frame)) return next;
    }
  }

 private:
  std::function<bool(const Frame&)> wants_;
};

// All that can be read of `from`.
Result<void> Copy(int from, int to, const std::string& name) {
  std::vector<char> buffer(size_t{1} << 20);
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    if (got == 0) return {};
    for (ssize_t done = 0; done < got;) {
      const ssize_t n = ::write(to, buffer.data() + done, static_cast<size_t>(got - done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        return Fail(
            fmt::format("{} is read several times, but cannot be copied to a temporary file: {}; TMPDIR names "
                        "the folder",
                        name, std::strerror(errno)));
      done += n;
    }
  }
}

}  // namespace

Result<SliceInput> SliceInput::Open(const std::string& file) {
  const std::string name = DisplayName(file);
  struct stat status {};
  if (file != "-" && (::stat(file.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)))
    return SliceInput(name, file, -1);  // what cannot be opened is reported by who reads it
  const int from = file == "-" ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return Fail(fmt::format("cannot open {}: {}", file, std::strerror(errno)));
  const auto to = capture::NamelessFile();
  const auto copied = to ? Copy(from, *to, name) : Result<void>(tl::unexpected(to.error()));
  if (from != STDIN_FILENO) ::close(from);
  if (!copied) {
    if (to) ::close(*to);
    return tl::unexpected(copied.error());
  }
  return SliceInput(name, fmt::format("/proc/self/fd/{}", *to), *to);
}

SliceInput::SliceInput(SliceInput&& other) noexcept
    : name_(std::move(other.name_)), path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

SliceInput::~SliceInput() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::unique_ptr<capture::Reader>> SliceInput::Frames() const {
  auto source = capture::OpenByteSource(path_);
  if (!source) return tl::unexpected(source.error());
  return capture::Reader::Open(std::move(*source), name_);
}

FileOutcome SliceInput::Analyze(const CommonOptions& options, Clock& clock, Output& output,
                                std::vector<session::Observer*> observers, fabric::PacketObserver* packets,
                                std::function<bool(const Frame&)> wants) const {
  const auto reader = Frames();
  if (!reader) {
    FileOutcome outcome;
    outcome.trouble = reader.error().message;
    output.diagnostics().ComplainText(outcome.trouble);
    return outcome;
  }
  capture::OrderedReader ordered(**reader, OrderOf(options), WindowMemory(options),
                                 capture::OrderedReader::Start::kUnknown, TunnelPortsOf(options));
  capture::AlignedReader aligned(ordered, ClocksOf(options), TunnelPortsOf(options));
  SomeFrames some(aligned, std::move(wants));
  FileOutcome outcome = cli::Analyze(some, name_, options, false, clock, output, std::move(observers), packets);
  outcome.disorder = ordered.disorder();
  return outcome;
}

}  // namespace stag::cli
