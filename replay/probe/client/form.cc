// SPDX-License-Identifier: GPL-2.0-or-later
//
// Forms of a Reply (RFC 8166 sections 3.5 and 4.3): allowed ones that are rare, and chunk lists that contradict what
// the Call offered.
#include <algorithm>

#include "replay/probe/client/picks.h"

namespace stag::probe::client {
namespace {

using rpcrdma::Chunk;
using rpcrdma::Segment;

constexpr size_t kReadTail = 12;  // count, eof and the length of the data: the last words of a reduced READ3resok

Segment& SegmentOf(Turn& turn, const Chunk& chunk, uint32_t i = 0) {
  return turn.reply.header.segments[chunk.first + i];
}

// Sends the Reply by the Reply chunk, in RDMA Writes of at most `step` bytes.
bool SendLong(Turn& turn, size_t step) {
  rpcrdma::Header& header = turn.reply.header;
  if (header.proc == rpcrdma::kNomsg) return true;
  Bytes rest(turn.reply.rest);
  const Chunk& offered = *turn.call.header.reply_chunk;
  if (turn.call.header.SizeOf(offered) < rest.size()) return true;
  for (uint32_t i = 0; i < offered.count; ++i) {
    const Segment& segment = turn.call.header.segments[offered.first + i];
    const Bytes part = rest.first(std::min<size_t>(rest.size(), segment.length));
    for (size_t at = 0; at < part.size(); at += step) {
      const Bytes piece = part.subspan(at, std::min(step, part.size() - at));
      turn.scene.Write(Buffer(piece.begin(), piece.end()), segment, at);
    }
    SegmentOf(turn, *header.reply_chunk, i).length = static_cast<uint32_t>(part.size());
    rest = rest.subspan(part.size());
  }
  header.proc = rpcrdma::kNomsg;
  turn.reply.rest.clear();
  return true;
}

void Long(Trick& trick) {
  PickReplyChunk(trick);
  trick.reply = [](Turn& turn) { return SendLong(turn, SIZE_MAX); };
}
void LongInPieces(Trick& trick) {
  PickReplyChunk(trick);
  trick.reply = [](Turn& turn) { return SendLong(turn, 64); };
}
void LongCut(Trick& trick) {
  PickReplyChunk(trick);
  trick.reply = [](Turn& turn) {
    SendLong(turn, SIZE_MAX);
    uint32_t left = 40;
    const Chunk& chunk = *turn.reply.header.reply_chunk;
    for (uint32_t i = 0; i < chunk.count; ++i) {
      uint32_t& length = SegmentOf(turn, chunk, i).length;
      length = std::min(length, left);
      left -= length;
    }
    return true;
  };
}
void LongAbove(Trick& trick) {
  PickReplyChunk(trick);
  trick.reply = [](Turn& turn) {
    SendLong(turn, SIZE_MAX);
    const Chunk& offered = *turn.call.header.reply_chunk;
    const uint32_t last = offered.count - 1;
    SegmentOf(turn, *turn.reply.header.reply_chunk, last).length =
        turn.call.header.segments[offered.first + last].length + 4096;
    return true;
  };
}
void BothForms(Trick& trick) {
  PickReplyChunk(trick);
  trick.reply = [](Turn& turn) {
    if (turn.reply.header.proc == rpcrdma::kMsg) SegmentOf(turn, *turn.reply.header.reply_chunk).length = 64;
    return true;
  };
}

void NoReplyChunk(Trick& trick) {
  PickReplyChunk(trick);
  trick.reply = [](Turn& turn) {
    turn.reply.header.reply_chunk.reset();
    return true;
  };
}

// RDMA_NOMSG, and no Reply chunk was offered. The right Reply follows.
void LongUnoffered(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    Seen wrong = turn.reply;
    wrong.header.proc = rpcrdma::kNomsg;
    wrong.header.segments.push_back({0x1234, 100, 0});
    wrong.header.reply_chunk = Chunk{static_cast<uint32_t>(wrong.header.segments.size() - 1), 1};
    wrong.rest.clear();
    return turn.WrongFirst(wrong.Encoded());
  };
}
void NomsgWithoutChunks(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    Seen wrong = turn.reply;
    wrong.header.proc = rpcrdma::kNomsg;
    wrong.rest.clear();
    return turn.WrongFirst(wrong.Encoded());
  };
}

