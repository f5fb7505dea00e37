// SPDX-License-Identifier: GPL-2.0-or-later
//
// Story: what two peers do, as the input of a fuzz target has them act, as packets with right checksums and sequence
// numbers (the scripts of pcaps/generator): what is mutated is what the peers say, not how it is framed.
#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "capture/file/reader.h"
#include "pcaps/generator/wire_script.h"
#include "protocol/base/cursor.h"
#include "tests/support/nfs_messages.h"
#include "tests/support/run_capture.h"

namespace stag::test {

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
    for (int i = 0; i < kMostActions && in_.remaining() > 0 && !closed_; ++i) Act();
    if (!closed_) Farewell();
    script_->Settle();
    return capture_.File();
  }
  // Frames before the farewell.
  uint64_t size() const { return size_; }

 private:
  static constexpr int kMostActions = 24;
  static constexpr uint32_t kFarewells = 6;  // more than any check waits for

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

// The frames of a capture of our own.
inline std::vector<OwnedFrame> Load(Bytes file) {
  auto reader = capture::Reader::Open(capture::MemorySource(file), "story");
  if (!reader) std::abort();
  std::vector<OwnedFrame> frames;
  Frame frame;
  while ((*reader)->ReadFrame(frame) == capture::Reader::Next::kFrame)
    frames.push_back({frame.ref, frame.link, {frame.bytes.begin(), frame.bytes.end()}, frame.wire_length});
  return frames;
}

}  // namespace stag::test
