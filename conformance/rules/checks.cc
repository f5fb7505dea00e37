// SPDX-License-Identifier: GPL-2.0-or-later
//
// The table of all checks: which function decides which rule, asked about which events. A rule that is not here is
// listed by the catalogue with the reason why not.
#include "conformance/rules/rules.h"

namespace stag::conformance {

namespace {

constexpr Bucket kSetup = Bucket::kSetup, kMessage = Bucket::kMessage, kCall = Bucket::kCallComplete,
                 kRdma = Bucket::kRdma, kNak = Bucket::kNak, kClosed = Bucket::kClosed, kAside = Bucket::kAside;

constexpr CheckEntry kChecks[] = {
    {"HDR-001", kMessage, HeaderIsBigEndian},
    {"HDR-002", kMessage, HeaderHasFixedWords},
    {"HDR-003", kMessage, HeaderVersion},
    {"HDR-004", kMessage, HeaderProcedure},
    {"HDR-005", kMessage, ShortMessages},
    {"HDR-006", kMessage, ListsEndInside},
    {"HDR-007", kMessage, DiscriminatorsAreBooleans},
    {"HDR-008", kMessage, ReadEntryLayout},
    {"HDR-009", kMessage, WriteListLayout},
    {"HDR-010", kMessage, ReplyChunkLayout},
    {"HDR-011", kMessage, ChunklessHeader},
    {"HDR-012", kMessage, PayloadFollowsHeader},
    {"HDR-013", kCall, OneRpcPerCall},
    {"HDR-013", kMessage, OneRpcPerReply},
    {"HDR-014", kMessage, MessageType},
    {"HDR-014", kCall, LongCallMessageType},
    {"HDR-015", kMessage, NoPayloadInNomsg},

    {"FRAME-001", kMessage, NoRecordMark},
    {"FRAME-001", kCall, NoRecordMarkInLongCall},

    {"XID-001", kMessage, XidsAgree},
    {"XID-001", kCall, XidsAgreeInLongCall},
    {"XID-002", kMessage, ReplyHasCall},
    {"XID-003", kMessage, XidIsUnique},
    {"XID-004", kMessage, OneCompletion},

    {"CRED-001", kMessage, CallRequestsCredit},
    {"CRED-002", kMessage, GrantIsNotZero},
    {"CRED-003", kMessage, CallsWithinGrant},
    {"CRED-004", kMessage, CallsWithinRequest},
    {"CRED-005", kMessage, OneCallBeforeFirstReply},
    {"CRED-007", kNak, ResponderHasReceives},
    {"CRED-008", kNak, RequesterHasReceives},
    {"CRED-009", kMessage, NothingUnsolicited},
    {"CRED-011", kMessage, LegacyGrantIsNotZero},

    {"THRESH-001", kMessage, CallFitsThreshold},
    {"THRESH-002", kMessage, ReplyFitsThreshold},
    {"THRESH-003", kMessage, DefaultThreshold},
    {"THRESH-004", kNak, SmallSendIsTaken},
    {"THRESH-006", kMessage, LargePayloadIsLong},

    {"MODEL-001", kRdma, RequesterDoesNotRead},
    {"MODEL-002", kRdma, RequesterDoesNotWrite},
    {"MODEL-003", kMessage, ResponderExposesNothing},

    {"CONN-001", kMessage, ClientCallsFirst},
    {"CONN-002", kAside, ServiceIsReliable},
    {"CONN-005", kNak, NoRetransmissionLoop},

    {"MEM-002", kRdma, ReadsStayInside},
    {"MEM-003", kRdma, WritesStayInside},
    {"MEM-004", kRdma, NoRdmaAfterReply},
    {"MEM-005", kMessage, SegmentsDoNotOverlap},
    {"MEM-006", kMessage, SegmentsDoNotWrap},
    {"MEM-007", kMessage, EmptySegments},

    {"DDP-001", kMessage, ArgumentIsEligible},
    {"DDP-001", kCall, ArgumentIsEligibleInLongCall},
    {"DDP-002", kMessage, ResultIsEligible},
    {"DDP-012", kMessage, HeaderIsNotReduced},
    {"DDP-012", kCall, HeaderIsNotReducedInLongCall},

    {"RDLIST-001", kMessage, NoReadListInReply},
    {"RDLIST-002", kMessage, PositionIsAligned},
    {"RDLIST-003", kMessage, ChunkIsContiguous},
    {"RDLIST-004", kMessage, PositionIsInside},
    {"RDLIST-004", kCall, PositionIsInsideLongCall},
    {"RDLIST-005", kMessage, CountPrecedesChunk},
    {"RDLIST-005", kCall, CountPrecedesChunkInLongCall},
    {"RDLIST-006", kMessage, NothingToPull},
    {"RDLIST-006", kCall, NothingToPullInLongCall},
    {"RDLIST-007", kMessage, ChunksAreRead},
    {"RDLIST-008", kNak, ReadChunkIsValid},
    {"RDLIST-009", kMessage, PositionsAscend},
    {"RDLIST-010", kMessage, FewReadChunks},

    {"PAD-003", kMessage, PaddingIsExact},
    {"PAD-003", kCall, PaddingIsExactInLongCall},
    {"PAD-004", kMessage, ChunkHoldsItem},
    {"PAD-004", kCall, ChunkHoldsItemInLongCall},

    {"WRLIST-001", kMessage, WriteListIsReturned},
    {"WRLIST-002", kMessage, SegmentCountIsKept},
    {"WRLIST-003", kMessage, SegmentsAreKept},
    {"WRLIST-004", kMessage, ReturnedLengthFits},
    {"WRLIST-005", kMessage, SegmentsFillInOrder},
    {"WRLIST-006", kMessage, ChunkLengthIsItemLength},
    {"WRLIST-007", kMessage, NoPaddingWritten},
    {"WRLIST-008", kMessage, UnusedChunkIsEmpty},
    {"WRLIST-009", kMessage, SegmentsWereWritten},
    {"WRLIST-010", kMessage, ChunkIsUsed},
    {"WRLIST-011", kMessage, EmptyChunkStaysEmpty},
    {"WRLIST-012", kMessage, ChunksAreUsedInOrder},
    {"WRLIST-013", kMessage, WriteListIsNeeded},
    {"WRLIST-014", kMessage, NoSpareChunks},
    {"WRLIST-015", kMessage, ChunkIsLargeEnough},
    {"WRLIST-016", kMessage, NoRoomForPadding},
    {"WRLIST-017", kRdma, WritesPrecedeReply},
    {"WRLIST-018", kMessage, BytesWereWritten},
    {"WRLIST-020", kMessage, NoInventedWriteList},
    {"WRLIST-021", kMessage, OneItemPerChunk},
    {"WRLIST-024", kMessage, OneChunkPerItem},

    {"REPLY-001", kMessage, ReplyChunkIsOffered},
    {"REPLY-002", kMessage, ReplyChunkIsLargeEnough},
    {"REPLY-003", kMessage, ReplyChunkIsNeeded},
    {"REPLY-004", kMessage, ReplyChunkIsReturned},
    {"REPLY-005", kMessage, ReplyChunkFillsInOrder},
    {"REPLY-006", kMessage, NoInventedReplyChunk},
    {"REPLY-007", kMessage, ReplyChunkIsUsed},
    {"REPLY-008", kMessage, ShortReplyLeavesReplyChunk},
    {"REPLY-009", kMessage, ReduceBeforeLong},
    {"REPLY-010", kMessage, SpecialChunksArePadded},
    {"REPLY-011", kMessage, LongReplyFillsReplyChunk},

    {"LONG-001", kMessage, NomsgHasHolder},
    {"LONG-002", kMessage, LongCallHasPositionZero},
    {"LONG-003", kMessage, LongCallIsWhole},
    {"LONG-003", kCall, LongCallIsNotFragmented},
    {"LONG-004", kMessage, NoPositionZeroInMsg},
    {"LONG-005", kCall, LongCallPayload},
    {"LONG-005", kMessage, LongReplyPayload},
    {"LONG-006", kMessage, PositionZeroIsFirst},
    {"LONG-007", kCall, LongCallWithChunks},
    {"LONG-008", kMessage, NoPayloadInNomsg},

    {"ERR-001", kMessage, OnlyRespondersSendErrors},
    {"ERR-003", kMessage, ErrorEchoesXid},
    {"ERR-004", kMessage, ErrorEchoesVersion},
    {"ERR-005", kMessage, ErrorCode},
    {"ERR-006", kMessage, VersionRange},
    {"ERR-007", kMessage, BadVersionGetsErrVers},
    {"ERR-008", kMessage, BadHeaderGetsErrChunk},
    {"ERR-009", kMessage, MalformedReplyIsDropped},
    {"ERR-010", kMessage, ErrorLength},
    {"ERR-011", kMessage, ErrorIsFinal},

    {"MSGP-001", kMessage, NoMsgp},
    {"MSGP-003", kMessage, RequesterDropsMsgp},
    {"MSGP-004", kMessage, MsgpLayout},

    {"DONE-001", kMessage, NoDone},
    {"DONE-002", kMessage, DoneIsNotAnswered},
    {"DONE-003", kMessage, DoneFollowsReads},
    {"DONE-004", kMessage, DoneIsHeaderOnly},

    {"CCP-002", kMessage, CcpArgumentsLayout},
    {"CCP-003", kMessage, CcpResultsLayout},
    {"CCP-005", kMessage, CallFitsCcp},
    {"CCP-006", kMessage, ReplyFitsCcp},
    {"CCP-009", kMessage, CcpIsProtected},

    {"PVT-001", kSetup, IdentifierIsBigEndian},
    {"PVT-002", kSetup, FormatVersion},
    {"PVT-003", kSetup, ReservedBitsAreZero},
    {"PVT-004", kClosed, ReservedBitsAreIgnored},
    {"PVT-006", kMessage, InvalidationIsAgreed},
    {"PVT-007", kMessage, InvalidatesOwnHandle},
    {"PVT-008", kNak, HandlesCanBeInvalidated},
    {"PVT-010", kMessage, ThresholdIsMinimum},
    {"PVT-011", kMessage, MissingDataMeansDefaults},
    {"PVT-013", kSetup, PrivateDataIsWhole},
    {"PVT-014", kMessage, SettingsAreThisConnections},
    {"PVT-015", kMessage, OwnSendSize},
    {"PVT-015", kNak, OwnReceiveSize},
    {"PVT-018", kMessage, CallsDoNotInvalidate},

    {"GSS-001", kMessage, ProtectedCallIsWhole},
    {"GSS-001", kCall, ProtectedLongCallIsWhole},
    {"GSS-002", kMessage, ProtectedReplyIsWhole},
    {"GSS-003", kMessage, GssControlIsWhole},
    {"GSS-006", kMessage, TcpWasNotRefused},
    {"GSS-006", kAside, TcpIsNotRefused},

    {"ULB-001", kMessage, Nfs23Arguments},
    {"ULB-001", kMessage, Nfs23Results},
    {"ULB-002", kMessage, Nfs4Arguments},
    {"ULB-002", kMessage, Nfs4Results},
    {"ULB-004", kMessage, SideProtocolArguments},
    {"ULB-004", kMessage, SideProtocolResults},
    {"ULB-004", kMessage, SideProtocolWriteList},
    {"ULB-005", kMessage, Nfs4ChunksPairWithOperations},

    {"NETID-001", kAside, RpcbindNetids},
    {"NETID-001", kCall, CallbackNetid},
    {"NETID-003", kMessage, ServiceIdHoldsPort},

    {"BC-002", kMessage, BackwardCallsWithinGrant},
    {"BC-003", kMessage, BackwardMessagesHaveNoChunks},
    {"BC-005", kMessage, BackchannelIsSetUp},
};

constexpr NoCheckEntry kReasons[] = {
    {"FRAME-002", "not observable: streams that change to RDMA mode after RPC traffic are not followed"},
    {"CONN-003", "not observable: silence looks like slowness"},
    {"CONN-004", "not observable: a local event"},
    {"PVT-009", "every value is valid; that what it says is true is judged by PVT-015"},
    {"PVT-012", "a rule for decoders; its effects are judged by PVT-010 and PVT-011"},
    {"PVT-016", "what it describes is judged by PVT-011 and PVT-013"},
    {"NETID-002", "exempts, never flags: any port may be chosen"},
    {"NETID-005", "exempts, never flags: any program may be carried"},
    {"WRLIST-019", "not observable: local behaviour"},
};

}  // namespace

std::span<const CheckEntry> Checks() { return kChecks; }
std::span<const NoCheckEntry> ReasonsForNoCheck() { return kReasons; }

}  // namespace stag::conformance
