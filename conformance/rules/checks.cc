// SPDX-License-Identifier: GPL-2.0-or-later
//
// The table of all checks: which function decides which rule, asked about which events, and with which suspicions; for
// events without them the result is that of their class (facts.h). A rule that is not here is listed by the catalogue
// with the reason why not.
#include <algorithm>

#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

using namespace fact;
// No fact makes these fail: only events of which nothing is known beforehand (fact::kOdd) are looked at.
constexpr Facts kNothing = 0;
// Results and Write chunks do not pair one to one, or the Reply's lists are not those of its Call.
constexpr Facts kResults = kItemsOdd | kNotEchoed;

constexpr CheckEntry kChecks[] = {
    {"HDR-001", HeaderIsBigEndian, kNothing},
    {"HDR-002", HeaderHasFixedWords, kNothing},
    {"HDR-003", HeaderVersion, kNothing},
    {"HDR-004", HeaderProcedure, kNothing},
    {"HDR-005", ShortMessages, kNothing},
    {"HDR-006", ListsEndInside, kNothing},
    {"HDR-007", DiscriminatorsAreBooleans, kNothing},
    {"HDR-008", ReadEntryLayout, kNothing},
    {"HDR-009", WriteListLayout, kWritesOdd},
    {"HDR-010", ReplyChunkLayout, kReplyChunkOdd},
    {"HDR-011", ChunklessHeader, kNothing},
    {"HDR-012", PayloadFollowsHeader, kNothing},
    {"HDR-013", OneRpcPerCall, kTrailing},
    {"HDR-013", OneRpcPerReply, kTrailing},
    {"HDR-014", MessageType, kNothing},
    {"HDR-014", LongCallMessageType, kNothing},
    {"HDR-015", NoPayloadInNomsg, kPayloadOdd},

    {"FRAME-001", NoRecordMark, kNothing},
    {"FRAME-001", NoRecordMarkInLongCall, kNothing},
    {"FRAME-002", FramingChangesBetweenMessages},

    {"XID-001", XidsAgree, kNothing},
    {"XID-001", XidsAgreeInLongCall, kNothing},
    {"XID-002", ReplyHasCall, kNothing},
    {"XID-003", XidIsUnique, kNothing},
    {"XID-004", OneCompletion, kNothing},

    {"CRED-001", CallRequestsCredit, kCreditOdd},
    {"CRED-002", GrantIsNotZero, kCreditOdd},
    {"CRED-003", CallsWithinGrant, kCreditOdd},
    {"CRED-004", CallsWithinRequest, kCreditOdd},
    {"CRED-005", OneCallBeforeFirstReply, kBegins | kCreditOdd},
    {"CRED-006", GrantIsNoCounter, kCreditOdd},
    {"CRED-007", ResponderHasReceives},
    {"CRED-008", RequesterHasReceives},
    {"CRED-009", NothingUnsolicited, kNothing},
    {"CRED-010", ErrorStatesGrant, kNothing},
    {"CRED-011", LegacyGrantIsNotZero, kCreditOdd},
    {"CRED-012", ReadsWithinDepth, kNothing},

    {"THRESH-001", CallFitsThreshold, kTooLong},
    {"THRESH-002", ReplyFitsThreshold, kTooLong},
    {"THRESH-003", DefaultThreshold, kTooLong},
    {"THRESH-004", SmallSendIsTaken},
    {"THRESH-006", LargePayloadIsLong, kTooLong},

    {"MODEL-001", RequesterDoesNotRead, kNothing},
    {"MODEL-002", RequesterDoesNotWrite, kNothing},
    {"MODEL-003", ResponderExposesNothing, kNotEchoed},

    {"CONN-001", ClientCallsFirst, kBegins},
    {"CONN-002", ServiceIsReliable},
    {"CONN-005", NoRetransmissionLoop},

    {"MEM-002", ReadsStayInside, kNothing},
    {"MEM-003", WritesStayInside, kNothing},
    {"MEM-004", NoRdmaAfterReply, kNothing},
    {"MEM-005", SegmentsDoNotOverlap, kSegmentsOdd},
    {"MEM-005", OwnSegmentsDoNotOverlap, kSegmentsOdd},
    {"MEM-006", SegmentsDoNotWrap, kSegmentsOdd | kNotEchoed},
    {"MEM-007", EmptySegments, kSegmentsOdd},
    {"MEM-008", HandlesAreFresh, kSegmentsOdd},

    {"DDP-001", ArgumentIsEligible, kReadsOdd},
    {"DDP-002", ResultIsEligible, kResults},
    {"DDP-003", CountStays, kReadsOdd},
    {"DDP-003", CountStaysInReply, kResults},
    {"DDP-005", UnionIsNotReduced, kReadsOdd},
    {"DDP-007", ChunkHoldsOneItem, kReadsOdd},
    {"DDP-007", OneItemPerChunk, kResults},
    {"DDP-008", IneligibleCallIsRefused, kReadsOdd},
    {"DDP-010", ProgramHasBinding, kReadsOdd | kWritesOdd},
    {"DDP-011", ArgumentsDecode, kReadsOdd},
    {"DDP-011", ResultsDecode, kResults | kTrailing},
    {"DDP-011", NothingIsLeftOver, kReadsOdd | kTrailing},
    {"DDP-012", HeaderIsNotReduced, kReadsOdd},
    {"DDP-014", CountIsSum, kReadsOdd},

    {"RDLIST-001", NoReadListInReply, kNothing},
    {"RDLIST-002", PositionIsAligned, kReadsOdd},
    {"RDLIST-003", ChunkIsContiguous, kReadsOdd},
    {"RDLIST-004", PositionIsInside, kReadsOdd},
    {"RDLIST-005", CountPrecedesChunk, kReadsOdd},
    {"RDLIST-006", NothingToPull, kReadsOdd},
    {"RDLIST-007", ChunksAreRead, kNotRead | kReadsOdd},
    {"RDLIST-008", ReadChunkIsValid},
    {"RDLIST-009", PositionsAscend, kReadsOdd},
    {"RDLIST-010", FewReadChunks, kReadsOdd},

    {"PAD-001", PaddingLeavesCall, kReadsOdd},
    {"PAD-001", PaddingLeavesReply, kResults},
    {"PAD-002", PaddingStaysOut, kReadsOdd},
    {"PAD-003", PaddingIsExact, kReadsOdd},
    {"PAD-004", ChunkHoldsItem, kReadsOdd},
    {"PAD-005", MissingPaddingIsSupplied, kCallReads},
    {"PAD-007", NoPaddingSegment, kReadsOdd},
    {"PAD-008", InlineIsAligned, kPayloadOdd},
    {"PAD-009", ReplyPaddingIsZero, kPaddingOdd},
    {"PAD-009", CallPaddingIsZero, kPaddingOdd},

    {"WRLIST-001", WriteListIsReturned, kNotEchoed},
    {"WRLIST-002", SegmentCountIsKept, kNotEchoed},
    {"WRLIST-003", SegmentsAreKept, kNotEchoed},
    {"WRLIST-004", ReturnedLengthFits, kNotEchoed},
    {"WRLIST-005", SegmentsFillInOrder, kNotEchoed},
    {"WRLIST-006", ChunkLengthIsItemLength, kResults},
    {"WRLIST-007", NoPaddingWritten, kResults | kPaddedItem},
    {"WRLIST-008", UnusedChunkIsEmpty, kResults},
    {"WRLIST-009", SegmentsWereWritten, kNotWritten | kNotEchoed},
    {"WRLIST-010", ChunkIsUsed, kResults},
    {"WRLIST-011", EmptyChunkStaysEmpty, kNotEchoed},
    {"WRLIST-012", ChunksAreUsedInOrder, kResults},
    {"WRLIST-013", WriteListIsNeeded, kWritesOdd},
    {"WRLIST-014", NoSpareChunks, kWritesOdd},
    {"WRLIST-015", ChunkIsLargeEnough, kWritesOdd},
    {"WRLIST-016", NoRoomForPadding, kWritesOdd},
    {"WRLIST-017", WritesPrecedeReply, kNothing},
    {"WRLIST-018", BytesWereWritten, kNotWritten | kNotEchoed},
    {"WRLIST-020", NoInventedWriteList, kNotEchoed},
    {"WRLIST-021", OneItemPerChunk, kResults},
    {"WRLIST-024", OneChunkPerItem, kResults},

    {"REPLY-001", ReplyChunkIsOffered, kReplyChunkOdd},
    {"REPLY-002", ReplyChunkIsLargeEnough, kReplyChunkOdd},
    {"REPLY-003", ReplyChunkIsNeeded, kReplyChunkOdd},
    {"REPLY-004", ReplyChunkIsReturned, kNotEchoed},
    {"REPLY-005", ReplyChunkFillsInOrder, kNotEchoed},
    {"REPLY-006", NoInventedReplyChunk, kNotEchoed},
    {"REPLY-007", ReplyChunkIsUsed, kTooLong},
    {"REPLY-008", ShortReplyLeavesReplyChunk, kReplyChunkOdd | kNotEchoed},
    {"REPLY-009", ReduceBeforeLong, kResults},
    {"REPLY-010", SpecialChunksArePadded, kReplyChunkOdd | kReadsOdd | kNotEchoed},
    {"REPLY-011", LongReplyFillsReplyChunk, kReplyChunkOdd | kNotEchoed},
    {"REPLY-014", ReplyChunkWasWritten, kNotWritten | kNotEchoed},

    {"LONG-001", NomsgHasHolder, kReadsOdd | kReplyChunkOdd | kNotEchoed},
    {"LONG-002", LongCallHasPositionZero, kReadsOdd},
    {"LONG-003", LongCallIsWhole, kReadsOdd},
    {"LONG-003", LongCallIsNotFragmented, kNothing},
    {"LONG-004", NoPositionZeroInMsg, kReadsOdd},
    {"LONG-005", LongCallPayload, kNothing},
    {"LONG-005", LongReplyPayload, kNothing},
    {"LONG-006", PositionZeroIsFirst, kReadsOdd},
    {"LONG-007", LongCallWithChunks, kNothing},
    {"LONG-008", NoPayloadInNomsg, kPayloadOdd},

    {"ERR-001", OnlyRespondersSendErrors, kNothing},
    {"ERR-002", ErrorsAreNotAnswered, kNothing},
    {"ERR-003", ErrorEchoesXid, kNothing},
    {"ERR-004", ErrorEchoesVersion, kNothing},
    {"ERR-005", ErrorCode, kNothing},
    {"ERR-006", VersionRange, kNothing},
    {"ERR-007", BadVersionGetsErrVers, kNothing},
    {"ERR-008", BadHeaderGetsErrChunk, kReadsOdd},
    {"ERR-008", BadHeaderIsNotIgnored},
    {"ERR-009", MalformedReplyIsDropped, kNothing},
    {"ERR-010", ErrorLength, kNothing},
    {"ERR-011", ErrorIsFinal, kAfterError},
    {"ERR-012", UnreadableErrorIsDropped, kNothing},
    {"ERR-013", BadArgumentsGetGarbageArgs, kAfterError | kReadsOdd},
    {"ERR-014", FaultyCallsDoNotSucceed, kReadsOdd},
    {"ERR-017", OneErrorForEachCall, kNothing},

    {"MSGP-001", NoMsgp, kNothing},
    {"MSGP-002", MsgpGetsErrChunk, kNothing},
    {"MSGP-003", RequesterDropsMsgp, kNothing},
    {"MSGP-004", MsgpLayout, kNothing},
    {"MSGP-005", MsgpPadding, kNothing},
    {"MSGP-006", MsgpAlignment, kNothing},

    {"DONE-001", NoDone, kNothing},
    {"DONE-002", DoneIsNotAnswered, kNothing},
    {"DONE-003", DoneFollowsReads, kNothing},
    {"DONE-004", DoneIsHeaderOnly, kNothing},
    {"DONE-005", DoneTakesCredit, kDone | kCreditOdd},
    {"DONE-006", GrantLeavesRoomForDone, kNothing},
    {"DONE-007", DoneLeavesCredit, kDone | kCreditOdd},
    {"DONE-008", DoneGetsErrChunk, kNothing},

    {"CCP-001", CcpIdentity, kNothing},
    {"CCP-002", CcpArgumentsLayout, kNothing},
    {"CCP-003", CcpResultsLayout, kNothing},
    {"CCP-004", CcpComesFirst, kNothing},
    {"CCP-005", CallFitsCcp, kNothing},
    {"CCP-006", ReplyFitsCcp, kNothing},
    {"CCP-007", ReadsWithinMaximum, kNothing},
    {"CCP-008", ZeroMaximumForbidsReads, kNothing},
    {"CCP-009", CcpIsProtected, kNothing},
    {"CCP-010", CcpAlignment, kNothing},
    {"CCP-011", ReceivesAreAdequate},

    {"PVT-001", IdentifierIsBigEndian},
    {"PVT-002", FormatVersion},
    {"PVT-003", ReservedBitsAreZero},
    {"PVT-004", ReservedBitsAreIgnored},
    {"PVT-006", InvalidationIsAgreed, kInvalidatesOdd},
    {"PVT-007", InvalidatesOwnHandle, kInvalidatesOdd},
    {"PVT-008", HandlesCanBeInvalidated},
    {"PVT-010", ThresholdIsMinimum, kTooLong},
    {"PVT-011", MissingDataMeansDefaults, kTooLong},
    {"PVT-013", PrivateDataIsWhole},
    {"PVT-014", SettingsAreThisConnections, kTooLong},
    {"PVT-015", OwnSendSize, kTooLong},
    {"PVT-015", OwnReceiveSize},
    {"PVT-018", CallsDoNotInvalidate, kInvalidatesOdd},

    {"GSS-001", ProtectedCallIsWhole, kGss},
    {"GSS-002", ProtectedReplyIsWhole, kGss},
    {"GSS-003", GssControlIsWhole, kGss},
    {"GSS-004", ProtectedCallHasReplyChunk, kGss},
    {"GSS-006", TcpWasNotRefused, kGss},
    {"GSS-006", TcpIsNotRefused},

    {"ULB-001", Nfs23Arguments, kReadsOdd},
    {"ULB-001", Nfs23Results, kResults},
    {"ULB-002", Nfs4Arguments, kReadsOdd},
    {"ULB-002", Nfs4Results, kResults},
    {"ULB-003", ReadPlusIsWhole, kResults},
    {"ULB-004", SideProtocolArguments, kReadsOdd},
    {"ULB-004", SideProtocolResults, kResults},
    {"ULB-004", SideProtocolWriteList, kWritesOdd},
    {"ULB-005", Nfs4ChunksPairWithOperations, kResults},
    {"ULB-006", FewNfs4Chunks, kReadsOdd | kWritesOdd},

    {"NETID-001", RpcbindNetids},
    {"NETID-001", CallbackNetid, kSetclientid},
    {"NETID-003", ServiceIdHoldsPort, kBegins},

    {"BC-002", BackwardCallsWithinGrant, kBackward},
    {"BC-003", BackwardMessagesHaveNoChunks, kBackward},
    {"BC-005", BackchannelIsSetUp, kBackward},

    {"FABRIC-001", RetransmissionIsTheSame},
    {"FABRIC-002", ReadResponseIsTheSame},
    {"FABRIC-003", LengthsAddUp},
    {"FABRIC-003", LengthsAreJudged, kNothing},
    {"FABRIC-004", OnlyWhatWasSentIsAcknowledged},
    {"FABRIC-005", ChecksumIsRight},
};

