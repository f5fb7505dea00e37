// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/relay/terms.h"

#include <charconv>
#include <string>

#include "protocol/rpcrdma/header.h"
#include "replay/rpcrdma/settings.h"

namespace stag::relay {

namespace {

using Found = rpcrdma::PrivateDataSearch::Found;
constexpr size_t kFlagsAt = 5, kMessageSize = 8;  // RFC 8797 section 4

// A threshold from 1024 to 262144; what follows it.
bool TakeSize(std::string_view& text, uint32_t& size) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc{} && size >= 1024 && size <= 262144;
}

}  // namespace

Result<RelayTerms> ParseRelayTerms(std::string_view text) {
  RelayTerms terms;
  if (text == "pass") return terms;
  terms.kind = RelayTerms::Kind::kNone;
  if (text == "none") return terms;
  terms.kind = RelayTerms::Kind::kOwn;
  std::string_view rest = text;
  bool fine = TakeSize(rest, terms.send_size) && rest.starts_with('/');
  if (fine) rest.remove_prefix(1);
  fine = fine && TakeSize(rest, terms.receive_size);
  terms.remote_invalidation = rest == "/R";
  if (fine && (rest.empty() || terms.remote_invalidation)) return terms;
  return Fail(std::string(text) + " is not pass, none, or SEND/RECEIVE[/R] with sizes from 1024 to 262144");
}

std::vector<std::byte> RelayPrivateData(const RelayTerms& terms, Bytes theirs, size_t limit, bool may_invalidate) {
  if (terms.kind == RelayTerms::Kind::kNone) return {};
  if (terms.kind == RelayTerms::Kind::kOwn)
    return rpcrdma::EncodeSettings(terms.send_size, terms.receive_size, terms.remote_invalidation && may_invalidate);
  const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(theirs);
  const bool known = search.found == Found::kData;
  if (theirs.size() > limit) theirs = known ? theirs.subspan(search.offset, kMessageSize) : Bytes{};
  std::vector<std::byte> out(theirs.begin(), theirs.end());
  if (known && !may_invalidate) out[out.size() > kMessageSize ? search.offset + kFlagsAt : kFlagsAt] &= std::byte{0xfe};
  return out;
}

uint32_t ToldReceiveSize(Bytes private_data) {
  const rpcrdma::PrivateDataSearch search = rpcrdma::FindPrivateData(private_data);
  return search.found == Found::kData ? search.data.receive_bytes() : rpcrdma::kDefaultThreshold;
}

}  // namespace stag::relay
