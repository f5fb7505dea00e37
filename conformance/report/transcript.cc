// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/transcript.h"

#include "conformance/report/carry.h"

namespace stag::conformance {

namespace {

enum class Record : uint8_t { kBeginFile, kFinding, kConnection, kLadder, kEndFile };

template <typename... Values>
std::string Packed(Record kind, Values... values) {
  std::string record;
  Packer packer(record);
  Carry(packer, kind);
  (Carry(packer, values), ...);
  return record;
}

// The rest of a record, which must be just these.
template <typename... Values>
bool Unpack(Unpacker& unpacker, Values&... values) {
  (Carry(unpacker, values), ...);
  return unpacker.done();
}

}  // namespace

Recorder::Recorder(Write write, Wants wants, const Filter& filter)
    : Reporter(std::move(write)), wants_(wants), shown_(filter(asker_)) {}

void Recorder::BeginFile(std::string_view file) {
  Reporter::BeginFile(file);
  if (wants_.ladders) story_ = std::make_unique<Story>();
  choice_ = {};
  ladders_.clear();
  Put(Packed(Record::kBeginFile, std::string(file)));
}

std::vector<session::Observer*> Recorder::Observers() {
  std::vector<session::Observer*> observers;
  if (wants_.ladders) observers.push_back(story_.get());
  if (wants_.connections) observers.push_back(&closings_);
  return observers;
}

void Recorder::Asker::OnFinding(const Finding& finding) {
  if (recorder.choice_.Takes(finding)) recorder.told_ = recorder.story_->Tell(finding);
}

void Recorder::Closings::OnConnectionClosed(const session::Connection& connection, const fabric::Event&) {
  recorder.OnConnection(connection);
}

void Recorder::Show(const Finding& finding) {
  told_.reset();
  if (wants_.ladders) shown_.OnFinding(finding);
  Put(Packed(Record::kFinding, finding, told_ != nullptr));
  if (told_) ladders_.push_back(std::move(told_));
}

void Recorder::OnConnection(const session::Connection& connection) {
  if (connection.proof == session::Proof::kRpcRdma) Put(Packed(Record::kConnection, connection));
}

void Recorder::EndFile(const Summary& summary, std::string_view trouble) {
  for (const auto& ladder : ladders_)
    Put(Packed(Record::kLadder, ladder->rungs(), ladder->left_out(), ladder->beginning));
  ladders_.clear();
  story_.reset();
  Put(Packed(Record::kEndFile, summary, std::string(trouble)));
}

bool Playback::Take(std::string_view record) {
  Unpacker unpacker(record);
  auto kind = Record::kEndFile;
  Carry(unpacker, kind);
  switch (kind) {
    case Record::kBeginFile: {
      std::string name;
      if (!Unpack(unpacker, name)) return false;
      promised_.clear();
      reporter_.BeginFile(name);
      reporter_.TellBy([this](const Finding&) { return ladder_; });
      return true;
    }
    case Record::kFinding: {
      Finding finding;
      bool told = false;
      if (!Unpack(unpacker, finding, told) || !finding.rule) return false;
      ladder_ = told ? promised_.emplace_back(std::make_shared<Ladder>()) : nullptr;
      findings_.OnFinding(finding);
      return true;
    }
    case Record::kConnection: {
      session::Connection connection;
      if (!Unpack(unpacker, connection)) return false;
      reporter_.OnConnection(connection);
      return true;
    }
    case Record::kLadder: {
      std::vector<Rung> rungs;
      uint64_t left_out = 0;
      auto beginning = Ladder::Beginning::kWhole;
      if (!Unpack(unpacker, rungs, left_out, beginning) || promised_.empty()) return false;
      *promised_.front() = Ladder(std::move(rungs), left_out, beginning);
      promised_.pop_front();
      return true;
    }
    case Record::kEndFile: {
      Summary summary;
      std::string trouble;
      if (!Unpack(unpacker, summary, trouble)) return false;
      reporter_.EndFile(summary, trouble);
      return true;
    }
  }
  return false;
}

}  // namespace stag::conformance
