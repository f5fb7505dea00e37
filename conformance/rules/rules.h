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
CheckFunction NoRecordMark, NoRecordMarkInLongCall, XidsAgree, XidsAgreeInLongCall, ReplyHasCall, XidIsUnique,
    OneCompletion, ErrorIsFinal, ErrorEchoesXid, NothingUnsolicited;

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
    MissingDataMeansDefaults, SettingsAreThisConnections, OwnSendSize, OwnReceiveSize, SmallSendIsTaken;

// memory.cc
CheckFunction RequesterDoesNotRead, RequesterDoesNotWrite, ResponderExposesNothing, ReadsStayInside, WritesStayInside,
    NoRdmaAfterReply, SegmentsDoNotOverlap, SegmentsDoNotWrap, EmptySegments;

// credits.cc
CheckFunction CallRequestsCredit, GrantIsNotZero, LegacyGrantIsNotZero, CallsWithinGrant, BackwardCallsWithinGrant,
    CallsWithinRequest, OneCallBeforeFirstReply, ResponderHasReceives, RequesterHasReceives;

// errors.cc
CheckFunction OnlyRespondersSendErrors, MalformedReplyIsDropped, RequesterDropsMsgp, ErrorEchoesVersion, ErrorCode,
    VersionRange, BadVersionGetsErrVers, BadHeaderGetsErrChunk, ErrorLength;

// legacy.cc
CheckFunction NoMsgp, MsgpLayout, NoDone, DoneIsNotAnswered, DoneFollowsReads, DoneIsHeaderOnly, CcpArgumentsLayout,
    CcpResultsLayout, CallFitsCcp, ReplyFitsCcp, CcpIsProtected;

// upper_layer.cc
CheckFunction ResultIsEligible, Nfs23Results, Nfs4Results, SideProtocolResults, SideProtocolWriteList,
    ProtectedCallIsWhole, ProtectedLongCallIsWhole, ProtectedReplyIsWhole, GssControlIsWhole,
    BackwardMessagesHaveNoChunks, BackchannelIsSetUp;

// surroundings.cc
CheckFunction RpcbindNetids, CallbackNetid, ServiceIdHoldsPort, ServiceIsReliable, TcpIsNotRefused, TcpWasNotRefused;

}  // namespace stag::conformance
