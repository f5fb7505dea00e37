// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/summary/report_tables.h"

#include <algorithm>

#include "text/markup.h"
#include "text/put.h"

namespace stag::cli {

void PutNumberCell(std::string& out, std::string_view text, std::string_view classes) {
  Put(out, "<td class=\"number{}{}\">{}</td>", classes.empty() ? "" : " ", classes, text);
}
void PutCountCell(std::string& out, uint64_t n, bool bad) {
  PutNumberCell(out, Grouped(n), n == 0 ? "zero" : bad ? "bad" : "");
}

void BeginTable(std::string& out, std::string_view label, std::string_view heads) {
  Put(out, "<div class=\"panel\"><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">\n", label);
  Put(out, "<table class=\"rows\"><thead><tr>");
  while (!heads.empty()) {
    const std::string_view head = heads.substr(0, heads.find('|'));
    heads.remove_prefix(std::min(head.size() + 1, heads.size()));
    const bool number = head.starts_with('#'), bar = head.starts_with('=');
    Put(out, "<th scope=\"col\" class=\"{}\">{}</th>",
        number ? "number"
        : bar  ? "bar"
               : "",
        head.substr(number || bar ? 1 : 0));
  }
  Put(out, "</tr></thead><tbody>\n");
}

void EndTable(std::string& out, size_t left_out, std::string_view what, std::string_view command) {
  Put(out, "</tbody></table></div>\n");
  if (left_out > 0)
    Put(out, "<p class=\"muted\">{} left out here: <code>{}</code> has all.</p>\n", Count(left_out, what), command);
}

std::string BaseName(const std::string& name) { return name.substr(name.rfind('/') + 1); }

std::string FrameText(uint64_t number, size_t file, const std::string* name) {
  std::string out;
  Put(out, "<span class=\"frame\" data-file=\"{}\" data-frame=\"{}\">frame {}", file, number, number);
  if (name) {
    Put(out, " of <bdi>{}</bdi>", Markup(BaseName(*name)));
  }
  Put(out, "</span>");
  return out;
}

}  // namespace stag::cli
