// SPDX-License-Identifier: GPL-2.0-or-later
//
// The HTML report: one page that needs nothing else. Repeats of a rule by one side of a connection are one entry;
// entries, ladders and connections are bounded, so that the page is of a size that a browser likes whatever the capture
// holds, and it reports what it left out.
#include <algorithm>
#include <map>
#include <tuple>

#include "conformance/engine/text.h"
#include "conformance/report/connection_history.h"
#include "conformance/report/connection_list.h"
#include "conformance/report/documents.h"
#include "conformance/report/html_parts.h"
#include "conformance/report/ladder_choice.h"
#include "conformance/report/page/page.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::conformance {

namespace {

constexpr size_t kMaxEntries = 400, kMaxEntriesOfRule = 25;
constexpr size_t kMaxConnections = 1000, kMaxShownConnections = 100;

class HtmlReporter final : public Reporter {
 public:
  HtmlReporter(Write write, std::string_view version, const HtmlBesides* besides,
               const ConnectionHistoryOptions& history)
      : Reporter(std::move(write)), history_options_(history) {
    page_.version = version;
    page_.besides = besides;
  }

  void BeginFile(std::string_view name) override {
    Reporter::BeginFile(name);
    page_.files.push_back({std::string(name), {}, {}, {}});
    history_ = std::make_unique<ConnectionHistory>(history_options_);
    source_ = [this](const Finding& finding) { return history_->LadderOf(finding); };
    choice_ = {};
  }

  std::vector<session::Observer*> Observers() override { return {history_.get(), &list_}; }
  Wants wants() const override { return {.connections = true, .ladders = true}; }
  void OnConnection(const session::Connection& connection) override { list_.Add(connection); }
  void SetLadderSource(const LadderSource& tell) override { source_ = tell; }

  void EndFile(const Summary& summary, std::string_view trouble) override {
    Reporter::EndFile(summary, trouble);
    HtmlFile& file = page_.files.back();
    file.trouble = trouble;
    file.summary = summary;
    file.summary.rules.clear();
    for (session::Connection& connection : list_.Take()) {
      const auto found = connections_.find({page_.files.size() - 1, connection.info.id});
      page_.connections.push_back({page_.files.size() - 1, std::move(connection),
                                   found == connections_.end() ? std::array<uint64_t, 3>{} : found->second});
    }
    connections_.clear();
    history_.reset();
  }

  void Finish(const Suppressed& suppressed) override {
    page_.total = total();
    page_.counts = counts();
    page_.suppressed = suppressed;
    std::ranges::stable_sort(page_.entries, {}, [](const HtmlEntry& e) {
      return std::tuple(-static_cast<int>(e.finding.severity), e.file, e.finding.frame.number);
    });
    // All connections are known to the findings; those shown are the ones with findings first.
    std::vector<HtmlConnection> all = std::move(page_.connections);
    page_.connections_left_out = list_.left_out();
    std::stable_partition(all.begin(), all.end(),
                          [](const HtmlConnection& c) { return c.findings != std::array<uint64_t, 3>{}; });
    if (all.size() > kMaxShownConnections) {
      page_.connections_left_out += all.size() - kMaxShownConnections;
      all.resize(kMaxShownConnections);
    }
    page_.connections = std::move(all);
    WritePage();
  }

