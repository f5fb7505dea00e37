// SPDX-License-Identifier: GPL-2.0-or-later
//
// CaptureDeviceRow, PeerDeviceRow: a device that packets can be captured on (stag capture --list); a way to reach a
// live peer (stag devices).
#pragma once

#include <optional>
#include <string>

#include "results/record.h"

namespace stag::cli {

struct CaptureDeviceRow {
  std::string name, kind, state;
  bool usable = false;
  std::string remark;
};

struct PeerDeviceRow {
  std::string name, kind, state;
  std::optional<std::string> netdev;
  bool usable = false;
  std::string reason;
  bool automatic = false;
};

}  // namespace stag::cli

namespace stag::results {

template <>
struct Record<cli::CaptureDeviceRow> : Of<cli::CaptureDeviceRow> {
  static constexpr std::string_view kType = "device", kDoc = "A device that packets can be captured on.";
  static constexpr std::array kMembers = {
      Member<&Row::name>("name", "Its name.").Column("name"),
      Member<&Row::kind>("kind", "network, or RDMA and its link.").Column("kind"),
      Member<&Row::state>("state", "up, down, no carrier or unknown; of RDMA: active or down.").Column("state"),
      Member<&Row::usable>("usable", "Packets can be captured on it now.").Column("usable"),
      Member<&Row::remark>("remark", "The packets that pass it, or the reason that none can be captured.")
          .Column("remark"),
  };
};

template <>
struct Record<cli::PeerDeviceRow> : Of<cli::PeerDeviceRow> {
  static constexpr std::string_view kType = "transport", kDoc = "A way to reach a live peer.";
  static constexpr std::array kMembers = {
      Member<&Row::name>("name", "Its name for --transport: iwarp, which is software, or the device's.").Column("name"),
      Member<&Row::kind>("kind", "software iWARP, InfiniBand, RoCE or iWARP.").Column("kind"),
      Member<&Row::state>("state", "State of its best port: active, down, and so on; of software iWARP: ready.")
          .Column("state"),
      Member<&Row::netdev>("netdev", "Network device of the port; null: none, or any.").Column("netdev"),
      Member<&Row::usable>("usable", "It can be used.").Column("usable"),
      Member<&Row::reason>("reason", "The reason that it can, or cannot.").Column("reason"),
      Member<&Row::automatic>("auto", "--transport auto takes it.").Column("auto"),
  };
};

}  // namespace stag::results
