// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/transcript.h"

#include "conformance/report/serialize.h"

namespace stag::conformance {

namespace {

enum class Record : uint8_t { kBeginFile, kFinding, kConnection, kLadder, kEndFile };

}  // namespace

TranscriptWriter::TranscriptWriter(Write write, Wants wants, const Filter& filter)
    : Reporter(std::move(write)), wants_(wants), shown_(filter(asker_)) {}

void TranscriptWriter::BeginFile(std::string_view file) {
  Reporter::BeginFile(file);
  if (wants_.ladders) {
    history_ = std::make_unique<ConnectionHistory>();
    source_ = [this](const Finding& finding) { return history_->LadderOf(finding); };
  }
  choice_ = {};
  ladders_.clear();
  Put(Pack(Record::kBeginFile, std::string(file)));
}

std::vector<session::Observer*> TranscriptWriter::Observers() {
  std::vector<session::Observer*> observers;
  if (wants_.ladders) observers.push_back(history_.get());
  if (wants_.connections) observers.push_back(&closings_);
  return observers;
}

void TranscriptWriter::Asker::OnFinding(const Finding& finding) {
  if (writer.choice_.Takes(finding)) writer.ladder_ = writer.source_(finding);
}

void TranscriptWriter::Closings::OnConnectionClosed(const session::Connection& connection, const fabric::Event&) {
  writer.OnConnection(connection);
}

void TranscriptWriter::Show(const Finding& finding) {
  ladder_.reset();
  if (wants_.ladders) shown_.OnFinding(finding);
  Put(Pack(Record::kFinding, finding, ladder_ != nullptr));
  if (ladder_) ladders_.push_back(std::move(ladder_));
}

void TranscriptWriter::OnConnection(const session::Connection& connection) {
  if (connection.proof == session::Proof::kRpcRdma) Put(Pack(Record::kConnection, connection));
}

void TranscriptWriter::EndFile(const Summary& summary, std::string_view trouble) {
  for (const auto& ladder : ladders_) Put(Pack(Record::kLadder, ladder->rows(), ladder->left_out(), ladder->beginning));
  ladders_.clear();
  history_.reset();
  Put(Pack(Record::kEndFile, summary, std::string(trouble)));
}

bool Playback::Take(std::string_view record) {
  if (record.empty()) return false;
  const auto kind = static_cast<Record>(record.front());  // a number below 128 is one byte
  record.remove_prefix(1);
  switch (kind) {
    case Record::kBeginFile: {
      std::string name;
      if (!Unpack(record, name)) return false;
      promised_.clear();
      reporter_.BeginFile(name);
      reporter_.SetLadderSource([this](const Finding&) { return ladder_; });
      return true;
    }
    case Record::kFinding: {
      Finding finding;
      bool told = false;
      if (!Unpack(record, finding, told) || !finding.rule) return false;
      ladder_ = told ? promised_.emplace_back(std::make_shared<Ladder>()) : nullptr;
      findings_.OnFinding(finding);
      return true;
    }
    case Record::kConnection: {
      session::Connection connection;
      if (!Unpack(record, connection)) return false;
      reporter_.OnConnection(connection);
      return true;
    }
    case Record::kLadder: {
      std::vector<DiagramRow> rows;
      uint64_t left_out = 0;
      auto beginning = Ladder::Beginning::kWhole;
      if (!Unpack(record, rows, left_out, beginning) || promised_.empty()) return false;
      *promised_.front() = Ladder(std::move(rows), left_out, beginning);
      promised_.pop_front();
      return true;
    }
    case Record::kEndFile: {
      Summary summary;
      std::string trouble;
      if (!Unpack(record, summary, trouble)) return false;
      reporter_.EndFile(summary, trouble);
      return true;
    }
  }
  return false;
}

}  // namespace stag::conformance
