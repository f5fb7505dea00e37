// SPDX-License-Identifier: GPL-2.0-or-later
//
// Files, standard input and memory as ByteSource.
#include "capture/file/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace stag::capture {
namespace {

class DescriptorSource final : public ByteSource {
 public:
  DescriptorSource(int fd, bool owned, uint64_t size) : fd_(fd), owned_(owned), size_(size) {}
  ~DescriptorSource() override {
    if (owned_) ::close(fd_);
  }
  DescriptorSource(const DescriptorSource&) = delete;
  DescriptorSource& operator=(const DescriptorSource&) = delete;

  size_t Read(MutableBytes out) override {
    if (!error_.empty()) return 0;
    ssize_t n;
    do n = ::read(fd_, out.data(), out.size());
    while (n < 0 && errno == EINTR);
    if (n < 0) {
      error_ = fmt::format("reading failed at byte {}: {}", position_, std::strerror(errno));
      return 0;
    }
    if (n == 0 && position_ < size_) error_ = "the file became shorter while it was read";
    position_ += static_cast<uint64_t>(n);
    return static_cast<size_t>(n);
  }
  bool lasts() const override { return size_ > 0; }
  size_t ReadAgain(uint64_t at, MutableBytes out) const override {
    size_t done = 0;
    while (done < out.size()) {
      const ssize_t n = ::pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }
  bool Waits(std::chrono::milliseconds patience) const override {
    pollfd one{fd_, POLLIN, 0};
    return ::poll(&one, 1, static_cast<int>(patience.count())) == 0;
  }
  const std::string& error() const override { return error_; }
  uint64_t position() const override { return position_; }
  uint64_t size() const override { return size_; }

 private:
  int fd_;
  bool owned_;
  uint64_t size_;
  uint64_t position_ = 0;
  std::string error_;
};

class BytesSource final : public ByteSource {
 public:
  explicit BytesSource(Bytes bytes) : bytes_(bytes) {}

  size_t Read(MutableBytes out) override {
    size_t n = std::min(out.size(), bytes_.size() - position_);
    if (n != 0) std::memcpy(out.data(), bytes_.data() + position_, n);
    position_ += n;
    return n;
  }
  const std::string& error() const override { return error_; }
  uint64_t position() const override { return position_; }
  uint64_t size() const override { return bytes_.size(); }

 private:
  Bytes bytes_;
  size_t position_ = 0;
  std::string error_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "standard input" : path;
  const int fd = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Fail(fmt::format("cannot open {}: {}", name, std::strerror(errno)));

  struct stat about {};
  if (::fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
    if (!standard_input) ::close(fd);
    return Fail(fmt::format("{} is a directory: give the capture files in it", name));
  }
  const bool regular = S_ISREG(about.st_mode);
  if (regular) (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  const auto size = regular && !standard_input ? static_cast<uint64_t>(about.st_size) : 0;
  return std::make_unique<DescriptorSource>(fd, !standard_input, size);
}

std::unique_ptr<ByteSource> MemorySource(Bytes bytes) { return std::make_unique<BytesSource>(bytes); }

}  // namespace stag::capture
