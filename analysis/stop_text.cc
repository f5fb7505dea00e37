// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/stop_text.h"

#include "protocol/link/tunnel.h"
#include "text/put.h"

namespace stag::analysis {

std::string TextOfStop(link::Stop stop) {
  constexpr uint16_t kEsp = 50;
  if (stop.reason == link::StopReason::kIpProtocol && stop.detail == kEsp) return "encrypted ESP";
  const link::StopNames& names = link::kStopNames[static_cast<size_t>(stop.reason)];
  std::string out(names.words);
  constexpr std::string_view kFragments[] = {" without the others", " without the first", " that overlap",
                                             " without room to put them together"};
  switch (names.number) {
    case link::StopNumber::kFragment: out += kFragments[stop.detail % std::size(kFragments)]; break;
    case link::StopNumber::kNone: break;
    case link::StopNumber::kHex: Put(out, " 0x{:04x}", stop.detail); break;
    case link::StopNumber::kDecimal: Put(out, " {}", stop.detail); break;
    case link::StopNumber::kTunnel: Put(out, " {}", link::kTunnelNames[stop.detail % link::kTunnelKinds].name); break;
  }
  return out;
}

}  // namespace stag::analysis
