// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/serve/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "protocol/base/crc.h"
#include "protocol/rpcrdma/header.h"
#include "replay/serve/not_recorded.h"

namespace stag::serve {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kSamples = 64, kShown = 32, kCallHeaderAtLeast = 40;

uint64_t HashOf(Bytes key) { return uint64_t{Crc32c(0, key)} << 32 | Crc32(0, key); }

rpc::CallHeader HeaderOf(Bytes call) { return rpc::DecodeCall(call, call.size()); }

// Whether the key of a Call says what it asks for.
bool IsReadable(const rpc::CallHeader& header) {
  return header.status == ParseStatus::kOk && !header.opaque_arguments();
}

std::string Describe(const rpc::CallHeader& header, std::span<const uint32_t> operations) {
  const char* program = rpc::ProgramName(header.program, header.version);
  const char* procedure = rpc::ProcedureName(header.program, header.version, header.procedure);
  std::string text = fmt::format("{}v{} {}", program ? program : std::to_string(header.program), header.version,
                                 procedure ? procedure : std::to_string(header.procedure));
  for (size_t i = 0; i < operations.size() && i < 16; ++i) {
    const char* name = nfs::OperationName(operations[i]);
    text += (i == 0 ? " " : ",") + (name ? std::string(name) : std::to_string(operations[i]));
  }
  return text;
}

}  // namespace

// One live connection.
class RecordedService::Link final : public rpcrdma::Service {
 public:
  explicit Link(RecordedService& service) : service_(service) {}
  ~Link() override {
    if (bound_ == kNone) return;
    const std::scoped_lock lock(service_.mutex_);
    --service_.uses_[bound_].now;
  }
  void OnCall(Bytes call, rpcrdma::ServiceReply& reply) override { service_.Answer(*this, call, reply); }

  // Of groups with the same key: one with answers, if there is one. `bind`: the connection goes by its recorded one
  // from now on.
  uint32_t Choose(std::span<const uint32_t> found, bool bind) {
    std::unique_lock<std::mutex> lock;  // of uses, which are of interest as long as it is not bound
    if (bound_ == kNone) lock = std::unique_lock(service_.mutex_);
    std::vector<Use>& uses = service_.uses_;
    const auto connection = [this](uint32_t group) { return service_.groups_[group].connection; };
    uint32_t best = kNone;
    for (const uint32_t group : found) {
      if (service_.groups_[group].answers.empty()) continue;
      if (connection(group) == bound_) return group;
      if (best == kNone || (bound_ == kNone && uses[connection(group)] < uses[connection(best)])) best = group;
    }
    if (best == kNone) return found.front();
    if (bind && bound_ == kNone) {
      bound_ = connection(best);
      ++uses[bound_].now;
      ++uses[bound_].ever;
    }
    return best;
  }
  // How many answers of a group this connection got; counts one more.
  size_t Next(uint32_t group) { return given_[group]++; }

  // Whether it is the first time that the connection gets this recorded Reply.
  bool IsFirst(const recording::RecordedRpc& rpc) { return followed_.insert(&rpc).second; }

  CallKey live, recorded;  // of the Call that is answered now, and of a recorded one

 private:
  RecordedService& service_;
  uint32_t bound_ = kNone;
  std::unordered_map<uint32_t, uint32_t> given_;
  std::unordered_set<const recording::RecordedRpc*> followed_;  // by callbacks
};

RecordedService::RecordedService(const recording::Recording& recording)
    : store_(*recording.store), own_(std::make_unique<Link>(*this)), uses_(recording.connections.size()) {
  std::map<uint32_t, ProgramId> programs;
  for (const recording::RecordedRpc* rpc : recording.rpcs) {
    if (rpc->backward) continue;  // asked by the server
    if (rpc->known) {
      ProgramId& id =
          programs.try_emplace(rpc->program, ProgramId{rpc->program, rpc->version, rpc->version}).first->second;
      id.low = std::min(id.low, rpc->version);
      id.high = std::max(id.high, rpc->version);
    }
    Add(*rpc);
  }
  AddCallbacks(recording);
  std::vector<std::unique_ptr<RpcProgram>> all;
  all.reserve(programs.size());
  for (const auto& [number, id] : programs) all.push_back(std::make_unique<NotRecordedProgram>(id));
  otherwise_ = std::make_unique<RpcService>(std::move(all));
}
// Its own link counts itself out of uses_.
RecordedService::~RecordedService() { own_.reset(); }

