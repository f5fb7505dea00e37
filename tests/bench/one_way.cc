// SPDX-License-Identifier: GPL-2.0-or-later
//
// one_way CLIENT SERVER ADDRESS send|write|read SIZE DEPTH CONNECTIONS COUNT: that many Sends, RDMA Writes or RDMA
// Reads on each connection from the transport CLIENT to the transport SERVER (`stag devices`), which listens at
// ADDRESS; prints how many a second. As perftest does it: both sides poll and never sleep, one buffer is used over and
// over, large works are handed over one by one, DEPTH of them when none is under way. Small ones are handed over in
// lists, when half of DEPTH is under way.
#include "tests/bench/one_way.h"

#include <charconv>
#include <map>
#include <string>

#include "replay/endpoint/transports.h"

namespace {

using stag::bench::Require;

constexpr size_t kLarge = 65536;  // bytes

uint64_t Number(std::string_view text) {
  uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  Require(error == std::errc() && end == text.data() + text.size() && n > 0, "a number above 0 is missing");
  return n;
}

std::unique_ptr<stag::endpoint::Transport> Open(std::string_view name) {
  auto opened = stag::endpoint::OpenTransport(name);
  Require(opened.has_value(), opened ? "" : opened.error().message.c_str());
  return std::move(*opened);
}

}  // namespace

int main(int argc, char** argv) {
  using stag::endpoint::Work;
  Require(argc == 9, "one_way CLIENT SERVER ADDRESS send|write|read SIZE DEPTH CONNECTIONS COUNT");
  const std::map<std::string, Work> works = {{"send", Work::kSend}, {"write", Work::kWrite}, {"read", Work::kRead}};
  const auto work = works.find(argv[4]);
  Require(work != works.end(), "send, write or read");
  stag::bench::Load load{work->second, Number(argv[5]), Number(argv[6]), Number(argv[8]), true};
  load.alone = load.size >= kLarge;
  load.refill_at = load.alone ? 0 : load.depth / 2;
  stag::endpoint::EndpointOptions options;
  options.sends = static_cast<uint32_t>(2 * load.depth);
  options.receive_size = static_cast<uint32_t>(load.work == Work::kSend ? load.size : 1);
  options.receives = stag::bench::ReceivesFor(load);
  const auto client = Open(argv[1]), server = Open(argv[2]);
  std::vector<stag::bench::EndpointPair> pairs;
  for (uint64_t i = 0; i < Number(argv[7]); ++i) pairs.emplace_back(*client, *server, argv[3], options);
  fmt::print("{:.1f}\n", stag::bench::OneWay(pairs, load).per_second);
  return 0;
}
