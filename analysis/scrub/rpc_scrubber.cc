// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/scrub/rpc_scrubber.h"

#include <algorithm>
#include <string_view>

#include "protocol/rpc/rpcbind.h"
#include "protocol/rpcrdma/header.h"

namespace stag::scrub {
namespace {

using nfs::FieldKind;

constexpr uint32_t kRpcVersion = 2, kRpcMismatch = 0, kAuthError = 1;  // RFC 5531 section 9

void Copy(Bytes in, MutableBytes out) { std::copy(in.begin(), in.end(), out.begin()); }

// Reads words of `in` and keeps them in `out`.
class KeepingCursor {
 public:
  KeepingCursor(Bytes in, MutableBytes out) : in_(in), out_(out) {}
  // 0 when it is not there.
  uint32_t U32() {
    if (!ok_ || in_.size() - at_ < 4) return ok_ = false, 0;
    Copy(in_.subspan(at_, 4), out_.subspan(at_, 4));
    at_ += 4;
    return LoadBe32(in_.data() + at_ - 4);
  }
  // The next `n` bytes, and their room; nothing when they are not there.
  bool Take(uint64_t n, Bytes& in, MutableBytes& out) {
    if (!ok_ || in_.size() - at_ < n) return ok_ = false;
    in = in_.subspan(at_, static_cast<size_t>(n));
    out = out_.subspan(at_, static_cast<size_t>(n));
    at_ += static_cast<size_t>(n);
    return true;
  }
  void Skip(uint64_t n) {
    Bytes in;
    MutableBytes out;
    (void)Take(n, in, out);
  }
  bool ok() const { return ok_; }

 private:
  Bytes in_;
  MutableBytes out_;
  size_t at_ = 0;
  bool ok_ = true;
};

// Notes the handles and offsets of READ and WRITE operations, in their order.
class RangeVisitor : public nfs::Visitor {
 public:
  RangeVisitor(const std::vector<session::DataItem>& items, std::vector<FileRange>& reads,
               std::vector<FileRange>& writes)
      : items_(items), reads_(reads), writes_(writes) {}
  bool IsReduced(const nfs::Item&) override { return next_ < items_.size() && items_[next_++].reduced; }
  void OnRead(uint32_t op, Bytes handle, uint64_t offset, uint32_t) override { reads_.push_back({op, handle, offset}); }
  void OnWrite(uint32_t op, Bytes handle, uint64_t offset, uint32_t) override {
    writes_.push_back({op, handle, offset});
  }

 private:
  const std::vector<session::DataItem>& items_;
  std::vector<FileRange>&reads_, &writes_;
  size_t next_ = 0;
};

// Finds where the first item of at least so many bytes ends.
class LongItem : public nfs::Visitor {
 public:
  explicit LongItem(uint32_t threshold) : threshold_(threshold) {}
  bool IsReduced(const nfs::Item& item) override {
    if (end == UINT64_MAX && item.length >= threshold_) end = item.offset + item.length;
    return false;
  }
  uint64_t end = UINT64_MAX;