// Changes the Reply to a Call with a Write chunk, sends that, and later the right one.
void WrongWriteList(Trick& trick, void (*change)(rpcrdma::Header&, const rpcrdma::Header& call)) {
  PickWriteChunk(trick);
  trick.reply = [=](Turn& turn) {
    Seen wrong = turn.reply;
    change(wrong.header, turn.call.header);
    return turn.WrongFirst(wrong.Encoded());
  };
}

void LengthAbove(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header& call) {
    const Chunk& chunk = reply.write_chunks[0];
    const uint32_t last = chunk.count - 1;
    reply.segments[chunk.first + last].length = call.segments[call.write_chunks[0].first + last].length + 4096;
  });
}
void LengthHuge(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) {
    for (Segment& segment : reply.segments) segment.length = UINT32_MAX;
  });
}
void MoreChunks(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) {
    reply.segments.push_back({0x4321, 64, 0});
    reply.write_chunks.push_back({static_cast<uint32_t>(reply.segments.size() - 1), 1});
  });
}
void FewerChunks(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) { reply.write_chunks.clear(); });
}
void MoreSegments(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) {
    const Chunk old = reply.write_chunks[0];
    const auto first = static_cast<uint32_t>(reply.segments.size());
    for (uint32_t i = 0; i < old.count; ++i) reply.segments.push_back(Segment(reply.segments[old.first + i]));
    reply.segments.push_back({0x4321, 64, 0});
    reply.write_chunks[0] = {first, old.count + 1};
  });
}
void FewerSegments(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) { --reply.write_chunks[0].count; });
  trick.picks = [](const Seen& call) { return HasWriteChunk(call) && call.header.write_chunks[0].count > 1; };
  trick.needs = "Call with a Write chunk of two segments";
}
void EmptyChunk(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) { reply.write_chunks[0].count = 0; });
}
void OtherHandle(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) {
    for (Segment& segment : reply.segments) {
      segment.handle ^= 0x00ff00ff;
      segment.offset += 4096;
    }
  });
}
void ReadList(Trick& trick) {
  WrongWriteList(trick, [](rpcrdma::Header& reply, const rpcrdma::Header&) {
    reply.reads.push_back({28, {0x4321, 64, 0}});
  });
}

// A READ of `count` bytes of the data that were written to the Write chunk.
void ShortRead(Turn& turn, uint32_t count) {
  Buffer& rest = turn.reply.rest;
  StoreBe32(rest.data() + rest.size() - kReadTail, count);
  StoreBe32(rest.data() + rest.size() - 8, 0);  // not the end of the file
  StoreBe32(rest.data() + rest.size() - 4, count);
  uint32_t left = count;
  const Chunk& chunk = turn.reply.header.write_chunks[0];
  for (uint32_t i = 0; i < chunk.count; ++i) {
    uint32_t& length = SegmentOf(turn, chunk, i).length;
    length = std::min(length, left);
    left -= length;
  }
}
// How much was read; 0: it failed, or the data are inline.
uint32_t CountOf(const Turn& turn) {
  const Buffer& rest = turn.reply.rest;
  const bool reduced = turn.reply.header.proc == rpcrdma::kMsg && turn.reply.Word(24) == 0 && rest.size() >= 40 &&
                       turn.reply.header.SizeOf(turn.reply.header.write_chunks[0]) > 0;
  return reduced ? turn.reply.Word(rest.size() - kReadTail) : 0;
}

