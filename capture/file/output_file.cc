// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/file/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace stag::capture {
namespace {

constexpr std::array kEndings = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

std::vector<std::string>& Inputs() {
  static std::vector<std::string> inputs;
  return inputs;
}

bool HasContents(const struct stat& file) { return S_ISREG(file.st_mode) || S_ISBLK(file.st_mode); }

bool IsSame(const struct stat& one, const struct stat& two) {
  if ((one.st_mode & S_IFMT) != (two.st_mode & S_IFMT)) return false;
  if (S_ISBLK(one.st_mode)) return one.st_rdev == two.st_rdev;
  return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// What a path leads to.
struct Target {
  std::string path;     // links followed
  int descriptor = -1;  // of this process, when that is what is named
  bool exists = false;
  struct stat status {};  // when it exists
};

// Follows the links of `path` one by one, so that what does not exist can be made where a link says, and descriptors of
// this process (/dev/stdout, /dev/fd/3) are told from files. False: errno says why.
bool Follow(const std::string& path, Target& target) {
  constexpr int kMostLinks = 40;
  if (path == "-") {
    target.descriptor = STDOUT_FILENO;
    target.exists = ::fstat(STDOUT_FILENO, &target.status) == 0;
    return target.exists;
  }
  target.path = path;
  for (int links = 0; links < kMostLinks; ++links) {
    target.exists = ::lstat(target.path.c_str(), &target.status) == 0;
    if (!target.exists) return errno == ENOENT;
    if (!S_ISLNK(target.status.st_mode)) return true;
    const std::string folder = FolderOf(target.path);
    std::array<char, PATH_MAX> text{};
    if (!::realpath(folder.c_str(), text.data())) return false;
    if (std::string_view(text.data()).starts_with("/proc/")) {  // what this names is not what the link says
      const std::string_view real(text.data());
      if (real.starts_with(fmt::format("/proc/{}/", ::getpid())) && real.ends_with("/fd")) {
        const char* const number = target.path.c_str() + target.path.rfind('/') + 1;  // a folder of numbers
        target.descriptor = static_cast<int>(std::strtol(number, nullptr, 10));
        return ::fstat(target.descriptor, &target.status) == 0;
      }
      if (real != "/proc") return ::stat(target.path.c_str(), &target.status) == 0;
    }
    const ssize_t size = ::readlink(target.path.c_str(), text.data(), text.size());
    if (size < 0) return false;
    const std::string leads(text.data(), static_cast<size_t>(size));
    target.path = leads.starts_with('/') ? leads : fmt::format("{}/{}", folder, leads);
  }
  errno = ELOOP;
  return false;
}

std::string NameOf(const std::string& path) { return path == "-" ? "standard output" : path; }

std::string WhyNotWritten(const std::string& path, const struct stat& status) {
  const std::string input = InputThatIs(status);
  if (input.empty()) return {};
  const std::string is =
      input == path ? "the command reads it" : fmt::format("it is {}, which the command reads", input);
  return fmt::format("cannot write {}: {}; name another file", NameOf(path), is);
}

// Makes a file by a new name in `folder`; -1: errno says why.
int MakeBeside(const std::string& folder, mode_t mode, std::string& path) {
  constexpr unsigned kMostTries = 1000;
  static std::atomic<unsigned> number = 0;
  for (unsigned tries = 0; tries < kMostTries; ++tries) {
    path = fmt::format("{}/.stag-{}-{}", folder, ::getpid(), ++number);
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

}  // namespace

void DeclareInput(const std::string& path) { Inputs().push_back(path); }

std::string InputThatIs(const struct stat& file) {
  if (!HasContents(file)) return {};
  for (const std::string& input : Inputs()) {
    struct stat status {};
    const bool there = (input == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(input.c_str(), &status)) == 0;
    if (there && IsSame(status, file)) return input == "-" ? "standard input" : input;
  }
  return {};
}

std::string WhyNotWritten(const std::string& path) {
  Target target;
  return Follow(path, target) && (target.exists || target.descriptor >= 0) ? WhyNotWritten(path, target.status)
                                                                           : std::string{};
}

// The names, in a list that a signal handler can walk: who changes it has the lock, and no signal that is handled.
class TemporaryName::Registry {
 public:
  static void Add(TemporaryName& name) {
    const Locked locked;
    if (std::exchange(handler_, name.process_) != name.process_) Handle();
    name.behind_ = first_;
    if (first_) first_->before_ = &name;
    first_ = &name;
  }
  static void Remove(TemporaryName& name) {
    const Locked locked;
    (name.before_ ? name.before_->behind_ : first_) = name.behind_;
    if (name.behind_) name.behind_->before_ = name.before_;
  }

 private:
  class Locked {
   public:
    Locked() {
      sigset_t set;
      sigemptyset(&set);
      for (const int ending : kEndings) sigaddset(&set, ending);
      ::pthread_sigmask(SIG_BLOCK, &set, &old_);
      while (lock_.test_and_set(std::memory_order_acquire)) continue;
    }
    ~Locked() {
      lock_.clear(std::memory_order_release);
      ::pthread_sigmask(SIG_SETMASK, &old_, nullptr);
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    sigset_t old_;
  };

  // What is ignored (nohup), or handled by somebody else, stays so.
  static void Handle() {
    for (const int ending : kEndings) {
      struct sigaction action {};
      if (::sigaction(ending, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
      action.sa_handler = &RemoveAll;
      action.sa_flags = static_cast<int>(SA_RESETHAND);
      for (const int other : kEndings) sigaddset(&action.sa_mask, other);
      (void)::sigaction(ending, &action, nullptr);
    }
  }
  // Then the signal does what it would have done.
  static void RemoveAll(int ending) {
    const int before = errno;
    while (lock_.test_and_set(std::memory_order_acquire)) continue;
    for (const TemporaryName* name = first_; name; name = name->behind_)
      if (name->process_ == ::getpid()) name->Remove();
    lock_.clear(std::memory_order_release);
    (void)::raise(ending);
    errno = before;
  }

  static inline std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  static inline TemporaryName* first_ = nullptr;
  static inline pid_t handler_ = 0;  // the process that has the handlers
};

TemporaryName::TemporaryName(int folder, std::string name, bool directory)
    : folder_(folder), name_(std::move(name)), directory_(directory), process_(::getpid()) {
  Registry::Add(*this);
}

TemporaryName::~TemporaryName() {
  if (kept_) return;
  Registry::Remove(*this);
  Remove();
}

void TemporaryName::Remove() const { (void)::unlinkat(folder_, name_.c_str(), directory_ ? AT_REMOVEDIR : 0); }

void TemporaryName::Keep() {
  if (!std::exchange(kept_, true)) Registry::Remove(*this);
}

Result<OutputFile> OutputFile::Create(const std::string& path, Named named) {
  const auto fail = [&](int why) { return Fail(fmt::format("cannot write {}: {}", NameOf(path), std::strerror(why))); };
  Target target;
  if (!Follow(path, target)) return fail(errno);
  if (target.exists || target.descriptor >= 0) {
    if (std::string why = WhyNotWritten(path, target.status); !why.empty()) return Fail(std::move(why));
  }
  if (target.descriptor >= 0) {
    const int descriptor = ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return fail(errno);
    return OutputFile(NameOf(path), descriptor);
  }
  if (target.exists && S_ISDIR(target.status.st_mode)) return fail(EISDIR);
  if (target.exists && !S_ISREG(target.status.st_mode)) {
    const int descriptor = ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return fail(errno);
    return OutputFile(path, descriptor);
  }
  if (target.exists && ::access(target.path.c_str(), W_OK) != 0) return fail(errno);
  std::string beside;
  const int descriptor =
      MakeBeside(FolderOf(target.path), target.exists ? target.status.st_mode & 0777u : 0666, beside);
  if (descriptor < 0) return fail(errno);
  OutputFile file(path, descriptor);
  file.target_ = target.path;
  file.temporary_ = std::make_unique<TemporaryName>(AT_FDCWD, beside);
  if (target.exists) {  // only its owner may give a file away
    (void)!::fchown(descriptor, target.status.st_uid, target.status.st_gid);
    (void)::fchmod(descriptor, target.status.st_mode & 0777u);
  }
  if (named == Named::kAtOnce) {
    if (::rename(beside.c_str(), target.path.c_str()) != 0) return fail(errno);
    file.temporary_->Keep();
    file.temporary_.reset();
  }
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)) {}

OutputFile::~OutputFile() { Abandon(); }

void OutputFile::Abandon() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  temporary_.reset();
}

Error OutputFile::Trouble() const { return Error{fmt::format("cannot write {}: {}", name_, std::strerror(errno))}; }

Result<void> OutputFile::Write(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(Trouble());
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<void> OutputFile::Finish() {
  if (::close(std::exchange(descriptor_, -1)) != 0) return tl::unexpected(Trouble());
  const std::unique_ptr<TemporaryName> temporary = std::move(temporary_);
  if (!temporary) return {};
  struct stat status {};  // an input may have got this name since
  if (::stat(target_.c_str(), &status) == 0) {
    if (std::string why = WhyNotWritten(name_, status); !why.empty()) return Fail(std::move(why));
  }
  if (::rename(temporary->name().c_str(), target_.c_str()) != 0) return tl::unexpected(Trouble());
  temporary->Keep();
  return {};
}

Result<void> WriteWhole(const std::string& path, std::string_view text) {
  auto file = OutputFile::Create(path);
  if (!file) return tl::unexpected(file.error());
  auto written = file->Write(std::as_bytes(std::span(text)));
  return written ? file->Finish() : written;
}

Result<int> NamelessFile(std::string folder) {
  if (folder.empty()) {
    const char* const directory = std::getenv("TMPDIR");
    folder = directory && *directory ? directory : "/tmp";
  }
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) {  // not every file system can
    std::string name;
    descriptor = MakeBeside(folder, 0600, name);
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor < 0)
    return Fail(fmt::format("cannot create a temporary file in {}: {}; TMPDIR names another folder", folder,
                            std::strerror(errno)));
  return descriptor;
}

}  // namespace stag::capture