 private:
  const uint32_t threshold_;
};

// Bytes of arguments or results under RPCSEC_GSS integrity (RFC 2203 section 5.3.2.2) before what is wrapped: the
// length of the body, the sequence number.
constexpr uint32_t kIntegrityHead = 8;

bool IsIntegrity(const rpc::CallHeader& call) {
  return call.gss && call.gss_proc == rpc::kGssData && call.gss_service == rpc::kGssIntegrity;
}

// Where the wrapped arguments or results end that begin at `begin`; 0: they do not.
uint64_t IntegrityEnd(Bytes stream, uint64_t length, uint64_t begin) {
  if (begin + kIntegrityHead > stream.size()) return 0;
  const uint32_t body = LoadBe32(&stream[static_cast<size_t>(begin)]);
  return body >= 4 && begin + 4 + body <= length ? begin + 4 + body : 0;
}

// What can be walked of a Call: under integrity, its arguments as if they were not wrapped.
struct Walkable {
  rpc::CallHeader header;
  Bytes stream;
  uint64_t length = 0;
};
Walkable Unwrapped(const rpc::CallHeader& header, Bytes stream, uint64_t length) {
  Walkable inner{header, stream, length};
  if (!IsIntegrity(header)) return inner;
  const uint64_t end = IntegrityEnd(stream, length, header.length);
  if (end == 0) return inner;
  inner.header.gss_service = rpc::kGssNone;
  inner.header.length += kIntegrityHead;
  inner.stream = stream.first(static_cast<size_t>(std::min<uint64_t>(end, stream.size())));
  inner.length = end;
  return inner;
}

// Arguments or results of CCP (draft-08 section 6.2), which begin at `begin`: three sizes.
void Ccp(const rpc::CallHeader& call, size_t begin, Bytes stream, MutableBytes out) {
  if (call.version != 1 || call.procedure != rpcrdma::kCcpConfRdma) return;
  KeepingCursor c(stream.subspan(begin), out.subspan(begin));
  for (int word = 0; word < 3; ++word) (void)c.U32();
}

FileRange RangeOf(const std::vector<FileRange>& ranges, uint32_t op_index) {
  for (const FileRange& range : ranges)
    if (range.op_index == op_index) return range;
  return {};
}

}  // namespace

// Puts the fields of arguments and results into `out`.
class RpcScrubber::Fields final : public nfs::Visitor {
 public:
  Fields(RpcScrubber& scrubber, Bytes stream, const std::vector<session::DataItem>& items,
         const std::vector<FileRange>& ranges, MutableBytes out)
      : scrubber_(scrubber), stream_(stream), items_(items), ranges_(ranges), out_(out) {}

  bool WantsFields() const override { return true; }
  void OnField(FieldKind kind, uint64_t offset, uint64_t length) override {
    scrubber_.Field(kind, stream_.subspan(offset, length), out_.subspan(offset, length));
  }
  bool IsReduced(const nfs::Item& item) override {
    const bool reduced = next_ < items_.size() && items_[next_].reduced;
    ++next_;
    if (!reduced && item.offset < stream_.size()) {
      const auto at = static_cast<size_t>(item.offset);
      const size_t n = std::min<size_t>(item.length, stream_.size() - at);
      const Bytes there = stream_.subspan(at, n);
      scrubber_.Data(item.kind, RangeOf(ranges_, item.op_index), n == item.length ? there : Bytes{}, 0,
                     out_.subspan(at, n));
    }
    return reduced;
  }

