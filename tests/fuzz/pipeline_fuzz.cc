// SPDX-License-Identifier: GPL-2.0-or-later
//
// From the bytes of a capture file to findings, over RoCEv2, native InfiniBand and iWARP. Input: a byte that picks the
// fabric, then actions of the two peers, which become packets with right checksums and sequence numbers (the scripts of
// pcaps/generator); so that what is mutated is what the peers say, not how it is framed. Then the same packets are
// analysed once more with some of them doubled and some neighbours swapped: no message may have other bytes, nothing
// may be found that was not found before (but when packets of both peers change places, or an acknowledgement and a
// request: then it was another story), and doubled packets change nothing at all. At the end the peers exchange some
// calls, so that nothing depends on who was heard last.
#include <cstdio>
#include <cstdlib>

#include "capture/file/reader.h"
#include "pcaps/generator/wire_script.h"
#include "protocol/base/cursor.h"
#include "tests/support/analysis.h"
#include "tests/support/nfs_messages.h"

namespace {

using namespace stag;
using namespace stag::test;

constexpr int kMaxActions = 24;
constexpr uint32_t kFarewells = 10;  // more than any check waits for
constexpr size_t kEthernetIpUdp = 14 + 20 + 8;
constexpr std::byte kAcknowledge{17};  // opcode of the BTH

[[noreturn]] void Give(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The two peers, as the input has them act.
class Story {
 public:
  Story(evidence::Fabric fabric, Cursor& in) : fabric_(fabric), in_(in), script_(MakeScript(fabric, capture_)) {}

  Buffer Tell() {
    const uint8_t settings = in_.U8();
    if (settings & 1)
      script_->Open();
    else
      script_->Open(
          rpcrdma::PrivateData{1, static_cast<uint8_t>(settings >> 1 & 1), static_cast<uint8_t>(settings >> 2 & 3), 3},
          settings & 16 ? std::nullopt : std::optional(rpcrdma::PrivateData{1, 1, 3, 3}));
    for (int i = 0; i < kMaxActions && in_.remaining() > 0 && !closed_; ++i) Act();
    if (!closed_) Farewell();
    script_->Settle();
    return capture_.File();
  }
  // Frames before the farewell.
  uint64_t size() const { return size_; }

 private:
  struct Operation {
    fabric::Side from;
    uint32_t handle;
    uint64_t offset;
    uint32_t length;
  };

  // What waits until a side is heard again, or until so many later Calls are answered, is found now.
  void Farewell() {
    size_ = capture_.size();
    for (uint32_t xid = 100; xid < 100 + kFarewells; ++xid) {
      script_->SendBytes(0, MessageBytes(MakeHeader(rpcrdma::kMsg, xid), GetattrCall(xid)));
      script_->SendBytes(1, MessageBytes(MakeHeader(rpcrdma::kMsg, xid), GetattrReply(xid)));
    }
  }

  void Act() {
    const uint8_t what = in_.U8();
    const auto side = static_cast<fabric::Side>(what >> 4 & 1);
    switch (what & 15) {
      case 0:
      case 1:
      case 2: return Call(side);
      case 3:
      case 4:
      case 5: return Reply(side);
      case 6: {
        const Operation target = Target(side);
        return script_->Write(side, target.handle, target.offset, Pattern(target.length));
      }
      case 7: {
        reads_.push_back(Target(side));
        ++reads_.back().length;
        return script_->ReadRequest(side, reads_.back().handle, reads_.back().offset, reads_.back().length);
      }
      case 8: {
        if (reads_.empty()) return;
        const Operation read = reads_.front();  // they are answered in their order
        reads_.erase(reads_.begin());
        return script_->ReadResponse(fabric::Side(1 - read.from), read.handle, read.offset, Pattern(read.length));
      }
      case 9: {
        rpcrdma::Header header = Header(rpcrdma::kError);
        header.err = in_.U8() & 3;
        header.vers_low = header.vers_high = in_.U8() & 3;
        return Send(side, header, {});
      }
      case 10: {
        const uint64_t size = in_.U8();
        const Bytes bytes = in_.Take(std::min<uint64_t>(size, in_.remaining()));
        return script_->SendBytes(side, {bytes.begin(), bytes.end()});
      }
      case 11: {
        const rpcrdma::Header header = Header(in_.U8() & 7);
        return Send(side, header, Pattern(Length()));
      }
      case 12:  // the packets of a refusal need something to refuse
        if (sent_[1 - side] && fabric_ == evidence::Fabric::kRoce)
          script_->Nak(side, static_cast<fabric::NakKind>(in_.U8() % 5));
        return;
      case 13: return script_->RepeatFrame(script_->frame());
      case 14: script_->Lost([&] { Send(side, MakeHeader(rpcrdma::kMsg, Xid()), GetattrCall(Xid())); }); return;
      default:
        closed_ = true;
        Farewell();
        return script_->Close();
    }
  }

  uint32_t Handle() { return (in_.U8() & 7) + 1; }
  uint64_t Offset() { return uint64_t{in_.U8()} << 6; }
  uint32_t Length() { return in_.U8() * uint32_t{8}; }
  uint32_t Xid() { return in_.U8() & 15; }
  // Braces, and a statement for each call: what is read from the input must not depend on the compiler.
  Operation Target(fabric::Side side) { return {side, Handle(), Offset(), Length()}; }
  rpcrdma::Header Header(uint32_t proc) {
    const uint32_t xid = Xid();
    return MakeHeader(proc, xid, in_.U8());
  }
  std::vector<rpcrdma::Segment> Segments(uint8_t count) {
    std::vector<rpcrdma::Segment> all(count & 3);
    for (rpcrdma::Segment& s : all) s = {Handle(), Length(), Offset()};
    return all;
  }

  rpcrdma::Header Lists(uint32_t proc, uint32_t xid) {
    rpcrdma::Header header = MakeHeader(proc, xid, in_.U8());
    const uint8_t lists = in_.U8();
    for (const rpcrdma::Segment& s : Segments(lists)) AddRead(header, in_.U8(), s);
    for (uint8_t i = lists >> 2 & 3; i > 0; --i) AddWriteChunk(header, Segments(in_.U8()));
    if (lists >> 4 & 1) SetReplyChunk(header, Segments(lists >> 5));
    return header;
  }

  void Call(fabric::Side side) {
    const uint32_t xid = Xid();
    const uint8_t kind = in_.U8();
    const uint32_t count = Length(), program = 100'000u + in_.U8(), procedure = in_.U8();
    const Buffer calls[] = {GetattrCall(xid),
                            ReadCall(xid, count),
                            WriteCall(xid, count),
                            ReadlinkCall(xid),
                            CompoundCall(xid, {PutRootFh(), Read4(count)}),
                            CompoundCall(xid, {PutRootFh(), Write4(count)}),
                            ReaddirCall(xid, count),
                            MakeCall(xid, program, 3, procedure, Pattern(count))};
    const bool nomsg = kind & 8;
    Send(side, Lists(nomsg ? rpcrdma::kNomsg : rpcrdma::kMsg, xid), nomsg ? Buffer{} : calls[kind & 7]);
  }

  void Reply(fabric::Side side) {
    const uint32_t xid = Xid();
    const uint8_t kind = in_.U8();
    const uint32_t count = Length();
    const bool reduced = kind & 16;
    const Buffer replies[] = {GetattrReply(xid),
                              ReadReply(xid, count, reduced),
                              WriteReply(xid, count),
                              ReadlinkReply(xid, count, reduced),
                              CompoundReply(xid, {PutRootFhResult(), Read4Result(count, reduced)}),
                              CompoundReply(xid, {PutRootFhResult(), Write4Result(count)}),
                              FailedReply(xid, 70),
                              MakeReply(xid, Pattern(count), in_.U8() & 7)};
    const bool nomsg = kind & 8;
    Send(side, Lists(nomsg ? rpcrdma::kNomsg : rpcrdma::kMsg, xid), nomsg ? Buffer{} : replies[kind & 7]);
  }

  // One byte of it may be another.
  void Send(fabric::Side side, const rpcrdma::Header& header, const Buffer& payload) {
    Buffer bytes = MessageBytes(header, payload);
    const uint8_t change = in_.U8();
    if (change != 0 && !bytes.empty()) bytes[in_.U16() % bytes.size()] ^= static_cast<std::byte>(change);
    const uint8_t invalidate = in_.U8();
    script_->SendBytes(side, bytes, invalidate < 32 ? std::optional<uint32_t>(invalidate & 7) : std::nullopt);
    sent_[side] = true;
  }

  const evidence::Fabric fabric_;
  Cursor& in_;
  evidence::Capture capture_;
  std::unique_ptr<evidence::WireScript> script_;
  std::vector<Operation> reads_;
  std::array<bool, 2> sent_{};
  bool closed_ = false;
  uint64_t size_ = 0;
};

std::vector<OwnedFrame> Load(Bytes file) {
  auto reader = capture::Reader::Open(capture::MemorySource(file), "story");
  if (!reader) Give("a capture of our own cannot be opened");
  std::vector<OwnedFrame> frames;
  Frame frame;
  while ((*reader)->ReadFrame(frame) == capture::Reader::Next::kFrame)
    frames.push_back({frame.ref, frame.link, {frame.bytes.begin(), frame.bytes.end()}, frame.wire_length});
  return frames;
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
  const Analysis whole = Analyse(frames);
  Compare(Analyse(Duplicated(frames, place)), whole, true);
  if (next >= story.size()) return 0;
  Analysis swapped = Analyse(SwappedWithNext(frames, place));
  // Which of two peers was first is what some findings are about, and what a peer had received when it sent something.
  if (!same_story) swapped.findings = whole.findings;
  Compare(swapped, whole, false);
  return 0;
}
