// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/null_verbs/works.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "tests/null_verbs/device.h"

namespace stag::null_verbs {
namespace {

Demand WantedOf(std::string_view name) {
  constexpr std::pair<std::string_view, Demand> kNames[] = {{"rnr", Demand::kRnr},
                                                            {"protection", Demand::kProtection},
                                                            {"silence", Demand::kSilence},
                                                            {"disconnect", Demand::kDisconnect},
                                                            {"removal", Demand::kRemoval}};
  for (const auto& [known, demand] : kNames)
    if (known == name) return demand;
  Stop("STAG_NULL_FAULT is rnr, protection, silence, disconnect or removal, then @ and a number");
}

// The bytes that are sent inline; those of several pieces go into `bytes`. False: the device has no room for them.
bool GatherInline(const Pair& pair, const ibv_send_wr& wr, Request& request, std::array<std::byte, kMaxInline>& bytes) {
  uint64_t length = 0;
  for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
  if (length > pair.inline_room) return false;
  request.inline_size = static_cast<uint32_t>(length);
  request.bytes = wr.num_sge == 1 ? reinterpret_cast<const std::byte*>(wr.sg_list[0].addr) : bytes.data();
  if (wr.num_sge > 1) {
    std::byte* to = bytes.data();
    for (int i = 0; i < wr.num_sge; ++i) {
      std::memcpy(to, reinterpret_cast<const void*>(wr.sg_list[i].addr), wr.sg_list[i].length);
      to += wr.sg_list[i].length;
    }
  }
  if (length == 0) request.pieces = 0;
  return true;
}

// False: the device has no such work.
bool Understand(const Pair& pair, const ibv_send_wr& wr, Request& request, std::array<std::byte, kMaxInline>& bytes) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > pair.send_pieces) return false;
  request.id = wr.wr_id;
  request.opcode = wr.opcode;
  request.flags = wr.send_flags;
  request.pieces = static_cast<uint32_t>(wr.num_sge);
  request.sge = wr.sg_list;
  switch (wr.opcode) {
    case IBV_WR_SEND: break;
    case IBV_WR_SEND_WITH_IMM: request.word = wr.imm_data; break;
    case IBV_WR_SEND_WITH_INV: request.word = wr.invalidate_rkey; break;
    case IBV_WR_RDMA_READ:
    case IBV_WR_RDMA_WRITE:
      request.handle = wr.wr.rdma.rkey;
      request.address = wr.wr.rdma.remote_addr;
      break;
    case IBV_WR_LOCAL_INV:
      request.word = wr.invalidate_rkey;
      request.pieces = 0;
      return true;
    case IBV_WR_BIND_MW:
      if (!wr.bind_mw.mw || !wr.bind_mw.bind_info.mr) return false;
      request.pieces = 0;
      request.bind = {wr.bind_mw.mw->handle << 8,           wr.bind_mw.rkey,           wr.bind_mw.bind_info.mr->lkey,
                      wr.bind_mw.bind_info.mw_access_flags, wr.bind_mw.bind_info.addr, wr.bind_mw.bind_info.length};
      return true;
    default: return false;
  }
  if (!(wr.send_flags & IBV_SEND_INLINE)) return true;
  if (wr.opcode == IBV_WR_RDMA_READ) return false;
  return GatherInline(pair, wr, request, bytes);
}

}  // namespace

void ReadDemand(NullPair& pair) {
  const char* const text = std::getenv("STAG_NULL_FAULT");
  if (!text || !*text) return;
  const std::string_view all(text);
  const size_t at = all.find('@');
  pair.demand = WantedOf(all.substr(0, at));
  pair.at = at == std::string_view::npos ? 0 : std::strtoull(text + at + 1, nullptr, 10);
  if (pair.at == 0) Stop("STAG_NULL_FAULT names the work request at which it is to happen, counted from 1");
}

int PostSend(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  NullPair& own = Of(qp);
  Pair& pair = *own.pair;
  const uint32_t state = pair.state.load();
  int error = 0;
  Demand demand = Demand::kNone;
  {
    Posting posting(pair);
    for (; wr; wr = wr->next) {
      Request request;
      std::array<std::byte, kMaxInline> bytes;
      if (state != IBV_QPS_RTS && state != IBV_QPS_ERR)
        error = EINVAL;
      else if (posting.full())
        error = ENOMEM;
      else if (!Understand(pair, *wr, request, bytes))
        error = EINVAL;
      if (error != 0) break;
      if (own.demand != Demand::kNone && ++own.works == own.at) {
        demand = own.demand;
        request.fault = demand == Demand::kRnr          ? Fault::kRnr
                        : demand == Demand::kProtection ? Fault::kProtection
                        : demand == Demand::kSilence    ? Fault::kSilence
                                                        : Fault::kNone;
      }
      posting.Add(request);
    }
  }
  *bad = wr;
  if (demand == Demand::kDisconnect) CutConnection(qp);
  if (demand == Demand::kRemoval) RemoveDevice();
  return error;
}

int PostReceive(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Pair& pair = *Of(qp).pair;
  int error = pair.state.load() == IBV_QPS_RESET ? EINVAL : 0;
  if (error == 0) {
    Giving giving(pair);
    for (; wr; wr = wr->next) {
      if (giving.full())
        error = ENOMEM;
      else if (wr->num_sge < 0 || static_cast<uint32_t>(wr->num_sge) > pair.receive_pieces)
        error = EINVAL;
      if (error != 0) break;
      giving.Add(*wr);
    }
  }
  *bad = wr;
  return error;
}

}  // namespace stag::null_verbs
