// SPDX-License-Identifier: GPL-2.0-or-later
//
// A software iWARP endpoint and a hostile peer, with a stream in memory instead of TCP. The input is a list of
// commands: what the peer sends (raw bytes, or DDP segments that are right in most respects and name handles that
// exist), in what pieces it arrives and is taken, and what the owner of the endpoint does meanwhile. Nothing may crash
// or hang, memory that was not offered stays as it is, and every posted work ends exactly once.
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "protocol/base/cursor.h"
#include "replay/endpoint/soft_iwarp_endpoint.h"
#include "tests/support/event_fields.h"

namespace stag::endpoint {
namespace {

void Require(bool condition) {
  if (!condition) __builtin_trap();
}

// What the peer sent, and how much TCP takes of what is sent to it.
struct Pipe {
  std::vector<std::byte> to_endpoint;
  size_t at = 0;
  size_t chunk = 1 << 20;   // received at a time
  size_t window = 1 << 20;  // taken until more is allowed
  bool ended = false, broken = false;
};

class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(Pipe& pipe) : pipe_(pipe) {}
  Transfer Receive(std::span<const iovec> into) override {
    Transfer transfer;
    for (const iovec& piece : into) {
      const size_t n = std::min({piece.iov_len, pipe_.to_endpoint.size() - pipe_.at, pipe_.chunk - transfer.bytes});
      if (n > 0) std::memcpy(piece.iov_base, pipe_.to_endpoint.data() + pipe_.at, n);
      pipe_.at += n;
      transfer.bytes += n;
      if (n < piece.iov_len) break;
    }
    if (transfer.bytes > 0) transfer.io = Transfer::Io::kDone;
    if (transfer.bytes == 0 && pipe_.broken) return {Transfer::Io::kFailed, 0, ECONNRESET};
    if (transfer.bytes == 0 && pipe_.ended && pipe_.at == pipe_.to_endpoint.size()) transfer.io = Transfer::Io::kEnd;
    return transfer;
  }
  Transfer Send(std::span<const iovec> from) override {
    Require(!finished_);
    if (pipe_.broken) return {Transfer::Io::kFailed, 0, EPIPE};
    Transfer transfer;
    for (const iovec& piece : from) {
      const size_t n = std::min(piece.iov_len, pipe_.window);
      const auto* bytes = static_cast<const unsigned char*>(piece.iov_base);
      for (size_t i = 0; i < n; ++i) sum_ = sum_ + bytes[i];  // every byte must be readable
      pipe_.window -= n;
      transfer.bytes += n;
    }
    if (transfer.bytes > 0) transfer.io = Transfer::Io::kDone;
    return transfer;
  }
  void FinishSending() override {
    Require(!finished_);
    finished_ = true;
  }
  bool Wait(bool, bool, std::chrono::microseconds) override { return false; }
  int descriptor() const override { return -1; }
  uint32_t segment_size() const override { return 1448; }

