// SPDX-License-Identifier: GPL-2.0-or-later
//
// The taps: what statistics (here, and any other listener) are given of a frame. All pointers are to records of the
// open file, or live in pinfo->pool.
#pragma once

#include "plugin/compat.h"
#include "plugin/records.h"

namespace stag::plugin {

// Tap "rpcrdma": one for each thing that a frame shows. Exactly one of the pointers after `from` is set; `of_frame`
// stands for the frame itself, once for each connection that it belongs to.
struct TapData {
  const ConnectionRecord* connection = nullptr;  // null: a finding beside the connections
  Side from = 0;
  bool of_frame = false;
  const MessageRecord* message = nullptr;
  const OperationRecord* operation = nullptr;
  const SetupRecord* setup = nullptr;
  const NoteRecord* note = nullptr;
  const FindingRecord* finding = nullptr;
};

// Tap "rpcrdma_follow": each RPC message, rebuilt.
struct FollowData {
  const ConnectionRecord* connection = nullptr;
  Side from = 0;
  tvbuff_t* message = nullptr;
};

// The tap that Wireshark makes for exporting objects gives a FileRecord.

// Registers the taps, and all that listens to them: service response times, the statistics tree, the table of
// findings, conversations and endpoints, Follow, and exported files.
void RegisterStatistics();

// Gives the records of a frame to whoever listens.
void Tap(packet_info* pinfo, const FrameRecord& frame);
void TapRpc(packet_info* pinfo, const RpcRecord& rpc, tvbuff_t* message);

// Parts of RegisterStatistics.
void RegisterResponseTimes();
void RegisterTree();
void RegisterFindingsTable();
void RegisterConversations();
// Returns the id of the tap.
int RegisterFileExport();

// The record's address as Wireshark's, pointing into it.
void SetAddress(address* to, const Address& from);

inline constexpr char kTap[] = "rpcrdma";
inline constexpr char kFollowTap[] = "rpcrdma_follow";

}  // namespace stag::plugin