 protected:
  void Show(const Finding& finding) override {
    const std::shared_ptr<const Ladder> ladder = choice_.Takes(finding) ? source_(finding) : nullptr;
    const size_t file = page_.files.size() - 1;
    ++page_.files[file].findings[static_cast<size_t>(finding.severity)];
    if (connections_.size() < kMaxConnections || connections_.contains({file, finding.connection}))
      ++connections_[{file, finding.connection}][static_cast<size_t>(finding.severity)];
    const Key key{file, LadderChoice::KeyOf(finding)};
    if (const auto it = entries_.find(key); it != entries_.end()) {
      HtmlEntry& entry = page_.entries[it->second];
      ++entry.repeats;
      entry.last_frame = finding.frame.number;
      return;
    }
    Shown& shown = shown_[finding.rule];
    // A rule's first entry always has room.
    if (shown.entries > 0 && (page_.entries.size() >= kMaxEntries || shown.entries >= kMaxEntriesOfRule)) {
      ++page_.findings_left_out;
      return;
    }
    ++shown.entries;
    entries_[key] = page_.entries.size();
    HtmlEntry entry{file, finding, 0, 0, nullptr};
    // Of all files no more than of one.
    if (ladder &&
        (shown.ladders == 0 || (shown.ladders < LadderChoice::kMostOfRule && ladders_ < LadderChoice::kMost))) {
      entry.ladder = ladder;
      ++shown.ladders;
      ++ladders_;
    }
    page_.entries.push_back(std::move(entry));
  }

 private:
  using Key = std::pair<size_t, LadderChoice::Key>;  // what makes one entry: the file, and what repeats have in common

  struct Shown {
    size_t entries = 0, ladders = 0;
  };

  void WritePage() {
    const HtmlBesides* const besides = page_.besides;
    std::string text =
        PageBegin(page_.files.size() == 1 ? Text(page_.title(), ": ", page_.files[0].name) : std::string(page_.title()),
                  besides ? besides->style : "", besides ? besides->style_hash : "");
    AppendSummary(text, page_);
    if (besides) {
      AppendConnections(text, page_);
      text.append(besides->sections);
    }
    text.append("<h2 id=\"findings\">Findings</h2>\n");
    if (page_.entries.empty()) {
      text.append("<p class=\"panel\">None.</p>\n");
    } else {
      AppendFilter(text, page_);
    }
    Put(text);
    for (size_t i = 0; i < page_.entries.size(); ++i) {
      text.clear();
      AppendEntry(text, page_, page_.entries[i], i + 1);
      Put(text);
    }
    text.clear();
    if (page_.findings_left_out > 0)
      text.append(Text("<p class=\"panel\">", Grouped(page_.findings_left_out),
                       " further findings, on other connections, are left out of this page: <code>stag check --format "
                       "jsonl</code> lists all.</p>\n"));
    if (!besides) AppendConnections(text, page_);
    AppendRules(text, page_);
    text.append(PageEnd(Text("stag ", Markup(page_.version), ". What the capture does not show was not judged.")));
    Put(text);
  }

  HtmlPage page_;
  ConnectionList list_{kMaxConnections};
  const ConnectionHistoryOptions history_options_;
  std::unique_ptr<ConnectionHistory> history_;  // of the file, as are source_ and choice_
  LadderSource source_;
  LadderChoice choice_;
  size_t ladders_ = 0;
  std::map<const RuleInfo*, Shown> shown_;
  std::map<Key, size_t> entries_;
  std::map<std::pair<size_t, fabric::ConnectionId>, std::array<uint64_t, 3>> connections_;  // of the file: findings
};

}  // namespace

std::string PageBegin(std::string_view title, std::string_view style, std::string_view style_hash) {
  return Text(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; "
      "style-src '",
      kPageStyleHash, style.empty() ? "" : Text("' '", style_hash), "'; script-src '", kPageScriptHash, "'\">\n<title>",
      Markup(title), "</title>\n<style>", kPageStyle, "</style>\n",
      style.empty() ? "" : Text("<style>", style, "</style>\n"), "</head>\n<body>\n");
}

std::string PageEnd(std::string_view footer) {
  return Text("</main>\n<footer>", footer, "</footer>\n<script>", kPageScript, "</script>\n</body>\n</html>\n");
}

std::unique_ptr<Reporter> MakeHtmlReporter(Write write, std::string_view version, const HtmlBesides* besides,
                                           const ConnectionHistoryOptions& history) {
  return std::make_unique<HtmlReporter>(std::move(write), version, besides, history);
}

}  // namespace stag::conformance