void Partly(Trick& trick) {
  PickRead(trick);
  trick.reply = [](Turn& turn) {
    if (const uint32_t count = CountOf(turn); count > 8) ShortRead(turn, count / 2 + 1);
    return true;
  };
}
void FirstSegment(Trick& trick) {
  PickRead(trick);
  trick.reply = [](Turn& turn) {
    if (const uint32_t count = CountOf(turn))
      ShortRead(turn, std::min(count, SegmentOf(turn, turn.reply.header.write_chunks[0]).length));
    return true;
  };
}
void Unwritten(Trick& trick) {
  PickRead(trick);
  trick.reply = [](Turn& turn) {
    if (CountOf(turn) > 0) ShortRead(turn, 0);
    return true;
  };
}
// Other bytes than the file has are written to the Write chunk, which comes back unused.
void WrittenUnused(Trick& trick) {
  PickRead(trick);
  auto chunk = std::make_shared<std::vector<Segment>>();  // of the READ that was picked, while it is outstanding
  trick.call = [chunk](Seen& call, Scene&, Play&) {
    const Chunk& offered = call.header.write_chunks[0];
    const auto first = call.header.segments.begin() + offered.first;
    chunk->assign(first, first + offered.count);
    return true;
  };
  trick.write = [chunk](Bytes from, uint32_t handle, uint64_t offset, Scene& scene, Play&) {
    const auto holds = [&](const Segment& segment) {
      return segment.handle == handle && offset >= segment.offset && offset - segment.offset < segment.length;
    };
    if (std::ranges::none_of(*chunk, holds)) return true;
    Buffer other(from.begin(), from.end());
    for (std::byte& byte : other) byte = ~byte;
    const auto size = static_cast<uint32_t>(other.size());
    scene.Write(std::move(other), {handle, size, offset});
    return false;
  };
  trick.reply = [chunk](Turn& turn) {
    chunk->clear();
    if (CountOf(turn) > 0) ShortRead(turn, 0);
    return true;
  };
}
// The data inline, as far as they fit, though there is a Write chunk; the chunk comes back unused.
void Unused(Trick& trick) {
  PickRead(trick);
  auto written = std::make_shared<std::map<uint32_t, Buffer>>();  // by handle; the first bytes of the chunk
  trick.write = [written](Bytes from, uint32_t handle, uint64_t, Scene&, Play&) {
    written->try_emplace(handle, Buffer(from.begin(), from.end()));
    return true;
  };
  trick.reply = [written](Turn& turn) {
    const uint32_t handle = SegmentOf(turn, turn.reply.header.write_chunks[0]).handle;
    const auto data = written->find(handle);
    if (data == written->end() || CountOf(turn) == 0) return true;
    const auto count = static_cast<uint32_t>(std::min<size_t>(data->second.size(), 512) & ~size_t{3});
    ShortRead(turn, count);
    for (Segment& segment : turn.reply.header.segments) segment.length = 0;
    turn.reply.rest.insert(turn.reply.rest.end(), data->second.begin(), data->second.begin() + count);
    return true;
  };
}
// Takes optional parts out of results of NFSv3 (RFC 1813 section 2.6): at `at` in the Reply, whether one of `size`
// bytes follows; then it. Returns where the next stands.
constexpr size_t kStatus = 24, kAttributes = 84, kWccAttributes = 24;
size_t LeaveOut(Buffer& rest, size_t at, size_t size) {
  if (at + 4 > rest.size()) return at;
  const bool follows = LoadBe32(rest.data() + at) == 1 && at + 4 + size <= rest.size();
  const auto begin = rest.begin() + static_cast<ptrdiff_t>(at) + 4;
  if (follows) rest.erase(begin, begin + static_cast<ptrdiff_t>(size));
  StoreBe32(rest.data() + at, 0);
  return at + 4;
}
void PickNfs3(Trick& trick, uint32_t procedure, std::string_view needs) {
  trick.picks = [procedure](const Seen& call) { return call.header.proc == rpcrdma::kMsg && IsNfs3(call, procedure); };
  trick.needs = needs;
}
// A Reply inline that says that all went well.
bool Succeeded(const Turn& turn) {
  return turn.reply.header.proc == rpcrdma::kMsg && turn.reply.rest.size() > kStatus + 4 &&
         turn.reply.Word(kStatus) == 0;
}

