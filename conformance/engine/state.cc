// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/engine/state.h"

#include <algorithm>

#include "protocol/nfs/walk.h"

namespace stag::conformance {

namespace {

using session::Connection;
using session::Message;
using session::Role;
using session::Side;
using session::Transaction;

constexpr size_t kMaxComparisons = size_t{1} << 18;  // of a Call's segments with all others'; beyond it there are none
constexpr size_t kMaxAwaited = 64;

bool SpeaksCcp(const rpc::CallHeader& call) {
  return call.status == ParseStatus::kOk && rpcrdma::IsCcpProgram(call.program) && call.version == 1 &&
         call.procedure == rpcrdma::kCcpConfRdma;
}

void LearnSizes(const Transaction& t, RuleState& state) {
  rpcrdma::CcpArguments arguments;
  rpcrdma::CcpResults results;
  const Bytes call = t.call.stream, reply = t.reply.stream;
  if (t.call.rpc.length > call.size() || t.reply.rpc.length > reply.size()) return;
  if (rpcrdma::Decode(call.subspan(t.call.rpc.length), t.call.stream_length - t.call.rpc.length, arguments) ==
      ParseStatus::kOk) {
    state.ccp_reply_size = arguments.maxreply_sendsize;
    state.ccp_reads[t.requester] = arguments.maxrdmaread;
  }
  if (rpcrdma::Decode(reply.subspan(t.reply.rpc.length), t.reply.stream_length - t.reply.rpc.length, results) ==
      ParseStatus::kOk) {
    state.ccp_call_size = results.maxcall_sendsize;
    state.ccp_align = results.align;
    state.ccp_reads[1 - t.requester] = results.maxrdmaread;
  }
}

// No result of an NFSv4 COMPOUND was overlooked.
bool WasFollowed(const Transaction& t) {
  const rpc::CallHeader& call = t.call.rpc;
  const bool compound = call.words < 6 || (call.program == nfs::kNfsProgram && call.version == 4);
  return !compound || t.reply.form == session::ReplyForm::kError || t.reply.walk.status == ParseStatus::kOk;
}

// RDMA_ERROR of version 1 whose body is cut short, or whose code says nothing (RFC 8166 section 4.1.2).
bool IsUnreadableError(const Message& message) {
  const rpcrdma::Header& header = message.header;
  if (message.role != Role::kError || message.missing != fabric::Missing::kNothing) return false;
  if (header.status == ParseStatus::kMalformed) return true;
  return header.vers == rpcrdma::kVersion1 && header.status == ParseStatus::kOk && header.err != rpcrdma::kErrVers &&
         header.err != rpcrdma::kErrChunk;
}

}  // namespace

bool Wraps(const rpcrdma::Segment& segment) {
  return segment.length > 0 && segment.offset > UINT64_MAX - (segment.length - 1);
}

bool Overlap(const rpcrdma::Segment& s, const rpcrdma::Segment& t) {
  if (s.handle != t.handle || s.length == 0 || t.length == 0 || Wraps(s) || Wraps(t)) return false;
  return s.offset + (s.length - 1) >= t.offset && t.offset + (t.length - 1) >= s.offset;
}

bool Overlap(const session::SegmentRecord& a, const session::SegmentRecord& b) {
  const bool writable = a.list != session::ListKind::kReadList || b.list != session::ListKind::kReadList;
  return writable && Overlap(a.segment, b.segment);
}

bool SawResponder(const Connection& connection, const RuleState& state, const Transaction& call) {
  if (connection.disturbed || call.disturbed) return false;
  const uint64_t heard = state.heard[1 - call.requester];
  return connection.setup_seen || (heard != 0 && heard < call.call.first_frame.order());
}

uint64_t HashOf(Bytes bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte b : bytes) hash = (hash ^ std::to_integer<uint64_t>(b)) * 0x100000001b3u;
  return hash;
}

