// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/null_verbs/fabric.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace stag::null_verbs {
namespace {

constexpr size_t kSize = sizeof(Shared) + (size_t{1} << 30);  // of which only what is used takes memory

Shared* Map() {
  // Peers reach the memory that this process registers by process_vm_readv(2).
  (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const char* const path = std::getenv("STAG_NULL_VERBS");
  void* at = nullptr;
  if (path) {
    const int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(kSize)) != 0) Stop("the file STAG_NULL_VERBS cannot be made");
    at = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    (void)::close(fd);
  } else {
    at = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (at == MAP_FAILED) Stop("the null fabric cannot be mapped");
  return static_cast<Shared*>(at);
}

// An abstract name, which goes with the process.
socklen_t Name(const Mailbox& mailbox, sockaddr_un& name) {
  name = {};
  name.sun_family = AF_UNIX;
  const int n =
      std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "stag-null-verbs.%u.%u", mailbox.pid, mailbox.number);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
}

size_t ClassOf(uint64_t size) {
  return static_cast<size_t>(std::bit_width(std::bit_ceil(size < 64 ? uint64_t{64} : size))) - 1;
}

}  // namespace

uint32_t Self() {
  static const auto pid = static_cast<uint32_t>(::getpid());
  return pid;
}

void Stop(const char* why) {
  std::fprintf(stderr, "null verbs: %s\n", why);
  std::abort();
}

const Wishes& Wished() {
  static const Wishes wishes = [] {
    const char* const copies = std::getenv("STAG_NULL_COPIES");
    return Wishes{copies && std::string_view(copies) == "free"};
  }();
  return wishes;
}

Shared& Fabric() {
  static Shared& shared = *Map();
  return shared;
}

void Lock::Wait() {
  for (uint32_t spins = 1;; ++spins) {
    uint32_t owner = 0;
    if (owner_.load(std::memory_order_relaxed) == 0 &&
        owner_.compare_exchange_strong(owner, Self(), std::memory_order_acquire))
      return;
    if (spins % 64 == 0) ::sched_yield();
    if (spins % 65536 != 0) continue;
    owner = owner_.load(std::memory_order_relaxed);
    if (owner != 0 && ::kill(static_cast<pid_t>(owner), 0) != 0 && errno == ESRCH)
      (void)owner_.compare_exchange_strong(owner, 0, std::memory_order_relaxed);
  }
}

int MakeMailbox(Mailbox& mailbox) {
  static std::atomic<uint32_t> last{0};
  mailbox = {Self(), ++last};
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un name;
  const socklen_t size = Name(mailbox, name);
  if (fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0) return fd;
  if (fd >= 0) (void)::close(fd);
  return -1;
}

void Post(const Mailbox& mailbox, const Note& note) {
  static const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un name;
  const socklen_t size = Name(mailbox, name);
  // Whoever does not read is not waited for long.
  for (int tries = 0; tries < 1000; ++tries) {
    if (::sendto(fd, &note, sizeof note, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&name), size) >= 0 ||
        errno != EAGAIN)
      return;
    ::sched_yield();
  }
}

bool Take(int mailbox, Note& note) { return ::recv(mailbox, &note, sizeof note, 0) == sizeof note; }

uint64_t Allocate(uint64_t size) {
  Shared& fabric = Fabric();
  const size_t n = ClassOf(size);
  const std::lock_guard lock(fabric.lock);
  if (const uint64_t place = fabric.free[n]) {
    fabric.free[n] = *At<uint64_t>(place);
    return place;
  }
  const uint64_t place = (sizeof(Shared) + 63) / 64 * 64 + fabric.used;
  fabric.used += uint64_t{1} << n;
  if (place + (uint64_t{1} << n) > kSize) Stop("the null fabric is full");
  return place;
}

void Free(uint64_t place, uint64_t size) {
  Shared& fabric = Fabric();
  const size_t n = ClassOf(size);
  const std::lock_guard lock(fabric.lock);
  *At<uint64_t>(place) = fabric.free[n];
  fabric.free[n] = place;
}

}  // namespace stag::null_verbs
