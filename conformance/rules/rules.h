// SPDX-License-Identifier: GPL-2.0-or-later
//
// All check functions, by file. Each is described where it is defined; checks.cc says which rule it decides.
#pragma once

#include "conformance/engine/check.h"

namespace stag::conformance {

// hdr.cc
CheckFunction HeaderIsBigEndian, HeaderHasFixedWords, HeaderVersion, HeaderProcedure, ShortMessages, ListsEndInside,
    DiscriminatorsAreBooleans, ReadEntryLayout, WriteListLayout, ReplyChunkLayout, ChunklessHeader,
    PayloadFollowsHeader, OneRpcPerCall, OneRpcPerReply, MessageType, LongCallMessageType, NoPayloadInNomsg;

// frame_xid.cc
CheckFunction NoRecordMark, NoRecordMarkInLongCall, FramingChangesBetweenMessages, XidsAgree, XidsAgreeInLongCall,
    ReplyHasCall, XidIsUnique, OneCompletion, ErrorIsFinal, OneErrorForEachCall, ErrorEchoesXid, NothingUnsolicited;

// read_list.cc
CheckFunction NoReadListInReply, PositionIsAligned, ChunkIsContiguous, PositionIsInside, PositionIsInsideLongCall,
    CountPrecedesChunk, CountPrecedesChunkInLongCall, PaddingIsExact, PaddingIsExactInLongCall, ChunkHoldsItem,
    ChunkHoldsItemInLongCall, LongCallWithChunks, NothingToPull, NothingToPullInLongCall, ArgumentIsEligible,
    ArgumentIsEligibleInLongCall, Nfs23Arguments, Nfs4Arguments, SideProtocolArguments, HeaderIsNotReduced,
    HeaderIsNotReducedInLongCall, ChunksAreRead, ReadChunkIsValid, PositionsAscend, FewReadChunks;

// write_list.cc
CheckFunction WriteListIsReturned, SegmentCountIsKept, SegmentsAreKept, ReturnedLengthFits, SegmentsFillInOrder,
    ChunkLengthIsItemLength, NoPaddingWritten, UnusedChunkIsEmpty, SegmentsWereWritten, BytesWereWritten, ChunkIsUsed,
    ReduceBeforeLong, EmptyChunkStaysEmpty, ChunksAreUsedInOrder, Nfs4ChunksPairWithOperations, WriteListIsNeeded,
    NoSpareChunks, ChunkIsLargeEnough, NoRoomForPadding, WritesPrecedeReply, NoInventedWriteList, OneItemPerChunk,
    OneChunkPerItem;

// reply_chunk.cc
CheckFunction ReplyChunkIsOffered, ReplyChunkIsLargeEnough, ReplyChunkIsNeeded, ReplyChunkIsReturned,
    ReplyChunkFillsInOrder, NoInventedReplyChunk, ReplyChunkIsUsed, ShortReplyLeavesReplyChunk, SpecialChunksArePadded,
    LongReplyFillsReplyChunk;

// long_message.cc
CheckFunction NomsgHasHolder, LongCallHasPositionZero, LongCallIsWhole, LongCallIsNotFragmented, NoPositionZeroInMsg,
    LongCallPayload, LongReplyPayload, PositionZeroIsFirst;

// connection.cc
CheckFunction ClientCallsFirst, NoRetransmissionLoop;

// private_data.cc
CheckFunction IdentifierIsBigEndian, FormatVersion, ReservedBitsAreZero, ReservedBitsAreIgnored, InvalidationIsAgreed,
    InvalidatesOwnHandle, HandlesCanBeInvalidated, PrivateDataIsWhole, CallsDoNotInvalidate;

// thresholds.cc
CheckFunction CallFitsThreshold, ReplyFitsThreshold, DefaultThreshold, LargePayloadIsLong, ThresholdIsMinimum,
    MissingDataMeansDefaults, SettingsAreThisConnections, OwnSendSize;

// memory.cc
CheckFunction RequesterDoesNotRead, RequesterDoesNotWrite, ResponderExposesNothing, ReadsStayInside, WritesStayInside,
    NoRdmaAfterReply, SegmentsDoNotOverlap, OwnSegmentsDoNotOverlap, SegmentsDoNotWrap, EmptySegments, HandlesAreFresh;

// credits.cc
CheckFunction CallRequestsCredit, GrantIsNotZero, ErrorStatesGrant, LegacyGrantIsNotZero, CallsWithinGrant,
    BackwardCallsWithinGrant, CallsWithinRequest, OneCallBeforeFirstReply, GrantIsNoCounter, ReadsWithinDepth;

// receives.cc
CheckFunction ResponderHasReceives, RequesterHasReceives, SmallSendIsTaken, OwnReceiveSize, ReceivesAreAdequate;

// errors.cc
CheckFunction OnlyRespondersSendErrors, MalformedReplyIsDropped, RequesterDropsMsgp, ErrorEchoesVersion, ErrorCode,
    VersionRange, ErrorLength, ErrorsAreNotAnswered, UnreadableErrorIsDropped;

// answers.cc
CheckFunction BadVersionGetsErrVers, BadHeaderGetsErrChunk, BadArgumentsGetGarbageArgs, FaultyCallsDoNotSucceed,
    IneligibleCallIsRefused, MissingPaddingIsSupplied, ProtectedCallHasReplyChunk;

// padding.cc
CheckFunction PaddingLeavesCall, PaddingLeavesLongCall, PaddingLeavesReply, PaddingStaysOut, PaddingStaysOutOfLongCall,
    NoPaddingSegment, NoPaddingSegmentInLongCall, InlineIsAligned, CallPaddingIsZero, ReplyPaddingIsZero;

// reduction.cc
CheckFunction CountStays, CountStaysInLongCall, CountStaysInReply, UnionIsNotReduced, UnionIsNotReducedInLongCall,
    ChunkHoldsOneItem, ChunkHoldsOneItemInLongCall, CountIsSum, CountIsSumInLongCall, ArgumentsDecode,
    LongArgumentsDecode, NothingIsLeftOver, ResultsDecode, ProgramHasBinding, ReadPlusIsWhole, FewNfs4Chunks,
    FewNfs4ChunksInLongCall;

// msgp.cc
CheckFunction NoMsgp, MsgpGetsErrChunk, MsgpLayout, MsgpPadding, MsgpAlignment;

// done.cc
CheckFunction NoDone, DoneIsNotAnswered, DoneFollowsReads, DoneIsHeaderOnly, DoneTakesCredit, GrantLeavesRoomForDone,
    DoneLeavesCredit, DoneGetsErrChunk;

// ccp.cc
CheckFunction CcpIdentity, CcpArgumentsLayout, CcpResultsLayout, CcpComesFirst, CallFitsCcp, ReplyFitsCcp,
    ReadsWithinMaximum, ZeroMaximumForbidsReads, CcpIsProtected, CcpAlignment;

// upper_layer.cc
CheckFunction ResultIsEligible, Nfs23Results, Nfs4Results, SideProtocolResults, SideProtocolWriteList,
    ProtectedCallIsWhole, ProtectedLongCallIsWhole, ProtectedReplyIsWhole, GssControlIsWhole, LongGssControlIsWhole,
    BackwardMessagesHaveNoChunks, BackchannelIsSetUp;

// surroundings.cc
CheckFunction RpcbindNetids, CallbackNetid, ServiceIdHoldsPort, ServiceIsReliable, TcpIsNotRefused, TcpWasNotRefused;

}  // namespace stag::conformance