Fault FaultOf(const Message& message) {
  const rpcrdma::Header& header = message.header;
  if (message.missing == fabric::Missing::kLost) return Fault::kNone;
  if (header.words < 4) return message.length < 16 ? Fault::kShort : Fault::kNone;
  if (header.vers != rpcrdma::kVersion1) return Fault::kVersion;
  if (header.has_lists() && message.length < rpcrdma::kMinimumHeader) return Fault::kShort;
  if (header.status == ParseStatus::kMalformed) return Fault::kHeader;
  if (header.status != ParseStatus::kOk || header.proc == rpcrdma::kError || header.proc == rpcrdma::kDone)
    return Fault::kNone;
  if (header.proc == rpcrdma::kNomsg) return header.has_chunks() ? Fault::kNone : Fault::kHeader;
  if (message.payload_length == 0) return Fault::kHeader;
  if (message.payload.size() >= 4 && LoadBe32(message.payload.data()) != header.xid) return Fault::kXid;
  return Fault::kNone;
}

void RuleState::Answered(Side requester, uint32_t xid) {
  std::erase_if(awaited,
                [&](const Awaited& a) { return a.owed != Owed::kDone && a.requester == requester && a.xid == xid; });
}

void RuleState::TakeSetup(const Connection& connection) {
  using namespace fact;
  const auto facts_if = [](bool condition, Facts facts) { return condition ? facts : 0; };
  const fabric::ConnectionInfo& info = connection.info;
  const Facts common = facts_if(connection.setup_seen, kSetupSeen) | facts_if(info.roles_known, kRolesKnown) |
                       facts_if(info.rdma_hidden[0] || info.rdma_hidden[1], kRdmaHidden);
  for (const Side from : {Side{0}, Side{1}}) {
    const session::SetupData &own = connection.setup[from], &peer = connection.setup[1 - from];
    setup_facts[from] = common | facts_if(own.known(), kOwnKnown) | facts_if(own.has_data(), kOwnData) |
                        facts_if(peer.known(), kPeerKnown) | facts_if(peer.has_data(), kPeerData) |
                        facts_if(earlier_threshold[from] != 0, kEarlierThreshold);
    uint64_t& long_from = too_long_from[from] = UINT64_MAX;
    if (own.known() && own.has_data()) long_from = uint64_t{own.send_bytes()} + 1;
    if (const auto threshold = connection.threshold(from))
      long_from = earlier_threshold[from] > *threshold ? 0 : std::min(long_from, uint64_t{*threshold} + 1);
  }
}

void RuleState::Await(Owed owed, Side requester, uint32_t xid, const FrameRef& frame) {
  if (awaited.size() >= kMaxAwaited) return;
  awaited.push_back({owed, requester, xid, frame, newest_call});
  grown_ = true;
}

void RuleState::Before(const fabric::Event& event) {
  const fabric::Nak& nak = event.nak();
  refused_send = nullptr;
  refused_operation = nullptr;
  refusals.clear();
  const uint64_t frame = nak.refused.number, order = nak.refused.order();
  for (size_t i = 0; i < sends.size() && frame != 0; ++i) {
    const RecentSend& send = sends.FromEnd(i);
    if (send.from != event.from && send.begin <= order && order <= send.end) {
      refused_send = &send;
      return;
    }
  }
  for (size_t i = 0; i < operations.size(); ++i) {
    const RecentOperation& operation = operations.FromEnd(i);
    if (operation.from == event.from) continue;
    const bool same_memory = nak.length > 0 && operation.handle == nak.handle && operation.offset == nak.offset;
    if ((frame != 0 && operation.frame.number == frame) || same_memory) {
      refused_operation = &operation;
      return;
    }
  }
}

