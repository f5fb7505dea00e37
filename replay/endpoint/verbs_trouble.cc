// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/verbs_trouble.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>

#include "replay/endpoint/system.h"

namespace stag::endpoint {
namespace {

using Kind = Trouble::Kind;

const char* Name(Work work) {
  switch (work) {
    case Work::kSend: return "a Send";
    case Work::kReceive: return "a receive";
    case Work::kRead: return "an RDMA Read";
    case Work::kWrite: return "an RDMA Write";
  }
  return "work";
}

// Reasons of a CM REJ (IBA section 12.6.7.2) that people meet.
std::string RejectReason(int reason) {
  switch (reason) {
    case 1: return "it has no queue pair left";
    case 2: return "it has no end-to-end context left";
    case 3: return "it has no resources left";
    case 4: return "it gave up waiting for this side";
    case 8: return "nothing listens there";
    case 10: return "its connection was stale";
    case 28: return "its program refused";
    default: return fmt::format("CM REJ reason {}", reason);
  }
}

}  // namespace

Trouble TroubleOfWork(ibv_wc_status status, Work work, bool iwarp) {
  const auto say = [&](Kind kind, std::string_view what) {
    return Trouble{kind, fmt::format("{} {}", Name(work), what)};
  };
  switch (status) {
    case IBV_WC_SUCCESS:
    case IBV_WC_WR_FLUSH_ERR: return {};
    case IBV_WC_REM_ACCESS_ERR:
      return say(Kind::kRemoteAccess,
                 "was refused: the peer's memory may not be accessed so (handle, range or direction)");
    case IBV_WC_RNR_RETRY_EXC_ERR: return say(Kind::kNoReceive, "came to a peer that had no receive posted (RNR)");
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR: return say(Kind::kPeerVanished, "was not acknowledged by the peer in time");
    case IBV_WC_REM_OP_ERR:
      // A device that speaks iWARP has no other word for the peer's Terminate.
      return say(Kind::kRemoteError,
                 iwarp ? "was ended by the peer's Terminate" : "failed at the peer (remote operation error)");
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR: return say(Kind::kRemoteError, "was refused by the peer as an invalid request");
    case IBV_WC_REM_ABORT_ERR: return say(Kind::kRemoteError, "was aborted by the peer");
    case IBV_WC_BAD_RESP_ERR: return say(Kind::kPeerProtocol, "got a response that makes no sense");
    default: return say(Kind::kLocal, fmt::format("failed in this machine's device ({})", ibv_wc_status_str(status)));
  }
}

Trouble TroubleOfWindow(ibv_wc_status status) {
  if (status == IBV_WC_WR_FLUSH_ERR) return {};
  return {Kind::kLocal,
          fmt::format("a memory window could not be bound or invalidated ({})", ibv_wc_status_str(status))};
}

std::optional<fabric::NakKind> NakOf(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_REM_ACCESS_ERR: return fabric::NakKind::kRemoteAccess;
    case IBV_WC_RNR_RETRY_EXC_ERR: return fabric::NakKind::kRnr;
    case IBV_WC_REM_OP_ERR: return fabric::NakKind::kRemoteOperation;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_INV_RD_REQ_ERR: return fabric::NakKind::kInvalidRequest;
    default: return std::nullopt;
  }
}

Trouble TroubleOfReceive(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
    case IBV_WC_WR_FLUSH_ERR: return {};
    case IBV_WC_LOC_LEN_ERR:
      return {Kind::kPeerProtocol, "the peer sent a message longer than the receives that are posted"};
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
      return {Kind::kLocalAccess, "the peer was refused access to memory of this side (handle, range or direction)"};
    case IBV_WC_REM_INV_REQ_ERR: return {Kind::kPeerProtocol, "the peer sent an invalid request"};
    default:
      return {Kind::kLocal, fmt::format("a receive failed in this machine's device ({})", ibv_wc_status_str(status))};
  }
}

Trouble TroubleOfEvent(ibv_event_type event) {
  switch (event) {
    case IBV_EVENT_QP_ACCESS_ERR:
      return {Kind::kLocalAccess, "the peer was refused access to memory of this side (handle, range or direction)"};
    case IBV_EVENT_QP_REQ_ERR: return {Kind::kPeerProtocol, "the peer sent an invalid request"};
    case IBV_EVENT_QP_FATAL: return {Kind::kLocal, "the queue pair failed in this machine's device"};
    case IBV_EVENT_DEVICE_FATAL: return {Kind::kLocal, "the RDMA device failed"};
    case IBV_EVENT_CQ_ERR: return {Kind::kLocal, "the completion queue ran over"};
    default: return {};
  }
}

std::string WhyNotConnected(rdma_cm_event_type event, int status, Bytes private_data, bool iwarp) {
  // Zeros pad the private data of InfiniBand's messages.
  size_t size = private_data.size();
  while (size > 0 && private_data[size - 1] == std::byte{0}) --size;
  const std::string said = size == 0 ? std::string() : ", private data " + Hex(private_data.first(size));
  switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return status == -ENODEV ? "no RDMA device reaches it" : "no RDMA device reaches it: " + ErrorText(-status);
    case RDMA_CM_EVENT_ROUTE_ERROR: return "there is no route: " + ErrorText(status < 0 ? -status : status);
    case RDMA_CM_EVENT_UNREACHABLE: return "no answer in time";
    case RDMA_CM_EVENT_REJECTED:
      if (status == -ECONNREFUSED)
        return size == 0 ? "nothing listens there (connection refused)" : "it rejected the connection" + said;
      if (iwarp || status <= 0)
        return "it rejected the connection" + (status < 0 ? " (" + ErrorText(-status) + ")" : std::string()) + said;
      return fmt::format("it rejected the connection: {}{}", RejectReason(status), said);
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return "the RDMA device was removed";
    default: return fmt::format("{}{}", rdma_event_str(event), status < 0 ? ": " + ErrorText(-status) : std::string());
  }
}

std::string WhyNoMemory(size_t bytes, int error) {
  rlimit limit{};
  if (error == ENOMEM && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return fmt::format(
        "cannot register {} bytes: at most {} KiB may be locked (ulimit -l); raise the limit, or give "
        "this program CAP_IPC_LOCK",
        bytes, limit.rlim_cur / 1024);
  return fmt::format("cannot register {} bytes: {}", bytes, ErrorText(error));
}

std::string WhyNoChannel(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV: return "there is no RDMA connection manager: load the kernel module rdma_ucm";
    case EACCES:
    case EPERM: return "no permission to open /dev/infiniband/rdma_cm";
    default: return "no connection manager channel: " + ErrorText(error);
  }
}

}  // namespace stag::endpoint
