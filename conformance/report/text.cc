// SPDX-License-Identifier: GPL-2.0-or-later
//
// The text of `stag check`, for people; and the sum over files that all reporters share.
#include "conformance/engine/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/judged_row.h"
#include "conformance/report/reporter.h"
#include "conformance/report/severity_style.h"
#include "text/terminal.h"

namespace stag::conformance {

namespace {

// Entries that are kept for folding; a file with more (many connections with many rules broken) has the rest unfolded.
constexpr size_t kMaxFolded = 20000;
constexpr size_t kMaxShownFrames = 12;  // related frames shown

// The rules for which `text` returns something, under a heading with their number, as "HDR 001:12 002:12, XID 001:3".
template <typename Fn>
void List(std::string& out, std::string_view heading, const std::vector<RuleTally>& rules, Fn text) {
  std::string list;
  std::string_view group;
  size_t count = 0;
  for (const RuleTally& tally : rules) {
    const std::optional<std::string> item = text(tally);
    if (!item) continue;
    ++count;
    if (tally.rule->group != group) list.append(list.empty() ? "" : ", ").append(group = tally.rule->group);
    list.append(" ").append(tally.rule->id.substr(group.size() + 1)).append(*item);
  }
  if (count == 0) return;
  out.append(Text(Count(count, "rule"), heading, ":\n", Wrapped(list, 2, 118)));
}

std::optional<std::string> Exercised(const RuleTally& t) {
  if (t.exercised() == 0) return std::nullopt;
  const uint64_t failed = t[Outcome::kFail];
  return Text(":", t.exercised(), failed > 0 ? Text("(", failed, " broken)") : "");
}

std::optional<std::string> NotChecked(const RuleTally& t) {
  std::string reasons;
  for (const Outcome reason : {Outcome::kGap, Outcome::kTruncated, Outcome::kNoSetup, Outcome::kUpperLayer})
    if (t[reason] > 0) reasons.append(reasons.empty() ? "" : "; ").append(OutcomeName(reason));
  if (reasons.empty()) return std::nullopt;
  return Text(":", t.not_checked(), "(", reasons, ")");
}

std::optional<std::string> NotExercised(const RuleTally& t) {
  return t.exercised() > 0 || t.not_checked() > 0 ? std::nullopt : std::optional<std::string>("");
}

struct Entry {
  Finding finding;
  uint64_t repeats = 0;
  uint64_t last_frame = 0;
};

// The worst first: data that become wrong, then by severity; what is known to do no harm.
int HarmOf(const Finding& finding) {
  if (finding.known) return 4;
  if (!finding.rule->data.empty() && finding.severity != Severity::kNote) return 0;
  return 3 - static_cast<int>(finding.severity);
}

class TextReporter final : public Reporter {
 public:
  TextReporter(Write write, bool color, bool quiet, bool statistics)
      : Reporter(std::move(write)), color_(color), quiet_(quiet), statistics_(statistics) {}

  void EndFile(const Summary& summary, std::string_view trouble) override {
    Reporter::EndFile(summary, trouble);
    std::ranges::stable_sort(entries_, {}, [](const Entry& entry) { return HarmOf(entry.finding); });
    for (const Entry& entry : entries_) Print(entry);
    entries_.clear();
    index_.clear();
  }

  void Finish(const Suppressed& suppressed) override {
    if (quiet_ || total().files == 0) return;
    const Summary& s = total();
    std::string out;
    if (s.gaps > 0 || s.truncated_frames > 0)
      out.append(Text("incomplete: ", Count(s.gaps, "gap"), ", ", Count(s.truncated_frames, "truncated frame"),
                      "; rules that need what is missing were not applied\n"));
    if (const std::string not_judged = analysis::NotJudgedText(s.judged); !not_judged.empty())
      out.append(Text(not_judged, "\n"));
    for (const auto& [why, times] : presumed_)
      out.append(Text(Count(times, "finding"), times == 1 ? " is" : " are", " presumed: ", why, "\n"));
    if (suppressed.by_baseline + suppressed.by_list > 0)
      out.append(Text("suppressed: ", suppressed.by_baseline, " by the baseline, ", suppressed.by_list,
                      " by the list of suppressions\n"));
    if (statistics_) {
      List(out, " exercised (rule:times)", s.rules, Exercised);
      List(out, " not checked at times, for the capture shows too little", s.rules, NotChecked);
      List(out, " not exercised by this traffic", s.rules, NotExercised);
    }
    const std::string counts =
        Text(Count(count(Severity::kError), "error"), ", ", Count(count(Severity::kWarning), "warning"), ", ",
             Count(count(Severity::kNote), "note"));
    out.append(Styled(counts, count(Severity::kError) > 0 ? TextStyle::kError : TextStyle::kBold, color_));
    out.append(Text(" in ", s.files > 1 ? Text(Count(s.files, "file"), ", ") : "", Count(s.frames, "frame"), ", ",
                    Count(s.connections, "connection"), ", ", Count(s.transactions, "transaction")));
    const auto exercised = std::ranges::count_if(s.rules, [](const RuleTally& t) { return t.exercised() > 0; });
    out.append(Text("; ", exercised, " of ", Count(s.rules.size(), "rule"), " exercised"));
    if (known_ > 0) out.append(Text("; ", Count(known_, "finding"), " known to do no harm"));
    Put(out.append("\n"));
  }

