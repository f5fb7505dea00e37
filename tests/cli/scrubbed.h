// SPDX-License-Identifier: GPL-2.0-or-later
//
// Frames through a Scrubber, and what comes out of it.
#pragma once

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "analysis/scrub/scrubbed_file.h"
#include "analysis/scrub/scrubbed_window.h"
#include "analysis/scrub/scrubber.h"
#include "tests/support/ib_wire.h"

namespace stag::test {

inline constexpr scrub::Pseudonyms::Key kScrubKey = {std::byte{1}, std::byte{2}, std::byte{3}};

// The pcap file that `frames` become, each cut to `snap` bytes before; empty: it was refused.
inline std::string Scrubbed(const std::vector<WireFrame>& frames, LinkType link = LinkType::kEthernet,
                            size_t snap = SIZE_MAX, const scrub::KeptValues& kept = {}) {
  const std::string path = "/tmp/stag-scrub-test-" + std::to_string(::getpid()) + ".pcap";
  auto file = scrub::ScrubbedFile::Create(path);
  if (!file) return {};
  scrub::Pseudonyms pseudonyms(kScrubKey);
  scrub::Replaced replaced;
  {
    scrub::Scrubber scrubber(**file, pseudonyms, replaced, {kept, 32u << 20, {}});
    uint64_t number = 0;
    for (const WireFrame& frame : frames) {
      const Bytes bytes = Bytes(frame.bytes).first(std::min(snap, frame.bytes.size()));
      if (!scrubber.OnFrame({{++number, frame.time_ns}, link, bytes, static_cast<uint32_t>(frame.bytes.size())}))
        return {};
    }
    scrubber.Finish();
  }
  if (!(*file)->Finish()) return {};
  std::ifstream in(path, std::ios::binary);
  std::string out((std::istreambuf_iterator<char>(in)), {});
  ::unlink(path.c_str());
  return out;
}

// The same frames by way of a live capture, which holds them as long as `window` says.
inline std::vector<Buffer> ScrubbedLive(const std::vector<WireFrame>& frames, const scrub::WindowSize& size,
                                        LinkType link = LinkType::kEthernet, uint64_t memory = 32u << 20) {
  static scrub::Pseudonyms pseudonyms(kScrubKey);  // ciphers take long to make
  scrub::Replaced replaced;
  scrub::ScrubbedWindow window({}, size);
  scrub::Scrubber scrubber(window, pseudonyms, replaced, {{}, memory, {}});
  std::vector<Buffer> out;
  const auto take = [&] {
    while (const auto frame = window.Front()) {
      out.emplace_back(frame->bytes.begin(), frame->bytes.end());
      window.Pop();
    }
  };
  uint64_t number = 0;
  for (const WireFrame& frame : frames) {
    if (!scrubber.OnFrame({{++number, frame.time_ns}, link, frame.bytes, static_cast<uint32_t>(frame.bytes.size())}))
      return {};
    take();
  }
  scrubber.Finish();
  window.Release();
  take();
  return out;
}

// Stretches of 16 bytes that must not come out, those of few different bytes left out.
class Secrets {
 public:
  explicit Secrets(Bytes secret) {
    for (size_t at = 0; at + kWindow <= secret.size(); ++at) {
      std::string window(reinterpret_cast<const char*>(secret.data() + at), kWindow);
      if (std::set<char>(window.begin(), window.end()).size() > 4) windows_.insert(std::move(window));
    }
  }
  // How many of the stretches of `out` they are.
  size_t In(const std::string& out) const {
    size_t found = 0;
    for (size_t at = 0; at + kWindow <= out.size(); ++at) found += windows_.contains(out.substr(at, kWindow));
    return found;
  }

 private:
  static constexpr size_t kWindow = 16;
  std::unordered_set<std::string> windows_;
};
inline size_t SecretsIn(const std::string& out, Bytes secret) { return Secrets(secret).In(out); }

}  // namespace stag::test
