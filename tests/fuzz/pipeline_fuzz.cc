// SPDX-License-Identifier: GPL-2.0-or-later
//
// From the bytes of a capture file to findings, over RoCEv2, native InfiniBand and iWARP. Input: a byte that picks the
// fabric and the comparison, a place, then actions of the two peers, which become packets with right checksums and
// sequence numbers (the scripts of pcaps/generator); so that what is mutated is what the peers say, not how it is
// framed. Then the same packets are analysed once more:
//
// - With limits that a few packets exhaust (tiny_limits.h). What there is no room for counts as lost, so nothing is
// found
//   that the whole does not have, but where the story itself has losses or uses an xid twice.
// - With some of them doubled: that changes nothing at all.
// - With two neighbours swapped: no message has other bytes, and nothing is found that was not found before (but when
//   packets of both peers change places, or an acknowledgement and a request: then it was another story).
//
// At the end the peers exchange some calls, so that nothing depends on who was heard last.
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/story.h"
#include "tests/fuzz/tiny_limits.h"
#include "tests/support/analysis.h"

namespace {

using namespace stag;
using namespace stag::test;

constexpr size_t kEthernetIpUdp = 14 + 20 + 8;
constexpr std::byte kAcknowledge{17};  // opcode of the BTH

[[noreturn]] void Give(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

std::byte SourceOf(const OwnedFrame& frame) { return frame.bytes[14 + 12 + 3]; }  // last byte of the IPv4 address

// RoCEv2 as native InfiniBand: what is behind UDP, under an LRH.
void ToInfiniBand(OwnedFrame& frame) {
  const size_t size = frame.bytes.size() - kEthernetIpUdp;
  const auto lid = [&](size_t address) { return frame.bytes[14 + address + 3]; };  // the last byte of an IPv4 address
  const auto words = static_cast<uint16_t>((8 + size) / 4);
  Buffer out(8);
  out[1] = std::byte{2};  // LNH: BTH
  out[3] = lid(16);
  StoreBe16(out.data() + 4, words);
  out[7] = lid(12);
  out.insert(out.end(), frame.bytes.begin() + kEthernetIpUdp, frame.bytes.end());
  out.resize(out.size() + 2);  // VCRC
  frame.link = LinkType::kInfiniBand;
  frame.wire_length = static_cast<uint32_t>(out.size());
  frame.bytes = std::move(out);
}

void Compare(const Analysis& changed, const Analysis& whole, bool same) {
  const auto found = NewIn(changed, whole);
  for (const std::string& each : found) std::fprintf(stderr, "%s\n", each.c_str());
  if (!found.empty()) Give("the same packets, analysed otherwise");
  if (same && (!NewIn(whole, changed).empty() || whole.complete != changed.complete))
    Give("doubled packets hid something");
}

// Nobody is accused who is innocent in the whole, where all of it is clear: without losses, an xid that is used twice,
// and messages of which the limits leave a part.
void CompareLimited(Analysis limited, const Analysis& whole) {
  limited.findings.clear();
  const bool clear = !whole.repeated && !limited.cut;
  if (!clear) limited.contents.clear();
  if (whole.lossy) std::erase_if(limited.contents, [&](const auto& of) { return !whole.contents.contains(of.first); });
  Compare(limited, whole, false);
  if (!clear || whole.lossy) return;
  for (const auto& [frame, of_client] : limited.accused) {
    if (whole.suspected.contains({frame, of_client})) continue;
    std::fprintf(stderr, "frame %llu of the %s\n", static_cast<unsigned long long>(frame),
                 of_client ? "client" : "server");
    Give("an innocent is accused");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Cursor in(std::as_bytes(std::span(data, size)));
  const uint8_t first = in.U8(), places = in.U8();
  const bool iwarp = first % 3 == 2;
  Story story(iwarp ? evidence::Fabric::kIwarp : evidence::Fabric::kRoce, in);
  std::vector<OwnedFrame> frames = Load(story.Tell());
  if (story.size() == 0) return 0;
  const size_t place = places % story.size(), next = place + 1;
  const auto acknowledges = [&](const OwnedFrame& frame) {
    return !iwarp && frame.bytes[kEthernetIpUdp] == kAcknowledge;
  };
  const bool same_story = next < story.size() && SourceOf(frames[place]) == SourceOf(frames[next]) &&
                          acknowledges(frames[place]) == acknowledges(frames[next]);
  if (first % 3 == 1)
    for (OwnedFrame& frame : frames) ToInfiniBand(frame);
  AnalysisOptions options;
  options.decoder.limits.originals = 256;            // more than there are packets
  options.engine.verify = conformance::Verify::kNo;  // conformance_fuzz does
  const Analysis whole = Analyse(frames, options);
  const int choice = first / 3;  // 0: doubled and swapped
  if (choice & 1) {
    TinyLimits limits(static_cast<uint32_t>(first << 8 | places));
    options.decoder = limits.Decoder();
    options.session = limits.Session();
    options.engine = limits.Engine();
    options.engine.verify = conformance::Verify::kNo;
    return CompareLimited(Analyse(frames, options), whole), 0;
  }
  if (choice == 0 || (choice & 2)) Compare(Analyse(Duplicated(frames, place), options), whole, true);
  if ((choice & 2) || next >= story.size()) return 0;
  Analysis swapped = Analyse(SwappedWithNext(frames, place), options);
  // Which of two peers was first is what some findings are about, and what a peer had received when it sent something.
  if (!same_story || whole.lossy) swapped.findings = whole.findings;
  if (swapped.early != whole.early) return 0;  // which Call an early Reply is for
  Compare(swapped, whole, false);
  return 0;
}