constexpr NoCheckEntry kReasons[] = {
    {"CRED-013", "exempts: after a Call over the grant CRED-007, THRESH-004, PVT-015 and CCP-011 are silent"},
    {"CONN-003", "not observable: silence looks like slowness"},
    {"CONN-004", "not observable: a local event"},
    {"DDP-004", "no known binding has an optional item that is eligible"},
    {"DDP-006", "no known binding has an eligible array of anything but bytes"},
    {"EXT-001", "a rule for later versions; version 1 messages of another form are judged by the HDR rules"},
    {"EXT-002", "a rule for decoders and later versions; ERR_VERS of every version is judged by ERR-006 and ERR-010"},
    {"BC-001", "a rule for analysers: Calls and Replies are told apart by their RPC message"},
    {"BC-004", "exempts from XID-003: each direction has xids of its own"},
    {"ERR-018", "a permission of the older documents: ERR-001 and ERR-009 do not hold under them"},
    {"GSS-005", "never flagged alone: the estimates of REPLY-001, REPLY-002 and REPLY-003 make room for the verifier"},
    {"GSS-009", "a rule for decoders: headers are judged whatever protects the payload"},
    {"MEM-001", "by construction: the fields of a segment have these sizes; MEM-006 judges the sum"},
    {"MEM-010", "not observable: RDMA to memory that its own connection did not advertise is MEM-002 or MEM-003"},
    {"PAD-006", "a permission of draft-08, where WRLIST-006 accepts the padded length; elsewhere WRLIST-006 judges it"},
    {"PVT-009", "every value is valid; that what it says is true is judged by PVT-015"},
    {"PVT-012", "a rule for decoders; its effects are judged by PVT-010 and PVT-011"},
    {"PVT-016", "what it describes is judged by PVT-011 and PVT-013"},
    {"NETID-002", "exempts, never flags: any port may be chosen"},
    {"NETID-005", "exempts, never flags: any program may be carried"},
    {"THRESH-005", "a rule for analysers; a peer that goes by an earlier connection's thresholds is PVT-014"},
    {"WRLIST-019", "not observable: local behaviour"},
};

}  // namespace

std::span<const CheckEntry> Checks() { return kChecks; }
std::span<const NoCheckEntry> ReasonsForNoCheck() { return kReasons; }
std::string_view WhyNotChecked(const RuleInfo& rule) {
  const auto is_of_it = [&](const auto& entry) { return entry.id == rule.id; };
  if (std::ranges::any_of(kChecks, is_of_it)) return "";
  const auto reason = std::ranges::find_if(kReasons, is_of_it);
  if (reason != std::end(kReasons)) return reason->reason;
  if (rule.degree == "none") return "not observable";
  return rule.level == "MAY-context" ? "exempts, never flags" : "no check yet";
}

}  // namespace stag::conformance