 private:
  RpcScrubber& scrubber_;
  Bytes stream_;
  const std::vector<session::DataItem>& items_;
  const std::vector<FileRange>& ranges_;
  MutableBytes out_;
  size_t next_ = 0;
};

void RpcScrubber::Ranges(const rpc::CallHeader& header, Bytes stream, uint64_t length,
                         const std::vector<session::DataItem>& items, std::vector<FileRange>& reads,
                         std::vector<FileRange>& writes) {
  RangeVisitor visitor(items, reads, writes);
  const Walkable inner = Unwrapped(header, stream, length);
  (void)nfs::WalkCall(inner.header, inner.stream, inner.length, visitor);
}

void RpcScrubber::Data(nfs::ItemKind kind, const FileRange& range, Bytes content, uint64_t at, MutableBytes out) {
  if (out.empty()) return;
  if (kind == nfs::ItemKind::kLinkText) {
    // Without all of the text there is no telling its names apart: zeros.
    if (content.size() < at + out.size()) return;
    std::vector<std::byte> text(content.size());
    Field(FieldKind::kName, content, text);
    return Copy(Bytes(text).subspan(at, out.size()), out);
  }
  replaced_.data_bytes += out.size();
  if (kept_.data_hash && content.size() >= at + out.size()) {
    std::vector<std::byte> data(content.size());
    pseudonyms_.Content(content, data);
    return Copy(Bytes(data).subspan(at, out.size()), out);
  }
  pseudonyms_.FileData(range.handle, range.offset + at, out);
}

void RpcScrubber::Field(FieldKind kind, Bytes in, MutableBytes out) {
  if (in.empty()) return;
  switch (kind) {
    case FieldKind::kPlain: return Copy(in, out);
    case FieldKind::kPadding:
      std::transform(in.begin(), in.end(), out.begin(),
                     [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
      return;
    case FieldKind::kName:
      if (kept_.names) return Copy(in, out);
      ++replaced_.names;
      return pseudonyms_.Name(in, out);
    case FieldKind::kOpaque: ++replaced_.identifiers; return pseudonyms_.Opaque(in, out);
    case FieldKind::kNumber: ++replaced_.numbers; return pseudonyms_.Number(in, out);
    case FieldKind::kTime: ++replaced_.numbers; return pseudonyms_.Time(in, out);
    case FieldKind::kNetId: {
      const std::string_view text(reinterpret_cast<const char*>(in.data()), in.size());
      // Also in a wrong spelling.
      const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
      for (std::string_view known : {"tcp", "tcp6", "udp", "udp6", "rdma", "rdma6", "ticlts", "ticots", "ticotsord"})
        if (std::ranges::equal(text, known, same)) return Copy(in, out);
      ++replaced_.names;
      return pseudonyms_.Name(in, out);
    }
    case FieldKind::kNetAddress:
      if (kept_.addresses) return Copy(in, out);
      ++replaced_.addresses;
      return pseudonyms_.UniversalAddress(in, out);
  }
}

void RpcScrubber::Credential(uint32_t flavor, Bytes body, MutableBytes out) {
  KeepingCursor c(body, out);
  Bytes in;
  MutableBytes to;
  const auto opaque = [&](FieldKind kind) {
    const uint32_t size = c.U32();
    if (c.Take(size, in, to)) Field(kind, in, to);
    c.Skip(RoundUp4(size) - size);
  };
  const auto number = [&] {
    if (c.Take(4, in, to)) Field(FieldKind::kNumber, in, to);
  };
  if (flavor == rpc::kAuthSys) {
    number();  // stamp
    opaque(FieldKind::kName);
    number(), number();  // user, group
    const uint32_t groups = c.U32();
    for (uint32_t i = 0; i < groups && c.ok(); ++i) number();
  } else if (flavor == rpc::kRpcsecGss) {
    constexpr uint32_t kNewestVersion = 3;
    if (const uint32_t version = c.U32(); version == 0 || version > kNewestVersion) return;
    if (c.U32() > rpc::kGssDestroy) return;
    (void)c.U32(), (void)c.U32();  // sequence number, service
    opaque(FieldKind::kOpaque);
  } else {
    Field(FieldKind::kOpaque, body, out);
  }
}

// RFC 1833. What other procedures take or give stays zero.
void RpcScrubber::Rpcbind(const rpc::CallHeader& call, bool reply, Bytes body, MutableBytes room) {
  constexpr uint32_t kSet = 1, kUnset = 2, kGetaddr = 3, kDump = 4, kGetversaddr = 9, kVersion2 = 2, kVersion4 = 4;
  KeepingCursor c(body, room);
  const auto words = [&](int count) {
    while (count-- > 0) (void)c.U32();
  };
  const auto string = [&](FieldKind kind) {
    const uint32_t size = c.U32();
    Bytes in;
    MutableBytes to;
    if (c.Take(size, in, to)) Field(kind, in, to);
    c.Skip(RoundUp4(size) - size);
  };
  const auto mapping = [&] {  // mapping of version 2, rpcb of the others
    if (call.version == kVersion2) return words(4);
    words(2);
    string(FieldKind::kNetId), string(FieldKind::kNetAddress), string(FieldKind::kName);
  };
  const uint32_t procedure = call.procedure;
  if (call.version < kVersion2 || call.version > kVersion4) return;
  const bool asks = procedure == kSet || procedure == kUnset || procedure == kGetaddr || procedure == kGetversaddr;
  if (!reply) {
    if (asks) mapping();
  } else if (procedure == kDump) {
    while (c.U32() == 1) mapping();
  } else if (call.version != kVersion2 && (procedure == kGetaddr || procedure == kGetversaddr)) {
    string(FieldKind::kNetAddress);
  } else if (asks) {
    words(1);  // a port, or whether it was done
  }
}

// False: it is not whole.
bool RpcScrubber::CallHead(Bytes stream, MutableBytes out) {
  KeepingCursor c(stream, out);
  constexpr uint32_t kMaxAuthBytes = 400;  // RFC 5531 section 8.2
  (void)c.U32();
  if (c.U32() != rpc::kCall || c.U32() != kRpcVersion) return false;
  for (int word = 0; word < 3; ++word) (void)c.U32();
  for (int auth = 0; auth < 2; ++auth) {
    const uint32_t flavor = c.U32(), size = c.U32();
    Bytes in;
    MutableBytes to;
    if (size > kMaxAuthBytes || !c.Take(size, in, to)) return false;
    // A verifier of AUTH_SYS is empty; whatever is in one is nobody's to keep.
    if (auth == 0) {
      Credential(flavor, in, to);
    } else {
      Field(FieldKind::kOpaque, in, to);
    }
    c.Skip(RoundUp4(size) - size);
  }
  return c.ok();
}

bool RpcScrubber::ReplyHead(Bytes stream, MutableBytes out) {
  KeepingCursor c(stream, out);
  constexpr uint32_t kMaxAuthBytes = 400;
  (void)c.U32();
  if (c.U32() != rpc::kReply) return false;
  const uint32_t stat = c.U32();
  if (!c.ok()) return false;
  if (stat == rpc::kAccepted) {
    (void)c.U32();
    const uint32_t size = c.U32();
    Bytes in;
    MutableBytes to;
    if (size > kMaxAuthBytes || !c.Take(size, in, to)) return false;
    Field(FieldKind::kOpaque, in, to);
    c.Skip(RoundUp4(size) - size);
    if (c.U32() == rpc::kProgMismatch) (void)c.U32(), (void)c.U32();
  } else if (stat == rpc::kDenied) {
    const uint32_t why = c.U32();
    if (why > kAuthError) return false;
    if (why == kRpcMismatch) (void)c.U32();
    (void)c.U32();
  }
  return c.ok();
}

// The arguments or results of a Call under RPCSEC_GSS, from `begin` on, but for what integrity wraps (RFC 2203): tokens
// and checksums are replaced, lengths stay; of privacy nothing else.
void RpcScrubber::Gss(const rpc::CallHeader& call, bool reply, Bytes stream, uint64_t length, uint32_t begin,
                      MutableBytes out) {
  const auto cursor = [&](uint64_t at) {
    return KeepingCursor(stream.subspan(static_cast<size_t>(at)), out.subspan(static_cast<size_t>(at)));
  };
  const auto opaque = [this](KeepingCursor& c) {
    const uint32_t size = c.U32();
    Bytes in;
    MutableBytes to;
    if (c.Take(size, in, to)) Field(FieldKind::kOpaque, in, to);
    c.Skip(RoundUp4(size) - size);
  };
  KeepingCursor head = cursor(begin);
  if (call.gss_proc == rpc::kGssInit || call.gss_proc == rpc::kGssContinueInit) {
    if (reply) {
      opaque(head);                                           // handle
      for (int word = 0; word < 3; ++word) (void)head.U32();  // major and minor status, sequence window
    }
    return opaque(head);  // token
  }
  if (call.gss_proc != rpc::kGssData) return;
  if (call.gss_service == rpc::kGssPrivacy) return (void)head.U32();
  const uint64_t end = IntegrityEnd(stream, length, begin);
  if (call.gss_service != rpc::kGssIntegrity || end == 0) return;
  (void)head.U32(), (void)head.U32();
  if (RoundUp4(end) > stream.size()) return;
  KeepingCursor checksum = cursor(RoundUp4(end));
  opaque(checksum);
}

void RpcScrubber::Call(Bytes stream, uint64_t length, const std::vector<session::DataItem>& items,
                       std::vector<std::byte>& out) {
  out.assign(stream.size(), std::byte{0});
  if (!CallHead(stream, out)) return;
  const rpc::CallHeader header = rpc::DecodeCall(stream, length);
  if (header.status != ParseStatus::kOk) return;
  if (rpcrdma::IsCcpProgram(header.program)) return Ccp(header, header.length, stream, out);
  if (header.program == rpc::kRpcbindProgram)
    return Rpcbind(header, false, stream.subspan(header.length), MutableBytes(out).subspan(header.length));
  if (header.opaque_arguments()) Gss(header, false, stream, length, header.length, out);
  std::vector<FileRange> reads, writes;
  Ranges(header, stream, length, items, reads, writes);
  const Walkable inner = Unwrapped(header, stream, length);
  Fields fields(*this, inner.stream, items, writes, out);
  (void)nfs::WalkCall(inner.header, inner.stream, inner.length, fields);
}

void RpcScrubber::Reply(const rpc::CallHeader& call, const std::vector<FileRange>& reads, Bytes stream, uint64_t length,
                        const std::vector<session::DataItem>& items, std::vector<std::byte>& out) {
  out.assign(stream.size(), std::byte{0});
  if (!ReplyHead(stream, out)) return;
  const rpc::ReplyHeader header = rpc::DecodeReply(stream, length);
  if (header.status != ParseStatus::kOk) return;
  if (rpcrdma::IsCcpProgram(call.program)) return Ccp(call, header.length, stream, out);
  if (call.program == rpc::kRpcbindProgram && header.success())
    return Rpcbind(call, true, stream.subspan(header.length), MutableBytes(out).subspan(header.length));
  rpc::CallHeader asked = call;
  rpc::ReplyHeader inner = header;
  if (header.success() && call.opaque_arguments()) {
    Gss(call, true, stream, length, header.length, out);
    if (const uint64_t end = IsIntegrity(call) ? IntegrityEnd(stream, length, header.length) : 0; end != 0) {
      asked.gss_service = rpc::kGssNone;
      inner.length += kIntegrityHead;
      length = end;
      stream = stream.first(static_cast<size_t>(std::min<uint64_t>(end, stream.size())));
    }
  }
  Fields fields(*this, stream, items, reads, out);
  (void)nfs::WalkReply(asked, inner, stream, length, fields);
}

void RpcScrubber::PaddedCall(Bytes stream, uint64_t length, uint32_t threshold, std::vector<std::byte>& out) {
  static const std::vector<session::DataItem> kInline;
  Call(stream, length, kInline, out);
  LongItem item(threshold);
  const nfs::Walk walk = nfs::WalkCall(rpc::DecodeCall(stream, length), stream, length, item);
  if (walk.status == ParseStatus::kOk && walk.offset == length) return;
  if (item.end < out.size()) std::fill(out.begin() + static_cast<ptrdiff_t>(item.end), out.end(), std::byte{0});
}

void RpcScrubber::Call(Bytes stream, std::vector<std::byte>& out) {
  out.assign(stream.size(), std::byte{0});
  (void)CallHead(stream, out);
}

void RpcScrubber::Reply(Bytes stream, std::vector<std::byte>& out) {
  out.assign(stream.size(), std::byte{0});
  (void)ReplyHead(stream, out);
}

}  // namespace stag::scrub
