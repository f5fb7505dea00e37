// SPDX-License-Identifier: GPL-2.0-or-later
//
// The text of `stag check`, for people; and the sum over files that all reporters share.
#include "conformance/engine/text.h"

#include <algorithm>
#include <map>

#include "conformance/report/format.h"
#include "conformance/report/reporter.h"

namespace stag::conformance {

namespace {

// Entries that are kept for folding; a file with more (many connections with many rules broken) has the rest unfolded.
constexpr size_t kMaxEntries = 20000;
constexpr size_t kMaxFrames = 12;  // related frames shown

Style StyleOf(Severity severity) {
  return severity == Severity::kError ? Style::kError : severity == Severity::kWarning ? Style::kWarning : Style::kNote;
}

// Rule ids as "HDR 001 002 ..., XID 001", wrapped.
std::string Ids(const std::vector<const RuleInfo*>& rules) {
  std::string out;
  std::string_view group;
  for (const RuleInfo* rule : rules) {
    if (rule->group != group) {
      out.append(out.empty() ? "" : ", ").append(group = rule->group);
    }
    out.append(" ").append(rule->id.substr(group.size() + 1));
  }
  return out;
}

struct Entry {
  Finding finding;
  uint64_t repeats = 0;
  uint64_t last_frame = 0;
};

class TextReporter final : public Reporter {
 public:
  TextReporter(Write write, bool color, bool quiet) : Reporter(std::move(write)), color_(color), quiet_(quiet) {}

  void EndFile(const Summary& summary) override {
    Reporter::EndFile(summary);
    for (const Entry& entry : entries_) Print(entry);
    entries_.clear();
    index_.clear();
    ++files_;
  }

  void Finish() override {
    if (quiet_) return;
    const Summary& s = total();
    std::string out = Text(Count(count(Severity::kError), "error"), ", ", Count(count(Severity::kWarning), "warning"),
                           ", ", Count(count(Severity::kNote), "note"));
    out = Styled(out, count(Severity::kError) > 0 ? Style::kError : Style::kBold, color_);
    out.append(Text(" in ", files_ > 1 ? Text(Count(files_, "file"), ", ") : "", Count(s.frames, "frame"), ", ",
                    Count(s.connections, "connection"), ", ", Count(s.transactions, "transaction"), "\n"));
    if (s.gaps > 0 || s.truncated_frames > 0)
      out.append(Text("incomplete: ", Count(s.gaps, "gap"), ", ", Count(s.truncated_frames, "truncated frame"),
                      "; rules that need what is missing were not applied\n"));
    out.append(Text(Count(s.checked.size(), "rule"), " exercised", s.checked.empty() ? "\n" : ":\n"));
    if (!s.checked.empty()) out.append(Wrapped(Ids(s.checked), 2, 118));
    if (!s.not_exercised.empty())
      out.append(
          Text(s.not_exercised.size(), " not exercised by this traffic:\n", Wrapped(Ids(s.not_exercised), 2, 118)));
    Put(out);
  }

 protected:
  void Show(const Finding& finding) override {
    const auto [it, fresh] = index_.try_emplace({finding.connection, finding.rule}, entries_.size());
    if (!fresh && entries_[it->second].finding.severity == finding.severity) {
      Entry& entry = entries_[it->second];
      ++entry.repeats;
      entry.last_frame = finding.frame.number;
      return;
    }
    it->second = entries_.size();
    if (entries_.size() < kMaxEntries) {
      entries_.push_back({finding, 0, 0});
    } else {
      index_.erase(it);
      Print({finding, 0, 0});
    }
  }

 private:
  void Line(std::string& out, std::string_view name, std::string_view value) const {
    if (value.empty()) return;
    std::string label(name);
    label.resize(std::max<size_t>(label.size(), 15), ' ');
    out.append("    ").append(Styled(label, Style::kDim, color_)).append(Printable(value)).append("\n");
  }

  void Print(const Entry& entry) const {
    const Finding& finding = entry.finding;
    std::string out = Styled(Text(Printable(file()), ":", finding.frame.number, ":"), Style::kBold, color_);
    out.append(" ").append(
        Styled(Text(SeverityName(finding.severity), " ", finding.rule->id), StyleOf(finding.severity), color_));
    out.append(Text(": ", Printable(finding.message), "\n"));
    Line(out, "expected", finding.expected);
    Line(out, "actual", finding.actual);
    std::string spec;
    for (const std::string& s : Specifications(*finding.rule, finding.profile))
      spec.append(spec.empty() ? "" : ", ").append(s);
    Line(out, "specification", spec);
    std::string where = Text("connection ", finding.connection, ", ",
                             finding.client_to_server ? "client to server" : "server to client");
    if (finding.xid) where.append(Text(", xid ", Hex{*finding.xid}));
    Line(out, "where", where);
    std::string frames;
    for (size_t i = 0; i < finding.related_frames.size() && i < kMaxFrames; ++i)
      frames.append(Text(i ? ", " : "", finding.related_frames[i]));
    if (finding.related_frames.size() > kMaxFrames)
      frames.append(Text(", and ", finding.related_frames.size() - kMaxFrames, " more"));
    Line(out, "related frames", frames);
    std::string also;
    for (const std::string_view id : finding.see_also) also.append(also.empty() ? "" : ", ").append(id);
    Line(out, "see also", also);
    if (entry.repeats > 0)
      Line(out, "repeats", Text(entry.repeats, " more on this connection, the last in frame ", entry.last_frame));
    Put(out);
  }

  const bool color_, quiet_;
  uint64_t files_ = 0;
  std::vector<Entry> entries_;
  std::map<std::pair<fabric::ConnectionId, const RuleInfo*>, size_t> index_;
};

}  // namespace

void Summary::Add(const Summary& other) {
  frames += other.frames;
  connections += other.connections;
  transactions += other.transactions;
  gaps += other.gaps;
  truncated_frames += other.truncated_frames;
  // RuleInfo pointers are in one array, so their order is the catalogue's.
  std::vector<const RuleInfo*> both;
  std::ranges::set_union(checked, other.checked, std::back_inserter(both));
  checked.swap(both);
  both.clear();
  std::ranges::set_union(not_exercised, other.not_exercised, std::back_inserter(both));
  not_exercised.clear();
  std::ranges::set_difference(both, checked, std::back_inserter(not_exercised));
}

std::unique_ptr<Reporter> MakeTextReporter(Write write, bool color, bool quiet) {
  return std::make_unique<TextReporter>(std::move(write), color, quiet);
}

}  // namespace stag::conformance
