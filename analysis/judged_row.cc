// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/judged_row.h"

#include "text/put.h"

namespace stag::analysis {

std::string CaptureAdvice(const session::Judged& judged) {
  std::string text;
  const auto add = [&](uint64_t n, std::string_view sentence) {
    if (n > 0) Put(text, "{}{}", text.empty() ? "" : " ", sentence);
  };
  add(judged.cut, "Capture whole frames (tcpdump -s 0).");
  add(judged.one_direction,
      "Capture both directions: at one of the two hosts, or both sides of the port that a switch mirrors.");
  add(judged.sampled, "Capture without sampling.");
  add(judged.missing,
      "Capture from before the mount on, at the RDMA device rather than the network interface, into memory or onto a "
      "fast disk.");
  return text;
}

std::string NotJudgedText(const session::Judged& judged) {
  if (judged.judged() == judged.rpcs) return {};
  std::string reasons;
  const auto add = [&](uint64_t n, std::string_view words) {
    if (n > 0) Put(reasons, "{}{} {}", reasons.empty() ? "" : ", ", n, words);
  };
  add(judged.cut, "cut short");
  add(judged.missing, "with packets that were not captured");
  add(judged.one_direction, "of which one direction was captured");
  add(judged.sampled, "of a sample");
  add(judged.foreign, "of GlusterFS");
  add(judged.dropped, "for lack of memory (--memory)");
  std::string text = fmt::format("{} of {} could not be judged: {}.", judged.rpcs - judged.judged(),
                                 Count(judged.rpcs, "RPC"), reasons);
  const std::string advice = CaptureAdvice(judged);
  return advice.empty() ? text : text + ' ' + advice;
}

}  // namespace stag::analysis