 private:
  Pipe& pipe_;
  bool finished_ = false;
  volatile uint64_t sum_ = 0;
};

struct Listener final : fabric::Sink {
  void OnEvent(const fabric::Event& e) override {
    Require(!closed && e.connection && e.from < 2 && e.frame.number <= e.now.number);
    Require(e.now.number == frames || e.now.number == frames + 1);
    frames = e.now.number;
    const auto f = stag::test::FieldsOf(e);
    Require(f.bytes.size() <= f.length || e.kind() == fabric::EventKind::kSetup);
    for (const std::byte b : f.bytes) sum = sum + std::to_integer<uint64_t>(b);
    closed = e.kind() == fabric::EventKind::kClosed;
  }
  bool closed = false;
  uint64_t frames = 0;
  volatile uint64_t sum = 0;
};

// Looks late: until then the bytes that stay must be as they were.
struct LateListener final : fabric::LateSink {
  explicit LateListener(fabric::Sink& events) : next(events) {}
  void OnEvent(const fabric::Event& e) override { next.OnEvent(e); }
  uint64_t OnStayingEvent(const fabric::Event& e) override {
    next.OnEvent(e);
    const Bytes bytes = e.content()->bytes;
    waiting.emplace_back(bytes, std::vector<std::byte>(bytes.begin(), bytes.end()));
    return ++given;
  }
  bool Passed(uint64_t mark) const override { return mark <= passed; }
  void WaitFor(uint64_t mark, uint32_t) override {
    Require(mark <= given);
    Look();
  }
  void Look() {
    for (const auto& [bytes, were] : waiting) Require(std::ranges::equal(bytes, were));
    waiting.clear();
    passed = given;
  }
  fabric::Sink& next;
  std::vector<std::pair<Bytes, std::vector<std::byte>>> waiting;
  uint64_t given = 0, passed = 0;
};

constexpr size_t kRegion = 3000, kStays = 300;

class Game {
 public:
  explicit Game(Cursor& in) : in_(in), log_(listener_), late_log_(late_, kStays) {
    const uint8_t what = in.U8(), more = in.U8();
    Terms terms;
    terms.initiator = what & 1;
    crc_ = terms.crc = what & 2;
    markers_ = terms.receive_markers = what & 4;
    terms.send_markers = what & 8;
    terms.peer_to_peer = what & 16;
    terms.ready =
        terms.initiator && terms.peer_to_peer ? Terms::Ready{static_cast<uint8_t>(more & 3)} : Terms::Ready::kNone;
    terms.inbound_reads = more >> 2 & 7;
    terms.outbound_reads = more >> 5;
    EndpointOptions options;
    options.sends = 8;
    options.receives = 4;
    options.receive_size = 2000;
    if (what & 32) options.events = what & 128 ? &late_log_ : &log_;
    SoftIwarpOptions own;
    own.fpdu_segments = what & 64 ? 1 : 64;
    endpoint_ = std::make_unique<SoftIwarpEndpoint>(std::make_unique<MemoryStream>(pipe_), SocketEnds{}, terms,
                                                    iwarp::MpaFrame{}, iwarp::MpaFrame{}, options, own);
    for (const Access access : {Access::kLocal, Access::kRemoteRead, Access::kRemoteWrite}) Register(access);
  }

  void Play() {
    while (in_.remaining() > 0) Step(in_.U8());
    // The end: the peer stops, everything is taken.
    pipe_.ended = true;
    pipe_.window = SIZE_MAX;
    pipe_.chunk = SIZE_MAX;
    for (int i = 0; i < 10000 && endpoint_->state() == State::kOpen; ++i) Poll();
    Require(endpoint_->state() != State::kOpen);
    while (Poll() > 0) {
    }
    Require(posted_.empty());
    Require(listener_.frames == 0 || listener_.closed);
    Require(late_.waiting.empty());
    // The memory in front of, between and behind regions was nobody's; local memory is the target of Reads only.
    for (const auto& memory : memory_) {
      for (size_t i = 0; i < 64; ++i)
        Require(memory->bytes[i] == std::byte{0xa5} && memory->bytes[64 + kRegion + i] == std::byte{0xa5});
      for (size_t i = 0; i < kRegion && memory->access == Access::kRemoteRead; ++i)
        Require(memory->bytes[64 + i] == std::byte{0x5a});
    }
  }

 private:
  struct Memory {
    std::array<std::byte, kRegion + 128> bytes;
    Access access;
  };

  void Register(Access access) {
    if (memory_.size() >= 16) return;
    memory_.push_back(std::make_unique<Memory>());
    memory_.back()->access = access;
    memory_.back()->bytes.fill(std::byte{0xa5});
    const MutableBytes inner = std::span(memory_.back()->bytes).subspan(64, kRegion);
    std::fill(inner.begin(), inner.end(), std::byte{0x5a});
    regions_.push_back(*endpoint_->Register(inner, access));
  }
  Region& Pick() { return regions_[in_.U8() % regions_.size()]; }