void RecordedService::AddCallbacks(const recording::Recording& recording) {
  for (const recording::RecordedConnection& connection : recording.connections) {
    std::map<uint64_t, const recording::RecordedRpc*> replied;  // by the frames of the Replies
    for (const uint32_t i : connection.rpcs)
      if (const recording::RecordedRpc* const rpc = recording.rpcs[i]; !rpc->backward && rpc->reply_frame.number != 0)
        replied[rpc->reply_frame.number] = rpc;
    for (const uint32_t i : connection.rpcs) {
      const recording::RecordedRpc* const rpc = recording.rpcs[i];
      if (!rpc->backward || rpc->call.bytes.size() < kCallHeaderAtLeast) continue;
      const auto behind = replied.lower_bound(rpc->call_frame.number);
      if (behind != replied.begin()) callbacks_[std::prev(behind)->second].push_back(rpc);
    }
  }
}

void RecordedService::Add(const recording::RecordedRpc& rpc) {
  const bool refused = rpc.reply_form == session::ReplyForm::kError && rpc.rdma_error == rpcrdma::kErrChunk;
  const bool usable = refused || !rpc.reply.bytes.empty();
  usable ? ++answers_ : ++unusable_;
  const rpc::CallHeader header = HeaderOf(rpc.call.bytes);
  if (!IsReadable(header)) {
    if (usable) --answers_, ++unusable_;
    return;
  }
  AddTo(exact_, header, rpc, usable);
  if (root_.empty() && header.program == nfs::kNfsProgram && header.version < 4) root_ = own_->live.handle();
  if (own_->live.has_stateid()) AddTo(but_for_stateids_, header, rpc, usable);
}

void RecordedService::AddTo(Keys& keys, const rpc::CallHeader& header, const recording::RecordedRpc& rpc, bool usable) {
  const Bytes bytes = own_->live.Of(header, rpc.call.bytes, keys.stateids);
  Key* key = keys.Find(bytes, own_->recorded);
  if (!key) {
    keys.index.emplace(HashOf(bytes), static_cast<uint32_t>(keys.all.size()));
    key = &keys.all.emplace_back(Key{&rpc, {}});
  }
  auto index = std::ranges::find(key->groups, rpc.connection, [this](uint32_t g) { return groups_[g].connection; });
  if (index == key->groups.end()) {
    index = key->groups.insert(index, static_cast<uint32_t>(groups_.size()));
    groups_.push_back({rpc.connection, {}, {}});
  }
  if (usable) return groups_[*index].answers.push_back(&rpc);
  groups_[*index].why = rpc.reply_frame.number == 0 ? "it was not answered" : "its Reply was not captured whole";
}

RecordedService::Key* RecordedService::Keys::Find(Bytes key, CallKey& scratch) {
  const auto [begin, end] = index.equal_range(HashOf(key));
  for (auto it = begin; it != end; ++it) {
    const Bytes call = all[it->second].first->call.bytes;
    if (std::ranges::equal(scratch.Of(HeaderOf(call), call, stateids), key)) return &all[it->second];
  }
  return nullptr;
}

// Large items stay where they are kept.
void RecordedService::PutRecorded(const recording::RecordedMessage& recorded, rpcrdma::ServiceReply& reply) const {
  constexpr uint32_t kWorthAView = 4096;
  uint64_t at = 0;
  const auto put = [&](uint64_t end) {
    reply.message.insert(reply.message.end(), recorded.bytes.begin() + static_cast<ptrdiff_t>(at),
                         recorded.bytes.begin() + static_cast<ptrdiff_t>(end));
    at = end;
  };
  for (const recording::RecordedItem& item : recorded.items) {
    reply.items.push_back({item.offset, item.length});
    if (item.length < kWorthAView) continue;
    put(item.offset);
    const Bytes bytes = recorded.bytes.subspan(static_cast<size_t>(item.offset), item.length);
    reply.views.push_back({reply.message.size(), bytes, store_.MemoryOf(bytes)});
    at += item.length;
  }
  put(recorded.bytes.size());
}

