// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/fabric/names.h"

#include <arpa/inet.h>

namespace stag::fabric {

std::string AddressText(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  switch (address.kind) {
    case Address::Kind::kNone: break;
    case Address::Kind::kIpv4: inet_ntop(AF_INET, address.bytes.data(), text, sizeof text); break;
    case Address::Kind::kIpv6:
    case Address::Kind::kGid: inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text); break;
    case Address::Kind::kLid: return "LID " + std::to_string(LoadBe16(address.bytes.data()));
  }
  return text;
}

std::string EndpointText(const Endpoint& endpoint, FabricKind fabric) {
  std::string text = AddressText(endpoint.address);
  if (fabric == FabricKind::kIwarp) {
    if (endpoint.address.kind == Address::Kind::kIpv6) text = "[" + text + "]";
    return text + ":" + std::to_string(endpoint.number);
  }
  if (endpoint.number == 0) return text;
  text.append(" QP 0x");
  for (int shift = 20; shift >= 0; shift -= 4) text.push_back("0123456789abcdef"[(endpoint.number >> shift) & 15]);
  return text;
}

std::string_view FabricName(FabricKind fabric) {
  switch (fabric) {
    case FabricKind::kInfiniBand: return "InfiniBand";
    case FabricKind::kRoceV1: return "RoCEv1";
    case FabricKind::kRoceV2: return "RoCEv2";
    case FabricKind::kIwarp: return "iWARP";
  }
  return "?";
}

std::string_view NakName(NakKind nak) {
  switch (nak) {
    case NakKind::kRnr: return "NAK: receiver not ready";
    case NakKind::kSequence: return "NAK: sequence error, sent again";
    case NakKind::kInvalidRequest: return "NAK: invalid request";
    case NakKind::kRemoteAccess: return "NAK: remote access error";
    case NakKind::kRemoteOperation: return "NAK: remote operational error";
    case NakKind::kTerminate: return "Terminate";
  }
  return "?";
}

std::string_view AnomalyName(AnomalyKind kind) {
  switch (kind) {
    case AnomalyKind::kChangedRequest: return "Sent again with other bytes";
    case AnomalyKind::kChangedResponse: return "RDMA Read response again, with other bytes";
    case AnomalyKind::kWrongLength: return "Packets do not add up to the length that was stated";
    case AnomalyKind::kEarlyAck: return "Acknowledgment of what was not sent";
    case AnomalyKind::kBadChecksum: return "Wrong checksum";
  }
  return "?";
}

std::string_view RejectName(uint16_t reason) {
  constexpr std::array<std::string_view, 34> kReasons = {
      "",
      "No QP available",
      "No EEC available",
      "No resources available",
      "Timeout",
      "Unsupported request",
      "Invalid communication ID",
      "Invalid communication instance",
      "Invalid service ID",
      "Invalid transport service type",
      "Stale connection",
      "RDC does not exist",
      "Primary remote port GID rejected",
      "Primary remote port LID rejected",
      "Invalid primary SL",
      "Invalid primary traffic class",
      "Invalid primary hop limit",
      "Invalid primary packet rate",
      "Alternate remote port GID rejected",
      "Alternate remote port LID rejected",
      "Invalid alternate SL",
      "Invalid alternate traffic class",
      "Invalid alternate hop limit",
      "Invalid alternate packet rate",
      "Port and CM redirection",
      "Port redirection",
      "Invalid path MTU",
      "Insufficient responder resources",
      "Consumer reject",
      "RNR retry count reject",
      "Duplicate local communication ID",
      "Invalid class version",
      "Invalid primary flow label",
      "Invalid alternate flow label",
  };
  return reason < kReasons.size() ? kReasons[reason] : std::string_view{};
}

std::string_view CloseName(CloseReason reason) {
  switch (reason) {
    case CloseReason::kDisconnect: return "disconnect";
    case CloseReason::kReset: return "reset";
    case CloseReason::kRejected: return "rejected";
    case CloseReason::kSuperseded: return "superseded";
    case CloseReason::kEndOfCapture: return "end of capture";
    case CloseReason::kEvicted: return "dropped for lack of memory";
  }
  return "?";
}

}  // namespace stag::fabric