void ReadWithoutAttributes(Trick& trick) {
  PickRead(trick);
  trick.times = 4;
  trick.reply = [](Turn& turn) {
    if (CountOf(turn) > 0) LeaveOut(turn.reply.rest, kStatus + 4, kAttributes);
    return true;
  };
}
void PartlyWithoutAttributes(Trick& trick) {
  PickRead(trick);
  trick.reply = [](Turn& turn) {
    const uint32_t count = CountOf(turn);
    if (count <= 8) return true;
    ShortRead(turn, count / 2 + 1);
    LeaveOut(turn.reply.rest, kStatus + 4, kAttributes);
    return true;
  };
}
void WriteWithoutWcc(Trick& trick) {
  constexpr uint32_t kWrite = 7;
  trick.picks = [](const Seen& call) { return IsNfs3(call, kWrite); };
  trick.needs = "NFSv3 WRITE";
  trick.reply = [](Turn& turn) {
    if (Succeeded(turn)) LeaveOut(turn.reply.rest, LeaveOut(turn.reply.rest, kStatus + 4, kWccAttributes), kAttributes);
    return true;
  };
}
void LookupWithoutAttributes(Trick& trick) {
  constexpr uint32_t kLookup = 3;
  PickNfs3(trick, kLookup, "NFSv3 LOOKUP");
  trick.reply = [](Turn& turn) {
    if (!Succeeded(turn)) return true;
    const size_t attributes = kStatus + 8 + RoundUp4(turn.reply.Word(kStatus + 4));
    LeaveOut(turn.reply.rest, LeaveOut(turn.reply.rest, attributes, kAttributes), kAttributes);
    return true;
  };
}
void ReadlinkWithoutAttributes(Trick& trick) {
  constexpr uint32_t kReadlink = 5;
  trick.picks = [](const Seen& call) { return IsNfs3(call, kReadlink); };
  trick.needs = "NFSv3 READLINK";
  trick.after = 0;
  trick.times = 4;
  trick.reply = [](Turn& turn) {
    if (Succeeded(turn)) LeaveOut(turn.reply.rest, kStatus + 4, kAttributes);
    return true;
  };
}

void CountAbove(Trick& trick) {
  PickRead(trick);
  trick.reply = [](Turn& turn) {
    const uint32_t count = CountOf(turn);
    Buffer& rest = turn.reply.rest;
    if (count == 0) return true;
    StoreBe32(rest.data() + rest.size() - kReadTail, count + 65536);
    StoreBe32(rest.data() + rest.size() - 4, count + 65536);
    return true;
  };
}

void AboveThreshold(Trick& trick) {
  PickPlain(trick);
  trick.reply = [](Turn& turn) {
    constexpr size_t kMore = 262144 + 8192;  // than any private data can say
    Seen wrong = turn.reply;
    wrong.rest.resize(kMore);
    return turn.WrongFirst(wrong.Encoded());
  };
}

constexpr std::string_view kList = "RFC 8166 4.3.2, RFC 8166 4.5";
constexpr std::string_view kReplyChunk = "RFC 8166 4.3.3, RFC 8166 3.5.3";
using enum Taken;

}  // namespace

