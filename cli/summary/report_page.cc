// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/report_page.h"

#include <algorithm>

#include "analysis/digest.h"
#include "cli/base/version.h"
#include "cli/summary/report_style.h"
#include "cli/summary/report_tables.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {

void ReportPage::Add(const ReportPart& part) {
  names_.push_back(part.name);
  file_rows_ += part.row;
  dropped_ += part.dropped;
  AddWrong(part.wrong);
  wrong_left_out_ += part.wrong_left_out;
  const bool drawn = pictures();
  const auto add = [drawn](std::string& section, const std::string& markup, const std::string& picture) {
    section += markup;
    if (drawn) section += picture;
  };
  any_ = any_ || part.any;
  connections_ += part.connections;
  add(latency_, part.latency, part.latency_picture);
  add(transport_, part.transport, part.transport_picture);
  limits_ += part.limits;
  add(credits_, part.credits, part.credits_picture);
  if (part.any && drawn) ++pictures_;
}

void ReportPage::AddWrong(const std::vector<Wrong>& all) {
  for (const Wrong& wrong : all) wrong_.push_back({wrong, names_.size() - 1});
  std::ranges::stable_sort(wrong_, {}, [](const Sentence& sentence) { return sentence.wrong.rank; });
  if (wrong_.size() <= kWrong) return;
  wrong_left_out_ += wrong_.size() - kWrong;
  wrong_.resize(kWrong);
}

void ReportPage::PutSentence(std::string& out, const Sentence& sentence) const {
  const Wrong& wrong = sentence.wrong;
  const std::string_view rank = RankName(wrong.rank);
  Put(out, "<li><span class=\"badge {0}\">{0}</span><span class=\"text\">", rank);
  std::string_view text = wrong.text;
  if (wrong.rule) {
    Put(out, "<a href=\"#findings\" data-filter-rule=\"{0}\">{0}</a>", wrong.rule->id);
    text.remove_prefix(wrong.rule->id.size());
  }
  PutMarkup(out, text);
  Put(out, "</span>");
  if (wrong.frame != 0) {
    Put(out, FrameText(wrong.frame, sentence.file, several_ ? &names_[sentence.file] : nullptr));
  } else if (several_) {
    Put(out, "<span class=\"frame\"><bdi>");
    PutMarkup(out, BaseName(names_[sentence.file]));
    Put(out, "</bdi></span>");
  }
  Put(out, "</li>\n");
}

void ReportPage::Finish(const About& about, conformance::HtmlBesides& page) const {
  page.title = about.title;
  page.style = ReportStyle();
  page.style_hash = analysis::SourceHash(page.style);

  std::string& out = page.first;
  Put(out, "<h2 id=\"wrong\">What is wrong</h2>\n");
  if (!any_) {
    Put(out, "<p class=\"panel\">There is no RPC-over-RDMA in the capture{}: nothing was judged.</p>\n",
        several_ ? "s" : "");
  } else if (wrong_.empty()) {
    Put(out, "<p class=\"panel fine\">Nothing that the capture{} show{}.</p>\n", several_ ? "s" : "",
        several_ ? "" : "s");
  }
  if (!wrong_.empty()) {
    Put(out, "<ol class=\"wrong panel\">\n");
    for (const Sentence& sentence : wrong_) PutSentence(out, sentence);
    Put(out, "</ol>\n");
  }
  if (wrong_left_out_ > 0)
    Put(out, "<p class=\"panel\">{} left out here: <code>stag summary</code> on each file lists all.</p>\n",
        Count(wrong_left_out_, "sentence"));
  Put(out, "<h2 id=\"about\">What was looked at</h2>\n");
  BeginTable(out, "The captures",
             {{"File", ""}, {"Size"}, {"Frames"}, {"First frame", ""}, {"Last frame", ""}, {"Lasts"}});
  Put(out, file_rows_);
  EndTable(out, 0, "", "");
  Put(out, "<dl class=\"facts\">\n<dt>Version</dt><dd>{}</dd>\n<dt>Command</dt><dd><code>", kVersionText);
  PutMarkup(out, about.command);
  Put(out, "</code></dd>\n<dt>Rules</dt><dd>");
  PutMarkup(out, about.rules);
  Put(out, "</dd>\n<dt>Dropped, or not judged</dt><dd>");
  if (dropped_.empty()) {
    Put(out, "nothing");
  } else {
    Put(out, "<ul class=\"told\">\n{}</ul>", dropped_);
  }
  Put(out, "</dd>\n</dl></div>\n");

  page.connections = connections_;
  if (names_.size() > kFiles)
    Put(page.connections,
        "<p class=\"panel\">{} left out of the sections on connections, latency, transport, limits and "
        "credits.</p>\n",
        Count(names_.size() - kFiles, "further file"));
  const auto section = [&](std::string_view id, std::string_view name, const std::string& markup) {
    if (markup.empty()) return;
    page.links.emplace_back(id, name);
    Put(page.sections, "<h2 id=\"{}\">{}</h2>\n{}", id, name, markup);
  };
  section("latency", "Latency", latency_);
  section("transport", "Transport", transport_);
  section("limits", "Limits", limits_);
  section("credits", "Credits", credits_);
}

}  // namespace stag::cli