std::unique_ptr<rpcrdma::Service> RecordedService::NewConnection() { return std::make_unique<Link>(*this); }

void RecordedService::OnCall(Bytes call, rpcrdma::ServiceReply& reply) { own_->OnCall(call, reply); }

void RecordedService::Answer(Link& link, Bytes call, rpcrdma::ServiceReply& reply) {
  const rpc::CallHeader header = HeaderOf(call);
  std::string_view why = "its arguments cannot be read";
  if (IsReadable(header)) {
    why = "no such Call";
    for (Keys* const keys : {&exact_, &but_for_stateids_}) {
      const Bytes bytes = link.live.Of(header, call, keys->stateids);
      if (keys->stateids == Stateids::kLeftOut && !link.live.has_stateid()) break;
      const Key* const key = keys->Find(bytes, link.recorded);
      if (!key) continue;
      const uint32_t group = link.Choose(key->groups, header.procedure != 0);
      if (!groups_[group].answers.empty()) return Give(link, header, group, keys->stateids, reply);
      why = groups_[group].why;
    }
  }
  Refuse(link, header, call, why, reply);
}

void RecordedService::Give(Link& link, const rpc::CallHeader& header, uint32_t group, Stateids how,
                           rpcrdma::ServiceReply& reply) {
  const std::vector<const recording::RecordedRpc*>& answers = groups_[group].answers;
  const size_t next = link.Next(group);
  const recording::RecordedRpc& rpc = *answers[std::min(next, answers.size() - 1)];
  {
    const std::scoped_lock lock(mutex_);
    ++stats_.matched;
    stats_.repeated += next >= answers.size();
    stats_.other_stateid += how == Stateids::kLeftOut;
    ++counts_[{header.program, header.version, header.procedure}].calls;
  }
  if (rpc.reply.bytes.empty()) {
    reply.refused = true;
    return;
  }
  PutRecorded(rpc.reply, reply);
  link.live.Fit(reply.message);
  const auto callbacks = callbacks_.find(&rpc);
  if (callbacks == callbacks_.end() || !link.IsFirst(rpc)) return;
  for (const recording::RecordedRpc* const callback : callbacks->second)
    reply.callbacks.emplace_back(callback->call.bytes.begin(), callback->call.bytes.end());
  const std::scoped_lock lock(mutex_);
  stats_.callbacks += callbacks->second.size();
}

void RecordedService::Refuse(Link& link, const rpc::CallHeader& header, Bytes call, std::string_view why,
                             rpcrdma::ServiceReply& reply) {
  const std::scoped_lock lock(mutex_);
  otherwise_->OnCall(call, reply);
  const bool known = header.words == 6 && header.procedure <= kLastProcedure && otherwise_->Has(header.program);
  ProcedureCounts::mapped_type& counts =
      counts_[known ? RpcService::Procedure{header.program, header.version, header.procedure}
                    : RpcService::Procedure{}];
  ++counts.calls;
  if (known && header.procedure == 0) return;  // NULL asks for nothing that would have to be recorded
  ++counts.refused;
  ++stats_.unmatched;
  const bool readable = IsReadable(header);
  const std::string kind =
      fmt::format("{}: {}",
                  header.words == 6 ? Describe(header, readable ? link.live.operations() : std::vector<uint32_t>{})
                                    : "what is no RPC Call",
                  why);
  const auto sample = samples_.find(kind);
  if (sample != samples_.end()) return void(++sample->second.times);
  if (samples_.size() >= kSamples) return;
  std::string text = kind;
  if (readable) {
    const Bytes arguments = call.subspan(header.length);
    text += fmt::format("; arguments, {} bytes: ", arguments.size());
    for (const std::byte b : arguments.first(std::min(kShown, arguments.size())))
      text += fmt::format("{:02x}", static_cast<unsigned>(b));
    if (arguments.size() > kShown) text += "...";
  }
  samples_.emplace(kind, Sample{std::move(text), 1});
}

}  // namespace stag::serve