// What the message settles of what is awaited, and what becomes due with it.
void RuleState::NoteAwaited(const Message& message, const Transaction* transaction) {
  std::erase_if(awaited, [](const Awaited& a) { return a.due; });
  const bool answer = message.role == Role::kReply || message.role == Role::kError;
  if (answer && message.header.words > 0) Answered(Side(1 - message.from), message.header.xid);
  if (message.role == Role::kDone)
    std::erase_if(awaited, [&](const Awaited& a) { return a.owed == Owed::kDone && a.xid == message.header.xid; });
  if (!answer || !transaction) return;
  std::array<bool, kOwed> due{};  // one at a time, for a check has one finding to give
  for (Awaited& a : awaited) {
    if (a.requester != transaction->requester || transaction->serial <= a.newest_call) continue;
    bool& taken = due[static_cast<size_t>(a.owed)];
    a.newest_call = newest_call;
    a.due = ++a.later >= kPatience && !taken;
    taken = taken || a.due;
    overdue = overdue || a.due;
  }
}

void RuleState::Before(const Connection& connection, const Message& message, const Transaction* transaction) {
  if (message.role == Role::kCall && transaction) profiles[message.from].Before(*transaction);
  exceeds_grant = message.role == Role::kCall && transaction && !message.repeated &&
                  connection.credits[message.from].NextCallExceeds();
  exceeds_received = message.role == Role::kCall && transaction && !message.repeated && !exceeds_grant &&
                     connection.credits[message.from].NextCallExceedsReceived();
  if (message.role == Role::kReply && transaction) {
    FlowState& to = flow[transaction->requester];
    to.falling = to.granted && message.header.credit + 1 == to.grant ? to.falling + 1 : 0;
    to.granted = true;
    to.grant = message.header.credit;
  }

  if (message.role == Role::kCall && transaction) newest_call = transaction->serial;
  overdue = false;
  if (!awaited.empty()) NoteAwaited(message, transaction);

  // Evidence that both peers speak RFC 5666: it counts for the message that gives it.
  if (!transaction) return;
  const bool exchanged_private_data = connection.setup[0].has_data() && connection.setup[1].has_data();
  const bool read_read_done = message.role == Role::kDone && !transaction->reply.read_chunks.empty();
  const bool msgp_taken = message.role == Role::kReply && transaction->call.header.proc == rpcrdma::kMsgp &&
                          transaction->reply.rpc.success();
  const bool ccp = message.role == Role::kReply && SpeaksCcp(transaction->call.rpc) && transaction->reply.rpc.success();
  if (ccp) {
    LearnSizes(*transaction, *this);
    ccp_seen = true;
  }
  if (!exchanged_private_data && (read_read_done || msgp_taken || ccp)) legacy_proven = true;
}