  size_t Poll() {
    std::array<Completion, 3> out;
    const size_t n = endpoint_->Poll(out, std::chrono::microseconds(0));
    for (size_t i = 0; i < n; ++i) {
      if (out[i].work == Work::kReceive) {
        for (const std::byte b : out[i].bytes) sum_ = sum_ + std::to_integer<uint64_t>(b);
        endpoint_->Release(out[i]);
      } else {
        const auto it = posted_.find(out[i].id);
        Require(it != posted_.end() && it->second == out[i].work);
        posted_.erase(it);
      }
    }
    return n;
  }

  void Fpdu(Bytes ulpdu) { position_ += iwarp::EncodeFpdu(ulpdu, position_, markers_, crc_, pipe_.to_endpoint); }

  void Segment(uint8_t what) {
    iwarp::DdpHeader header;
    const uint8_t opcode = in_.U8(), twist = in_.U8();
    header.opcode = iwarp::Opcode{static_cast<uint8_t>(opcode & 15)};
    header.tagged = opcode & 16
                        ? !(header.opcode == iwarp::Opcode::kWrite || header.opcode == iwarp::Opcode::kReadResponse)
                        : header.opcode == iwarp::Opcode::kWrite || header.opcode == iwarp::Opcode::kReadResponse;
    header.last = !(opcode & 32);
    if (opcode & 64) header.ddp_version = twist & 3;
    if (opcode & 128) header.rdmap_version = twist & 3;
    const Region& region = Pick();
    const size_t length = what & 16 ? in_.U16() % 5000 : in_.U8();
    std::vector<std::byte> payload(length, std::byte{0x77});
    header.stag = region.handle ^ (twist & 4 ? 1 : 0);
    header.offset = region.offset + (twist & 8 ? in_.U16() : 0) - (twist & 16 ? 1 : 0);
    header.invalidate_stag = region.handle;
    const bool read = header.opcode == iwarp::Opcode::kReadRequest;
    header.queue = read ? 1 : header.opcode == iwarp::Opcode::kTerminate ? 2 : 0;
    if (twist & 32) header.queue = in_.U8();
    header.sequence = header.queue == 0 ? send_ : header.queue == 1 ? read_ : 1;
    if (twist & 64) header.sequence += in_.U8();
    header.message_offset = header.queue == 0 ? offset_ : 0;
    if (twist & 128) header.message_offset += in_.U8();
    if (!header.tagged && header.queue == 0) {
      offset_ += static_cast<uint32_t>(length);
      if (header.last) ++send_, offset_ = 0;
    }
    if (read && !header.tagged) {
      ++read_;
      const iwarp::ReadRequest request{1, 0, static_cast<uint32_t>(length), header.stag, header.offset};
      payload.clear();
      iwarp::EncodeReadRequest(request, payload);
    }
    std::vector<std::byte> ulpdu;
    iwarp::EncodeDdpSegment(header, payload, ulpdu);
    Fpdu(ulpdu);
  }

  void Post(uint8_t what) {
    const uint64_t id = ++last_id_;
    const Region& region = Pick();
    const size_t length = std::min<size_t>(in_.U16(), region.bytes.size());
    const Bytes piece(region.bytes.data(), length);
    bool posted = false;
    Work work = Work::kSend;
    if ((what & 3) == 0) {
      posted =
          endpoint_->Send(std::span(&piece, 1), id, what & 4 ? std::optional<uint32_t>(7) : std::nullopt).has_value();
    } else if ((what & 3) == 1) {
      work = Work::kWrite;
      posted = endpoint_->Write(piece, 1, 2, id).has_value();
    } else if (region.access == Access::kLocal) {
      work = Work::kRead;
      posted = endpoint_->Read(region.bytes.first(length), 1, 2, id).has_value();
    }
    if (posted) posted_[id] = work;
  }

