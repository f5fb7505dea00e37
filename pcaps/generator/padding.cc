// SPDX-License-Identifier: GPL-2.0-or-later
//
// PAD: XDR padding of what is reduced, and of what is not. Most captures are a WRITE of 1001 bytes.
#include "pcaps/generator/cases.h"
#include "pcaps/generator/traffic.h"

namespace stag::evidence {

using namespace test;

namespace {

const Buffer& ThreeZeros() {
  static const Buffer zeros(3);
  return zeros;
}

// WRITE of `count` bytes whose data goes by these segments at its Position; what follows the count inline.
void SendWrite(WireScript& s, uint32_t count, std::initializer_list<uint32_t> lengths, const Buffer& rest = {}) {
  std::vector<rpcrdma::ReadSegment> reads;
  for (const uint32_t length : lengths) {
    const auto i = static_cast<uint32_t>(reads.size());
    reads.push_back({DataAt(), {0x71 + i, length, 0x10000 * (i + 1)}});
  }
  s.Send(kClient, WithReads(Msg(kXid), reads), Join({WriteCall(kXid, count), rest}));
}
void Pull(WireScript& s, std::initializer_list<uint32_t> lengths) {
  uint32_t i = 0;
  for (const uint32_t length : lengths) {
    s.Read(kServer, 0x71 + i, 0x10000 * (i + 1), Pattern(length));
    ++i;
  }
}
void Answer(WireScript& s, uint32_t count) { s.Send(kServer, Msg(kXid), WriteReply(kXid, count)); }

constexpr Case kPaddingCases[] = {
    {"PAD-001", kBreaks, "", "The padding of a reduced item stays behind, inline: three zero bytes after the count.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1001}, ThreeZeros());
       s.Expect("PAD-001", Severity::kError, {"PAD-008"});
     }},
    {"PAD-001", kNearMiss, "", "It is gone with the item.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1001});
       Pull(s, {1001});
       Answer(s, 1001);
     }},
    {"PAD-001", kBreaks, "reply", "The same in the Reply to a READ.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, WithChunks(Msg(kXid), {{{0x88, 1001, 0x20000}}}), ReadCall(kXid, 1001));
       s.Write(kServer, 0x88, 0x20000, Pattern(1001));
       s.Send(kServer, WithChunks(Msg(kXid), {{{0x88, 1001, 0x20000}}}),
              Join({ReadReply(kXid, 1001, true), ThreeZeros()}));
       s.Expect("PAD-001");
     }},

    {"PAD-002", kBreaks, "", "The padding of the item is in the Read chunk: allowed, but not as it should be.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1004});
       s.Expect("PAD-002", Severity::kNote);
       Pull(s, {1004});
       Answer(s, 1001);
     }},
    {"PAD-002", kNearMiss, "", "An item of 1004 bytes, which needs none.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1004, {1004});
       Pull(s, {1004});
       Answer(s, 1004);
     }},

    {"PAD-003", kBreaks, "", "A chunk of 1008 bytes for an item of 1001: more than its padding.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1008});
       s.Expect("PAD-003");
     }},
    {"PAD-003", kNearMiss, "", "1004 bytes: exactly the padding, in a segment of its own. Only a note (PAD-002).",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1001, 3});
       s.Expect("PAD-002", Severity::kNote);
       Pull(s, {1001, 3});
       Answer(s, 1001);
     }},

    {"PAD-004", kBreaks, "", "A chunk of 999 bytes for an item of 1001.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {999});
       s.Expect("PAD-004");
     }},
    {"PAD-004", kNearMiss, "", "1001 bytes, in two segments of odd lengths.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {998, 3});
       Pull(s, {998, 3});
       Answer(s, 1001);
     }},

    {"PAD-005", kBreaks, "", "A chunk without padding is refused with GARBAGE_ARGS, though it is as it should be.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1001});
       Pull(s, {1001});
       s.Send(kServer, Msg(kXid), MakeReply(kXid, {}, rpc::kGarbageArgs));
       s.Expect("PAD-005", Severity::kWarning);
     },
     Fabric::kRoce, Profile::kRfc5666bis},
    {"PAD-005", kNearMiss, "", "It is refused for another reason: SYSTEM_ERR.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1001});
       Pull(s, {1001});
       s.Send(kServer, Msg(kXid), MakeReply(kXid, {}, rpc::kSystemErr));
     },
     Fabric::kRoce, Profile::kRfc5666bis},

    {"PAD-007", kBreaks, "", "Under RFC 5666 the padding has a segment of its own.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1001, 3});
       s.Expect("PAD-007", Severity::kNote);
       Pull(s, {1001, 3});
       Answer(s, 1001);
     },
     Fabric::kRoce, Profile::kRfc5666},
    {"PAD-007", kNearMiss, "", "The padding goes in the segment of the data, as RFC 5666 has it.",
     [](WireScript& s) {
       s.Open();
       SendWrite(s, 1001, {1004});
       Pull(s, {1004});
       Answer(s, 1001);
     },
     Fabric::kRoce, Profile::kRfc5666},

    {"PAD-008", kBreaks, "", "An inline payload of 78 bytes: two too many behind the arguments of a GETATTR.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), Join({GetattrCall(kXid), Buffer(2)}));
       s.Expect("PAD-008", Severity::kWarning);
     }},
    {"PAD-008", kNearMiss, "", "A Send of a whole number of words, of which the capture kept an odd number of bytes.",
     [](WireScript& s) {
       s.Open();
       s.Snap(14 + 20 + 8 + 12 + 28 + 62);
       s.Send(kClient, Msg(kXid), GetattrCall(kXid));
     }},

    {"PAD-009", kBreaks, "", "The padding of a name is not zero.",
     [](WireScript& s) {
       s.Open();
       Buffer lookup = MakeCall(kXid, kNfs, 3, 3, Join({FileHandle(), Opaque(Pattern(3))}));
       lookup.back() = std::byte{0xff};
       s.Send(kClient, Msg(kXid), lookup);
       s.Expect("PAD-009", Severity::kNote);
     }},
    {"PAD-009", kNearMiss, "", "It is zero.",
     [](WireScript& s) {
       s.Open();
       s.Send(kClient, Msg(kXid), MakeCall(kXid, kNfs, 3, 3, Join({FileHandle(), Opaque(Pattern(3))})));
     }},
};

}  // namespace

std::span<const Case> PaddingCases() { return kPaddingCases; }

}  // namespace stag::evidence