void RuleState::After(const Connection& connection, const Message& message, const Transaction* transaction,
                      Facts facts) {
  const rpcrdma::Header& header = message.header;
  const Fault fault = FaultOf(message);
  if (!sends.full()) [[unlikely]]
    grown_ = true;
  RecentSend& send = sends.Add();
  send.frame = message.frame.number;
  send.begin = message.first_frame.order();
  send.end = message.frame.order();
  send.xid = header.xid;
  send.has_xid = header.words > 0;
  send.from = message.from;
  send.role = message.role;
  if (message.missing != fabric::Missing::kLost) send.length = message.length;
  send.short_message = fault == Fault::kShort;
  const bool reply_reads = message.role == Role::kReply && !header.reads.empty();
  send.malformed = fault == Fault::kHeader || fault == Fault::kXid || reply_reads;
  send.msgp = header.words == 4 && header.proc == rpcrdma::kMsgp;
  send.unreadable_error = IsUnreadableError(message);
  send.exceeds_grant = exceeds_grant || exceeds_received;
  send.in_order = message.role == Role::kReply && transaction;
  send.invalidates = message.invalidated.has_value();
  if (message.invalidated && transaction)
    send.invalidates_own = std::ranges::any_of(transaction->call.segments, [&](const session::SegmentRecord& s) {
      return s.segment.handle == *message.invalidated;
    });
  Heard(message.from, message.first_frame.order());

  if (header.words >= 2 && header.vers == rpcrdma::kVersion1) used_version1[message.from] = true;

  if (message.role == Role::kCall && transaction) {
    profiles[message.from].AfterCall(*transaction);
    if (fault == Fault::kHeader || fault == Fault::kXid)
      Await(Owed::kErrChunk, message.from, header.xid, message.frame);
    if (fault == Fault::kVersion) Await(Owed::kErrVers, message.from, header.xid, message.frame);
    if (fault == Fault::kNone && send.msgp) Await(Owed::kMsgpError, message.from, header.xid, message.frame);
    if (exceeds_grant || exceeds_received) flow[message.from].overrun_frame = message.frame.number;
    AddCall(message, *transaction, facts);
  }
  if (message.role == Role::kDone) {
    ++flow[message.from].dones;
    Await(Owed::kDoneError, message.from, header.xid, message.frame);
  }
  if ((message.role == Role::kReply || message.role == Role::kError) && transaction) {
    if (!transaction->backward) forward_reply = true;
    if (message.role == Role::kReply) profiles[transaction->requester].AfterReply(*transaction);
    if (message.role == Role::kError) {
      errored[transaction->requester].Add(header.xid);
      errored_call_hash[transaction->requester].Add(HashOf(transaction->call.stream));
    }
    FlowState& to = flow[transaction->requester];
    to.dones = 0;
    // Credits are those from before this message: the last one outstanding has just been answered.
    if (connection.credits[transaction->requester].outstanding <= 1) to.overrun_frame = 0;
    if (!transaction->reply.read_chunks.empty()) {
      Await(Owed::kDone, transaction->requester, header.xid, message.frame);
      ++to.unread;
      const auto call = std::ranges::find(calls, transaction, &OutstandingCall::transaction);
      if (call != calls.end()) call->answered = true;
    }
    if (std::ranges::any_of(transaction->operations, &session::Operation::backchannel)) {
      backchannel = true;
    } else if (backchannel == false && !WasFollowed(*transaction)) {
      backchannel.reset();
    }
  }
}

const OutstandingCall* RuleState::Find(const Transaction& transaction) const {
  const auto found = std::ranges::find(calls, &transaction, &OutstandingCall::transaction);
  return found == calls.end() ? nullptr : &*found;
}

void RuleState::AddCall(const Message& message, const Transaction& transaction, Facts facts) {
  if (calls.size() >= most_calls) return;
  grown_ = grown_ || calls.size() == calls.capacity();
  if (handle_counts_.empty()) [[unlikely]]
    handle_counts_.resize(kHandleCounts);
  OutstandingCall& call = calls.emplace_back();
  call.transaction = &transaction;
  call.facts = facts;
  bool known_handle = false;
  for (const session::SegmentRecord& record : transaction.call.segments) {
    uint16_t& count = HandleCount(record.segment.handle);
    known_handle = known_handle || count > 0;
    if (count < UINT16_MAX) ++count;
  }
  if (known_handle) NoteSharing(call, message.repeated);
}

void RuleState::NoteSharing(OutstandingCall& call, bool repeated) {
  const session::Reused<session::SegmentRecord>& own = call.transaction->call.segments;
  size_t all = 0;
  for (const OutstandingCall& other : calls) all += other.transaction->call.segments.size();
  if (all * own.size() > kMaxComparisons) {
    for (OutstandingCall& other : calls) other.shares_handles = true;  // it may be
    return;
  }
  for (OutstandingCall& other : calls) {
    if (&other == &call || other.transaction->requester != call.transaction->requester) continue;
    for (const session::SegmentRecord& theirs : other.transaction->call.segments)
      for (const session::SegmentRecord& mine : own) {
        if (theirs.segment.handle != mine.segment.handle) continue;
        call.shares_handles = other.shares_handles = true;
        if (repeated || !Overlap(mine.segment, theirs.segment)) continue;
        if (!Overlap(mine, theirs)) {
          call.shares_reads = other.shares_reads = true;
        } else if (other.shared_frame.number == 0) {
          other.shared_frame = call.transaction->call.frame;
          other.shared_xid = call.transaction->xid;
          other.shared_handle = theirs.segment.handle;
        }
      }
  }
}