std::span<const ClientProbe> FormProbes() {
  static const ClientProbe probes[] = {
      {"form.long-for-short", "A Long Reply is taken though a Short one would fit",
       "A Reply that fits inline comes by the Reply chunk. The work succeeds.", kReplyChunk, "REPLY-011", kFault,
       kFault, Long},
      {"form.long-in-pieces", "A Reply chunk is filled by many RDMA Writes",
       "A Reply comes by the Reply chunk, in RDMA Writes of 64 bytes. The work succeeds.", kReplyChunk, "REPLY-011",
       kFault, kFault, LongInPieces},
      {"form.long-cut", "A Reply chunk with the begin of a Reply is no Reply",
       "A Long Reply with the first 40 bytes of it. The Call fails, and the client lives.", kReplyChunk,
       "REPLY-005, LONG-005", kAllowed, kAllowed, LongCut},
      {"form.long-above", "A Reply chunk is not longer than it was offered",
       "A Long Reply whose last segment says 4096 bytes more than were offered. Nothing behind the chunk is taken for "
       "the Reply.",
       kReplyChunk, "REPLY-005", kAllowed, kAllowed, LongAbove},
      {"form.long-and-short", "A Reply inline beside a used Reply chunk",
       "A Reply inline, and its Reply chunk says 64 bytes. The Reply inline is taken, or the Call fails.", kReplyChunk,
       "REPLY-008", kAllowed, kAllowed, BothForms},
      {"form.no-reply-chunk", "A Reply without the Call's Reply chunk",
       "A Reply inline, without the Reply chunk that the Call offered. It is taken, or the Call fails.", kReplyChunk,
       "REPLY-004", kAllowed, kAllowed, NoReplyChunk},
      {"form.long-unoffered", "A Long Reply without an offered Reply chunk is no Reply",
       "RDMA_NOMSG with a Reply chunk that the Call did not offer, then the right Reply. The Call may fail; no byte "
       "is wrong.",
       kReplyChunk, "REPLY-006, ERR-009", kAllowed, kAllowed, LongUnoffered},
      {"form.nomsg-without-chunks", "RDMA_NOMSG without chunks is no Reply",
       "RDMA_NOMSG with three empty lists, then the right Reply. The Call may fail; no byte is wrong.", kReplyChunk,
       "LONG-001, REPLY-011, ERR-009", kAllowed, kAllowed, NomsgWithoutChunks},
      {"form.length-above", "A segment is not longer than it was offered",
       "A Reply whose last segment says 4096 bytes more than were offered, then the right one. The Call may fail; no "
       "byte is wrong.",
       kList, "WRLIST-004, ERR-009", kAllowed, kAllowed, LengthAbove},
      {"form.length-huge", "Lengths that wrap do no harm",
       "A Reply whose segments say 4294967295 bytes each, then the right one. The Call may fail; no byte is wrong.",
       kList, "WRLIST-004, ERR-009", kAllowed, kAllowed, LengthHuge},
      {"form.more-chunks", "More Write chunks than were offered do no harm",
       "A Reply with a second Write chunk, then the right one. The Call may fail; no byte is wrong.", kList,
       "WRLIST-001, ERR-009", kAllowed, kAllowed, MoreChunks},
      {"form.fewer-chunks", "Fewer Write chunks than were offered do no harm",
       "A Reply with an empty Write list although its data are in the Write chunk, then the right one. The Call may "
       "fail; no byte is wrong.",
       kList, "WRLIST-001, ERR-009", kAllowed, kAllowed, FewerChunks},
      {"form.more-segments", "More segments than were offered do no harm",
       "A Reply whose Write chunk has one segment more, then the right one. The Call may fail; no byte is wrong.",
       kList, "WRLIST-002, ERR-009", kAllowed, kAllowed, MoreSegments},
      {"form.fewer-segments", "Fewer segments than were offered do no harm",
       "A Reply whose Write chunk lacks its last segment, then the right one. The Call may fail; no byte is wrong.",
       kList, "WRLIST-002, ERR-009", kAllowed, kAllowed, FewerSegments},
      {"form.empty-chunk", "A Write chunk that comes back without segments does no harm",
       "A Reply whose Write chunk has no segments although its data were written, then the right one. The Call may "
       "fail; no byte is wrong.",
       kList, "WRLIST-002, ERR-009", kAllowed, kAllowed, EmptyChunk},
      {"form.other-handle", "Handles and offsets of a Reply are not followed",
       "A Reply whose segments have other handles and offsets, then the right one. No byte is taken from elsewhere.",
       kList, "WRLIST-003", kAllowed, kAllowed, OtherHandle},
      {"form.read-list", "A Reply with a Read list does no harm",
       "A Reply with a Read list of one segment, then the right one. The Call may fail; nothing is read.",
       "RFC 8166 4.3.1, RFC 8166 4.5", "RDLIST-001, ERR-009", kAllowed, kAllowed, ReadList},
      {"form.partly", "A Write chunk is used in part",
       "A short READ: about half of the data, in the first part of the Write chunk. The work succeeds.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "WRLIST-005, WRLIST-009", kFault, kFault, Partly},
      {"form.first-segment", "The first segment alone of a Write chunk is used",
       "A short READ: data up to the end of the first segment; the others come back empty. The work succeeds.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "WRLIST-005, WRLIST-009", kFault, kFault, FirstSegment},
      {"form.nothing-read", "A Write chunk comes back unused",
       "A READ of no bytes that is not at the end of the file; the Write chunk comes back unused. The work succeeds, "
       "or that READ fails.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "WRLIST-009", kAllowed, kFault, Unwritten},
      {"form.written-unused", "What is in an unused Write chunk is no data",
       "Other bytes than the file's are written to the Write chunk of a READ, which then reads no bytes: the chunk "
       "comes back unused. The work succeeds, or that READ fails, and no byte is wrong.",
       "RFC 8166 4.3.2", "WRLIST-019", kAllowed, kFault, WrittenUnused},
      {"form.data-inline", "Data come inline though there is a Write chunk",
       "A short READ with its data inline; the Write chunk comes back unused. The data are taken, or the READ fails; "
       "no byte is wrong.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "WRLIST-010", kAllowed, kAllowed, Unused},
      {"form.read-without-attributes", "A READ without attributes is read right",
       "A READ whose result has no attributes (post_op_attr); its data are in the Write chunk. The work succeeds, and "
       "no byte is wrong.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "", kFault, kFault, ReadWithoutAttributes},
      {"form.partly-without-attributes", "A short READ without attributes is read right",
       "A short READ whose result has no attributes: about half of the data, in the first part of the Write chunk. "
       "The work succeeds, and no byte is wrong.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "", kFault, kFault, PartlyWithoutAttributes},
      {"form.write-without-wcc", "A WRITE without wcc_data is taken",
       "A WRITE whose result says nothing of the file, before or after. The work succeeds.", "RFC 8166 3.5.1", "",
       kFault, kFault, WriteWithoutWcc},
      {"form.lookup-without-attributes", "A LOOKUP without attributes is taken",
       "A LOOKUP whose result has the handle alone. The work succeeds.", "RFC 8166 3.5.1", "", kFault, kFault,
       LookupWithoutAttributes},
      {kReadlinkProbe, "A READLINK without attributes is read right",
       "A READLINK whose result has no attributes; its text may be in a Write chunk. The work succeeds, and the text "
       "is right.",
       "RFC 8166 3.4.6, RFC 8166 4.3.2", "", kFault, kFault, ReadlinkWithoutAttributes},
      {"form.count-above", "More data than were written are not taken",
       "A READ whose count says 65536 bytes more than its Write chunk brought. The READ fails; no byte is wrong.",
       "RFC 8166 3.4.6, RFC 8166 4.5", "WRLIST-006", kAllowed, kAllowed, CountAbove},
      {"form.above-threshold", "A Send that is larger than any receive ends the connection",
       "A Reply of 270336 bytes. The connection ends, and the Calls come again on a new one.",
       "RFC 8166 3.3.2, RFC 8166 4.5.5", "THRESH-002", kAdvice, kAllowed, AboveThreshold},
  };
  return probes;
}

}  // namespace stag::probe::client
