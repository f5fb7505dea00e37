// SPDX-License-Identifier: GPL-2.0-or-later
//
// Probes of the set-up of a connection: private data (RFC 8797), and the inline thresholds that follow from it.
#include <fmt/format.h>

#include "protocol/rpc/message.h"
#include "protocol/rpcrdma/header.h"
#include "replay/probe/bench.h"

namespace stag::probe {
namespace {

using Data = std::vector<std::byte>;

Data Encoded(const rpcrdma::PrivateData& data) {
  Data bytes;
  rpcrdma::Encode(data, bytes);
  return bytes;
}

Data Foreign(size_t n) { return Data(n, std::byte{0x5c}); }

// Connects with private data that say nothing, and makes sure that the defaults hold: no Send with Invalidate, and no
// Send above 1024 bytes.
void ExpectDefaults(Bench& bench, Data private_data) {
  Link& link = bench.Connect({.private_data = std::move(private_data)});
  bench.AskNull(link);
  bench.ExpectTerms(link, false, rpcrdma::kDefaultThreshold);
}

void PrivateData(Bench& bench) {
  Link& link = bench.Connect();
  using Found = rpcrdma::PrivateDataSearch::Found;
  const Bytes theirs = link.endpoint().peer_private_data();
  const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(theirs);
  if (search.found == Found::kByteSwapped) Failed("the format identifier f6ab0e18", "its bytes in the other order");
  if (search.found == Found::kTruncated) Failed("private data of eight bytes", "fewer");
  if (search.found == Found::kData && (search.data.flags & 0xfe) != 0)
    Failed("reserved bits that are zero", fmt::format("flags 0x{:02x}", search.data.flags));
  bench.AskNull(link);
}

void NoPrivateData(Bench& bench) { ExpectDefaults(bench, {}); }

void UnknownVersion(Bench& bench) {
  ExpectDefaults(bench, Encoded({.version = 2, .flags = 1, .send_size = 255, .receive_size = 255}));
}

void ReservedBits(Bench& bench) {
  Link& link = bench.Connect({.private_data = Encoded({.flags = 0xfe, .send_size = 3, .receive_size = 3})});
  if (bench.Invalidates(link)) Failed("a plain Send, for the R flag is clear", "a Send with Invalidate");
}

void TooShort(Bench& bench) {
  Data data = Encoded({.flags = 0, .send_size = 0, .receive_size = 0});
  data.resize(6);
  ExpectDefaults(bench, data);
}

void ForeignOnly(Bench& bench) { ExpectDefaults(bench, Foreign(16)); }

void ForeignBefore(Bench& bench) {
  Data data = Foreign(5);
  const Data ours = Encoded({.flags = 0, .send_size = 3, .receive_size = 3});
  data.insert(data.end(), ours.begin(), ours.end());
  Link& link = bench.Connect({.private_data = data});
  bench.AskNull(link);
  if (!bench.has_long())
    Inconclusive("NULL is answered; whether the data were found takes a long Reply: give --export");
  if (link.reply_threshold() <= 2048) Inconclusive("the server's own send size is too small to tell");
  // Fits 4096 bytes and not 1024, and there is no Reply chunk: only who found the data can answer.
  const Call call = bench.Long(link, 1500);
  Bench::ExpectLong(link.RpcReply(call, link.Ask(call)), 1500);
}

void LargestSizes(Bench& bench) {
  Link& link = bench.Connect({.private_data = Encoded({.flags = 0, .send_size = 255, .receive_size = 255}),
                              .receives = 8,
                              .receive_size = 262144});
  bench.AskNull(link);
}

// A NULL of exactly 1024 bytes: with a machine name of 16 bytes in its credential, and an unused Write chunk of as many
// segments as it takes.
Call CallOf1024(Bench& bench, Link& link) {
  constexpr std::string_view kMachine = "stag-probe-of-16";
  constexpr uint32_t kSegments = 57;
  std::vector<std::byte> body;
  const nfs_client::Credential& user = bench.options().credential;
  rpc::EncodeAuthSys(0, std::as_bytes(std::span(kMachine)), user.uid, user.gid, {}, body);
  Call call = bench.Null();
  rpc::CallHeader header = rpc::DecodeCall(call.rpc, call.rpc.size());
  header.credential = {rpc::kAuthSys, body};
  call.rpc.clear();
  rpc::Encode(header, call.rpc);
  AddWrite(call, link.Offer(std::vector<uint32_t>(kSegments, 4), endpoint::Access::kRemoteWrite));
  return call;
}

void CallAtThreshold(Bench& bench) {
  Link& link = bench.Connect({.private_data = Data{}});
  const Call call = CallOf1024(bench, link);
  const Message answer = link.Ask(call);
  // A responder may bound the segments of a chunk; it says so, and has received the Call.
  if (answer.header.proc == rpcrdma::kError && answer.header.err == rpcrdma::kErrChunk)
    return bench.Advise("a Write chunk of 57 segments gets ERR_CHUNK");
  bench.ExpectNull(link, call, answer);
}

void ThresholdChanges(Bench& bench) {
  Link& first = bench.Connect();
  bench.AskNull(first);
  first.Disconnect();
  ExpectDefaults(bench, Encoded({.flags = 0, .send_size = 0, .receive_size = 0}));
}

constexpr std::string_view kAbsent = "RFC 8797 5.1, RFC 8797 5.2, RFC 8166 3.3.3";

}  // namespace

std::span<const Probe> SetupProbes() {
  static const Probe probes[] = {
      {"setup.private-data", "Private data of version 1 are accepted",
       "A connection with the private data of RFC 8797, and a NULL. What the server sends of its own must be "
       "well-formed.",
       "RFC 8797 4, RFC 8797 4.2", "PVT-001, PVT-002, PVT-003", PrivateData},
      {"setup.no-private-data", "Without private data the defaults hold",
       "A connection without private data. Calls are answered by plain Sends of at most 1024 bytes.", kAbsent,
       "PVT-011, PVT-006, THRESH-003", NoPrivateData},
      {"setup.unknown-version", "Private data of an unknown version are as none",
       "Private data of version 2, with R set and the largest sizes. Calls are answered as without private data.",
       kAbsent, "PVT-011, PVT-013, PVT-006", UnknownVersion},
      {"setup.reserved-bits", "Reserved bits are ignored",
       "Private data with all reserved bits set and R clear. The connection is as it is without them.", "RFC 8797 4",
       "PVT-004, PVT-006", ReservedBits},
      {"setup.too-short", "Private data that are too short are as none",
       "The first six bytes of private data. Calls are answered as without private data.", kAbsent, "PVT-011, PVT-013",
       TooShort},
      {"setup.foreign-only", "Private data of somebody else are as none",
       "16 bytes of private data without the format identifier. Calls are answered as without private data.", kAbsent,
       "PVT-011", ForeignOnly},
      {"setup.foreign-before", "Private data are found behind foreign bytes",
       "Five foreign bytes, then private data. A Reply that fits what they say must come inline.", "RFC 8797 5.2",
       "PVT-012", ForeignBefore},
      {"setup.largest-sizes", "The largest sizes are accepted",
       "Private data with 262144 bytes for both sizes, and a NULL.", "RFC 8797 4.2", "PVT-009, PVT-010", LargestSizes},
      {"setup.call-of-1024", "A Call of 1024 bytes is received",
       "A NULL without private data, whose unused Write chunk makes it exactly 1024 bytes.",
       "RFC 8166 3.3.3, RFC 8166 3.3.2", "THRESH-004", CallAtThreshold},
      {"setup.reconnect", "A new connection has terms of its own",
       "A connection with 4096 bytes both ways, then one with 1024. The second must not go by the terms of the first.",
       "RFC 8797 4", "PVT-014, THRESH-005", ThresholdChanges},
  };
  return probes;
}

}  // namespace stag::probe