void RuleState::Before(const session::RdmaOperation& operation) {
  const fabric::Event& event = *operation.event;
  if (event.kind() == fabric::EventKind::kReadRequest) reads[event.from].OnRequest(event, most_reads);
  if (event.kind() == fabric::EventKind::kReadResponse) reads[1 - event.from].OnResponse(event);
}

bool RuleState::LeavesSegment(const session::RdmaOperation& operation) const {
  const fabric::RdmaPacket& packet = operation.event->rdma();
  const WriteInProgress& write = writes[operation.event->from];
  return operation.event->kind() == fabric::EventKind::kWrite && !packet.first && write.inside &&
         write.handle == packet.handle && write.next == packet.offset &&
         (!operation.segment || operation.segment_offset == 0);
}

void RuleState::NoteWrite(const session::RdmaOperation& operation, Facts facts) {
  const fabric::RdmaPacket& packet = operation.event->rdma();
  WriteInProgress& write = writes[operation.event->from];
  const bool fits =
      facts == fact::kAlways || (operation.segment && operation.segment->list != session::ListKind::kReadList &&
                                 !RunsOver(operation) && !operation.retired && !LeavesSegment(operation));
  if (packet.first) write = {};
  write.outside = write.outside || !fits;
  write.inside = !write.outside;
  write.handle = packet.handle;
  write.next = packet.offset + packet.length;
  if (!operation.transaction) return;
  write.xid = operation.transaction->xid;
  write.call_frame = operation.transaction->call.frame.number;
}

void RuleState::After(const session::RdmaOperation& operation, Facts facts) {
  const fabric::Event& event = *operation.event;
  Heard(event.from, event.frame.order());
  if (event.kind() == fabric::EventKind::kWrite) NoteWrite(operation, facts);
  if (operation.transaction && operation.retired) late_serial = operation.transaction->serial;
  if (event.kind() == fabric::EventKind::kReadResponse) return;
  if (!operations.full()) [[unlikely]]
    grown_ = true;
  const fabric::RdmaPacket& packet = event.rdma();
  operations.Add({
      .frame = event.frame,
      .kind = event.kind(),
      .from = event.from,
      .handle = packet.handle,
      .offset = packet.offset,
      .length = packet.length,
      .inside = operation.segment && !operation.overrun && !operation.retired,
      .xid = operation.transaction ? operation.transaction->xid : 0,
      .call_frame = operation.transaction ? operation.transaction->call.frame.number : 0,
  });
}

void RuleState::Ended(const Transaction& transaction) {
  if (const auto call = std::ranges::find(calls, &transaction, &OutstandingCall::transaction); call != calls.end()) {
    for (const session::SegmentRecord& record : transaction.call.segments) {
      uint16_t& count = HandleCount(record.segment.handle);
      if (count > 0 && count < UINT16_MAX) --count;
    }
    calls.erase(call);
  }
  FlowState& of_requester = flow[transaction.requester];
  if (!transaction.reply.read_chunks.empty() && of_requester.unread > 0) --of_requester.unread;
  if (transaction.outcome == session::Outcome::kReissued) {
    reissued[transaction.requester].Add(transaction.xid);
    reissued_call_hash = HashOf(transaction.call.stream);
    reissued_call_frame = transaction.call.frame.number;
    Answered(transaction.requester, transaction.xid);
  }
}

void RuleState::Lost() {
  awaited.clear();
  for (FlowState& of : flow) of.granted = false, of.dones = 0;
  for (ReadQueue& queue : reads) queue.Clear();
  for (WriteInProgress& write : writes) write.inside = false;
}

}  // namespace stag::conformance