 protected:
  void Show(const Finding& finding) override {
    if (finding.certainty == Certainty::kPresumed) ++presumed_[finding.unseen];
    known_ += finding.known ? 1 : 0;
    const auto [it, fresh] = index_.try_emplace({finding.connection, finding.rule}, entries_.size());
    if (!fresh && entries_[it->second].finding.severity == finding.severity &&
        entries_[it->second].finding.known == finding.known) {
      Entry& entry = entries_[it->second];
      ++entry.repeats;
      entry.last_frame = finding.frame.number;
      return;
    }
    it->second = entries_.size();
    if (entries_.size() < kMaxFolded) {
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
    out.append("    ").append(Styled(label, TextStyle::kDim, color_)).append(Printable(value)).append("\n");
  }

  void Print(const Entry& entry) const {
    const Finding& finding = entry.finding;
    std::string out = Styled(Text(Printable(file()), ":", finding.frame.number, ":"), TextStyle::kBold, color_);
    out.append(" ").append(
        Styled(Text(SeverityName(finding.severity), " ", finding.rule->id), SeverityStyle(finding.severity), color_));
    out.append(Text(": ", Printable(finding.message), "\n"));
    if (finding.certainty == Certainty::kPresumed) {
      Line(out, "presumed", finding.unseen);
    } else if (finding.proven.number != finding.frame.number) {
      out.append(Text("    ", Styled("proven by", TextStyle::kDim, color_), " frame ", finding.proven.number, "\n"));
    }
    if (finding.known) Line(out, "harmless", finding.rule->known);
    Line(out, "expected", finding.expected);
    Line(out, "actual", finding.actual);
    Line(out, "specification", fmt::format("{}", fmt::join(Specifications(*finding.rule, finding.profile), ", ")));
    std::string where = Text("connection ", finding.connection, ", ",
                             finding.client_to_server ? "client to server" : "server to client");
    if (finding.xid) where.append(Text(", xid ", Hex{*finding.xid}));
    Line(out, "where", where);
    std::string frames;
    for (size_t i = 0; i < finding.related_frames.size() && i < kMaxShownFrames; ++i)
      frames.append(Text(i ? ", " : "", finding.related_frames[i]));
    if (finding.related_frames.size() > kMaxShownFrames)
      frames.append(Text(", and ", finding.related_frames.size() - kMaxShownFrames, " more"));
    Line(out, "related frames", frames);
    Line(out, "see also", fmt::format("{}", fmt::join(finding.see_also, ", ")));
    if (entry.repeats > 0)
      Line(out, "repeats", Text(entry.repeats, " more on this connection, the last in frame ", entry.last_frame));
    Put(out);
  }

  const bool color_, quiet_, statistics_;
  std::vector<Entry> entries_;
  std::map<std::pair<fabric::ConnectionId, const RuleInfo*>, size_t> index_;
  std::map<std::string, uint64_t> presumed_;  // over all files: why, and how many
  uint64_t known_ = 0;                        // likewise, findings that do no harm
};

}  // namespace

void Summary::Add(const Summary& other) {
  files += other.files;
  frames += other.frames;
  connections += other.connections;
  transactions += other.transactions;
  gaps += other.gaps;
  truncated_frames += other.truncated_frames;
  not_judged += other.not_judged;
  judged += other.judged;
  AddTallies(rules, other.rules);
}

std::unique_ptr<Reporter> MakeTextReporter(Write write, bool color, bool quiet, bool statistics) {
  return std::make_unique<TextReporter>(std::move(write), color, quiet, statistics);
}

}  // namespace stag::conformance
