// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/endpoint/soft_iwarp_errors.h"

namespace stag::endpoint {
namespace {

struct Row {
  TerminateCode code;
  std::string_view meaning;
};

constexpr Row kRows[] = {
    {{0, 0, 0x00}, "RDMAP: local catastrophic error"},
    {kRdmapInvalidStag, "RDMAP: remote protection error, invalid STag"},
    {kRdmapOutOfBounds, "RDMAP: remote protection error, base or bounds violation"},
    {kRdmapNoAccess, "RDMAP: remote protection error, access rights violation"},
    {{0, 1, 0x03}, "RDMAP: remote protection error, STag of another connection"},
    {kRdmapWraps, "RDMAP: remote protection error, the offset wraps"},
    {kRdmapCannotInvalidate, "RDMAP: remote protection error, STag cannot be invalidated"},
    {{0, 1, 0xff}, "RDMAP: remote protection error"},
    {kRdmapVersion, "RDMAP: remote operation error, invalid version"},
    {kRdmapOpcode, "RDMAP: remote operation error, unexpected opcode"},
    {{0, 2, 0x07}, "RDMAP: remote operation error, catastrophic for the connection"},
    {{0, 2, 0x08}, "RDMAP: remote operation error, catastrophic for the device"},
    {{0, 2, 0x09}, "RDMAP: remote operation error, STag cannot be invalidated"},
    {kRdmapUnspecified, "RDMAP: remote operation error"},
    {{1, 0, 0x00}, "DDP: local catastrophic error"},
    {kTaggedInvalidStag, "DDP: tagged buffer error, invalid STag"},
    {kTaggedOutOfBounds, "DDP: tagged buffer error, base or bounds violation"},
    {{1, 1, 0x02}, "DDP: tagged buffer error, STag of another connection"},
    {kTaggedWraps, "DDP: tagged buffer error, the offset wraps"},
    {kTaggedVersion, "DDP: tagged buffer error, invalid version"},
    {kUntaggedQueue, "DDP: untagged buffer error, invalid queue number"},
    {kUntaggedNoBuffer, "DDP: untagged buffer error, no buffer available"},
    {kUntaggedSequence, "DDP: untagged buffer error, message sequence number out of range"},
    {kUntaggedOffset, "DDP: untagged buffer error, invalid message offset"},
    {kUntaggedTooLong, "DDP: untagged buffer error, message too long for the buffer"},
    {kUntaggedVersion, "DDP: untagged buffer error, invalid version"},
    {{2, 0, 0x01}, "MPA: TCP connection lost"},
    {kMpaCrc, "MPA: CRC error"},
    {kMpaLength, "MPA: marker and length disagree"},
    {{2, 0, 0x04}, "MPA: invalid set-up frame"},
    {{2, 0, 0x05}, "MPA: local catastrophic error"},
    {kMpaInsufficientIrd, "MPA: not enough inbound RDMA Reads"},
    {kMpaNoMatchingRtr, "MPA: no matching ready-to-receive indication"},
};

}  // namespace

std::string_view Meaning(const TerminateCode& code) {
  for (const Row& row : kRows)
    if (row.code == code) return row.meaning;
  return "an error that no document names";
}

}  // namespace stag::endpoint
