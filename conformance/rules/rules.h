// SPDX-License-Identifier: GPL-2.0-or-later
//
// All check functions, by file. Each is described where it is defined; checks.cc says which rule it decides; the
// type of its context says what it is asked about.
#pragma once

#include "conformance/engine/check.h"

namespace stag::conformance {

// hdr.cc
Check<MessageContext> HeaderIsBigEndian, HeaderHasFixedWords, HeaderVersion, HeaderProcedure, ShortMessages,
    ListsEndInside, DiscriminatorsAreBooleans, ReadEntryLayout, WriteListLayout, ReplyChunkLayout, ChunklessHeader,
    PayloadFollowsHeader, MessageType, NoPayloadInNomsg;
Check<CallCompleteContext> OneRpcPerCall, LongCallMessageType;
Check<ReplyContext> OneRpcPerReply;

// frame_xid.cc
Check<MessageContext> NoRecordMark, XidsAgree, ErrorIsFinal;
Check<CallCompleteContext> NoRecordMarkInLongCall, XidsAgreeInLongCall;
Check<SetupContext> FramingChangesBetweenMessages;
Check<AnswerContext> ReplyHasCall, OneCompletion, NothingUnsolicited;
Check<CallContext> XidIsUnique;
Check<ErrorContext> OneErrorForEachCall, ErrorEchoesXid;

// read_list.cc
Check<AnyReplyContext> NoReadListInReply;
Check<MessageContext> PositionIsAligned, ChunkIsContiguous, PositionsAscend;
Check<CallContext> Nfs23Arguments, Nfs4Arguments, SideProtocolArguments, FewReadChunks;
Check<CallCompleteContext> LongCallWithChunks;
Check<ArgumentsContext> PositionIsInside, CountPrecedesChunk, PaddingIsExact, ChunkHoldsItem, NothingToPull,
    ArgumentIsEligible, HeaderIsNotReduced;
Check<ReplyContext> ChunksAreRead;
Check<NakContext> ReadChunkIsValid;

// write_list.cc
Check<ReplyContext> WriteListIsReturned, SegmentCountIsKept, SegmentsAreKept, ReturnedLengthFits, SegmentsFillInOrder,
    ChunkLengthIsItemLength, NoPaddingWritten, UnusedChunkIsEmpty, SegmentsWereWritten, BytesWereWritten, ChunkIsUsed,
    ReduceBeforeLong, EmptyChunkStaysEmpty, ChunksAreUsedInOrder, Nfs4ChunksPairWithOperations, NoInventedWriteList,
    OneItemPerChunk, OneChunkPerItem;
Check<CallContext> WriteListIsNeeded, NoSpareChunks, ChunkIsLargeEnough, NoRoomForPadding;
Check<WriteContext> WritesPrecedeReply;

// reply_chunk.cc
Check<CallContext> ReplyChunkIsOffered, ReplyChunkIsLargeEnough, ReplyChunkIsNeeded;
Check<ReplyContext> ReplyChunkIsReturned, ReplyChunkFillsInOrder, NoInventedReplyChunk, ReplyChunkIsUsed,
    ShortReplyLeavesReplyChunk;
Check<MessageContext> SpecialChunksArePadded;
Check<AnyReplyContext> LongReplyFillsReplyChunk;
Check<ReplyContext> ReplyChunkWasWritten;

// long_message.cc
Check<MessageContext> NomsgHasHolder, NoPositionZeroInMsg, PositionZeroIsFirst;
Check<CallContext> LongCallHasPositionZero, LongCallIsWhole;
Check<CallCompleteContext> LongCallIsNotFragmented, LongCallPayload;
Check<ReplyContext> LongReplyPayload;

// connection.cc
Check<CallContext> ClientCallsFirst;
Check<NakContext> NoRetransmissionLoop;

// private_data.cc
Check<SetupContext> IdentifierIsBigEndian, FormatVersion, ReservedBitsAreZero, PrivateDataIsWhole;
Check<ClosedContext> ReservedBitsAreIgnored;
Check<AnswerContext> InvalidationIsAgreed;
Check<MessageContext> InvalidatesOwnHandle;
Check<NakContext> HandlesCanBeInvalidated;
Check<CallContext> CallsDoNotInvalidate;

// thresholds.cc
Check<CallContext> CallFitsThreshold;
Check<AnswerContext> ReplyFitsThreshold;
Check<MessageContext> DefaultThreshold, LargePayloadIsLong, ThresholdIsMinimum, MissingDataMeansDefaults,
    SettingsAreThisConnections, OwnSendSize;

// memory.cc
Check<ReadRequestContext> RequesterDoesNotRead, ReadsStayInside;
Check<WriteContext> RequesterDoesNotWrite, WritesStayInside;
Check<ReplyContext> ResponderExposesNothing, SegmentsDoNotOverlap;
Check<RdmaContext> NoRdmaAfterReply;
Check<CallContext> OwnSegmentsDoNotOverlap, EmptySegments, HandlesAreFresh;
Check<MessageContext> SegmentsDoNotWrap;

// credits.cc
Check<CallContext> CallRequestsCredit, CallsWithinGrant, BackwardCallsWithinGrant, CallsWithinRequest,
    OneCallBeforeFirstReply;
Check<AnswerContext> GrantIsNotZero;
Check<ErrorContext> ErrorStatesGrant;
Check<ReplyContext> LegacyGrantIsNotZero, GrantIsNoCounter;
Check<ReadResponseContext> ReadsWithinDepth;

// receives.cc
Check<NakContext> ResponderHasReceives, RequesterHasReceives, SmallSendIsTaken, OwnReceiveSize, ReceivesAreAdequate;

// errors.cc
Check<ErrorContext> OnlyRespondersSendErrors, MalformedReplyIsDropped, RequesterDropsMsgp, ErrorEchoesVersion,
    ErrorCode, VersionRange, ErrorLength, UnreadableErrorIsDropped;
Check<AnswerContext> ErrorsAreNotAnswered;

// answers.cc
Check<MessageContext> BadVersionGetsErrVers, BadHeaderGetsErrChunk, BadArgumentsGetGarbageArgs;
Check<ClosedContext> BadHeaderIsNotIgnored;
Check<AnswerContext> FaultyCallsDoNotSucceed, IneligibleCallIsRefused, MissingPaddingIsSupplied,
    ProtectedCallHasReplyChunk;

// padding.cc
Check<ArgumentsContext> PaddingLeavesCall, PaddingStaysOut, NoPaddingSegment;
Check<ReplyContext> PaddingLeavesReply, ReplyPaddingIsZero;
Check<MessageContext> InlineIsAligned;
Check<CallCompleteContext> CallPaddingIsZero;

// reduction.cc
Check<ArgumentsContext> CountStays, UnionIsNotReduced, ChunkHoldsOneItem, CountIsSum, ArgumentsDecode, FewNfs4Chunks;
Check<ReplyContext> CountStaysInReply, ResultsDecode, ReadPlusIsWhole;
Check<CallCompleteContext> NothingIsLeftOver;
Check<CallContext> ProgramHasBinding;

// msgp.cc
Check<MessageContext> NoMsgp, MsgpGetsErrChunk, MsgpLayout;
Check<CallCompleteContext> MsgpPadding;
Check<CallContext> MsgpAlignment;

// done.cc
Check<MessageContext> NoDone, DoneFollowsReads, DoneIsHeaderOnly, DoneTakesCredit, DoneGetsErrChunk;
Check<ErrorContext> DoneIsNotAnswered;
Check<ReplyContext> GrantLeavesRoomForDone, DoneLeavesCredit;

// ccp.cc
Check<CallContext> CcpIdentity, CcpArgumentsLayout, CcpComesFirst, CallFitsCcp, CcpIsProtected;
Check<ReplyContext> CcpResultsLayout, ReplyFitsCcp, CcpAlignment;
Check<ReadResponseContext> ReadsWithinMaximum;
Check<MessageContext> ZeroMaximumForbidsReads;

// upper_layer.cc
Check<ReplyContext> ResultIsEligible, Nfs23Results, Nfs4Results, SideProtocolResults, ProtectedReplyIsWhole;
Check<CallContext> SideProtocolWriteList, BackchannelIsSetUp;
Check<ArgumentsContext> ProtectedCallIsWhole, GssControlIsWhole;
Check<MessageContext> BackwardMessagesHaveNoChunks;

// fabric.cc
Check<AnomalyContext> RetransmissionIsTheSame, ReadResponseIsTheSame, LengthsAddUp, OnlyWhatWasSentIsAcknowledged,
    ChecksumIsRight;
Check<RdmaContext> LengthsAreJudged;

// surroundings.cc
Check<OutOfBandContext> RpcbindNetids, ServiceIsReliable, TcpIsNotRefused;
Check<CallCompleteContext> CallbackNetid;
Check<MessageContext> ServiceIdHoldsPort;
Check<CallContext> TcpWasNotRefused;

}  // namespace stag::conformance