  void Step(uint8_t what) {
    switch (what & 15) {
      case 0: {
        const Bytes raw = in_.Take(std::min<size_t>(in_.U8(), in_.remaining()));
        pipe_.to_endpoint.insert(pipe_.to_endpoint.end(), raw.begin(), raw.end());
        break;
      }
      case 1:
      case 2:
      case 3:
      case 4: Segment(what); break;
      case 5: Fpdu(in_.Take(std::min<size_t>(in_.U8(), in_.remaining()))); break;
      case 6: pipe_.chunk = size_t{in_.U8()} + 1; break;
      case 7: pipe_.chunk = 1 << 20; break;
      case 8: pipe_.window = in_.U16(); break;
      case 9: pipe_.window = 1 << 20; break;
      case 10:
        if (what & 16) late_.Look();
        Poll();
        break;
      case 11: Post(what >> 4); break;
      case 12:
        if (what & 16) {
          Register(what & 32 ? Access::kRemoteRead : Access::kRemoteWrite);
        } else {
          (void)endpoint_->Renew(Pick());
        }
        break;
      case 13: {
        // Memory of posted work must stay; of other regions it may go at any time, Reads of the peer or not.
        Region& region = Pick();
        if (posted_.empty()) {
          endpoint_->Deregister(region);
          region = *endpoint_->Register(size_t{64}, Access::kRemoteRead);
        }
        break;
      }
      case 14:
        if (what & 16) {
          endpoint_->Disconnect();
        } else if (what & 32) {
          pipe_.ended = true;
        } else if (what & 64) {
          pipe_.broken = true;
        } else {
          endpoint_->Flush();
        }
        break;
      default:
        // A flipped bit in what has not been read.
        if (pipe_.at < pipe_.to_endpoint.size())
          pipe_.to_endpoint[pipe_.at + in_.U16() % (pipe_.to_endpoint.size() - pipe_.at)] ^= std::byte{1};
        break;
    }
  }

  Cursor& in_;
  Listener listener_;
  LateListener late_{listener_};
  EventLog log_, late_log_;
  Pipe pipe_;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::unique_ptr<SoftIwarpEndpoint> endpoint_;
  std::vector<Region> regions_;
  std::map<uint64_t, Work> posted_;
  uint64_t last_id_ = 0, position_ = 0;
  uint32_t send_ = 1, read_ = 1, offset_ = 0;
  bool crc_ = false, markers_ = false;
  volatile uint64_t sum_ = 0;
};

// The set-up frames of a peer, as raw bytes in pieces.
void PlaySetup(Cursor& in) {
  const bool reply = in.U8() & 1;
  Pipe pipe;
  pipe.chunk = size_t{in.U8()} + 1;
  const Bytes rest = in.Take(in.remaining());
  pipe.to_endpoint.assign(rest.begin(), rest.end());
  pipe.ended = true;
  MemoryStream stream(pipe);
  SetupReader reader(reply ? iwarp::MpaFrame::Kind::kReply : iwarp::MpaFrame::Kind::kRequest);
  SetupReader::Status status;
  while ((status = reader.Receive(stream)) == SetupReader::Status::kMore) {
  }
  Require(status == SetupReader::Status::kDone || !reader.why().empty());
  if (status != SetupReader::Status::kDone) return;
  Require(reader.frame().private_data.size() <= iwarp::kMaxPrivateData);
  EndpointOptions options;
  SoftIwarpOptions own;
  Terms terms;
  own.peer_to_peer = true;
  if (reply) {
    terms = FromReply(MakeRequest(own, options, 2), reader.frame(), options);
  } else {
    (void)MakeReply(own, options, reader.frame(), terms);
  }
  Require(terms.inbound_reads <= options.inbound_reads && terms.outbound_reads <= options.outbound_reads);
}

}  // namespace
}  // namespace stag::endpoint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stag::Cursor in(std::as_bytes(std::span(data, size)));
  if (in.U8() & 1) {
    stag::endpoint::PlaySetup(in);
  } else {
    stag::endpoint::Game(in).Play();
  }
  return 0;
}
