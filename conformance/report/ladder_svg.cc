// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/ladder_svg.h"

#include "conformance/engine/text.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::conformance {

namespace {

using Kind = DiagramEvent::Kind;

// Places in the picture.
constexpr int kWidth = 1000, kFrameEnd = 92, kTimeEnd = 178, kClient = 200, kServer = 852, kMarkStart = 868;
constexpr int kMiddle = (kClient + kServer) / 2, kHeadHeight = 34, kLineHeight = 15;
constexpr size_t kDetailColumns = 104;  // letters that fit between the lines

bool IsEvent(Kind kind) { return kind == Kind::kGap || kind == Kind::kClosed; }

std::string Title(const DiagramRow& row) {
  if (row.folded_from == 0) return EventTitle(row.event);
  return Text(Grouped(row.folded), " more RDMA ", row.event.kind == Kind::kWrite ? "Write" : "Read",
              row.folded == 1 ? "" : "s", ", ", ByteCount(row.folded_bytes));
}

std::string Detail(const DiagramRow& row) { return row.folded_from == 0 ? EventDetail(row.event) : ""; }

// By Mark, and by Ladder::Beginning.
constexpr std::string_view kMarkTexts[] = {"", "related", "breaks the rule", "proves it"},
                           kMarkStyles[] = {"", " related", " offending", " proof"},
                           kBeginnings[] = {"", "What came before was not remembered: the connection was too busy.",
                                            "The capture has no Call to this."};
std::string_view MarkText(Mark mark) { return kMarkTexts[static_cast<size_t>(mark)]; }

// "17", "17\u201319" of several packets, and of a fold.
std::string Frames(const DiagramRow& row) {
  const uint64_t first = row.folded_from ? row.folded_from : row.event.first_frame, last = row.event.frame.number;
  return first == last ? Text(last) : Text(first, "\u2013", last);
}

// "+0.000 ms", since the first row.
std::string Elapsed(const Ladder& ladder, const DiagramRow& row) {
  const int64_t ns = row.event.frame.time_ns - ladder.rows().front().event.frame.time_ns;
  const uint64_t us = static_cast<uint64_t>(ns < 0 ? -ns : ns) / 1000;
  const std::string rest = std::to_string(us % 1000);
  return Text(ns < 0 ? "\u2212" : "+", Grouped(us / 1000), ".", std::string(3 - rest.size(), '0'), rest, " ms");
}

// Lines of at most kDetailColumns letters, broken after commas; at most two.
std::vector<std::string> DetailLines(const DiagramRow& row) {
  const std::string detail = Detail(row);
  std::string_view rest = detail;
  std::vector<std::string> lines;
  while (!rest.empty()) {
    if (lines.size() == 2) {
      lines.back().append(" ...");
      break;
    }
    size_t end = rest.size();
    if (end > kDetailColumns) {
      const size_t comma = rest.rfind(", ", kDetailColumns - 2);
      end = comma == std::string_view::npos ? kDetailColumns : comma + 1;
    }
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
  }
  return lines;
}

std::string_view WayText(const DiagramEvent& entry) {
  if (entry.kind == Kind::kClosed) return "";
  return entry.client_to_server ? "client to server" : "server to client";
}

void AppendText(std::string& out, int x, int y, std::string_view anchor, std::string_view style,
                std::string_view text) {
  out.append(Text("<text x=\"", x, "\" y=\"", y, "\"", anchor.empty() ? "" : Text(" text-anchor=\"", anchor, "\""),
                  " class=\"", style, "\">", Markup(text), "</text>"));
}

// The entry itself, at height y.
void AppendArrow(std::string& out, const DiagramEvent& entry, int y) {
  if (IsEvent(entry.kind)) {
    out.append(Text("<path class=\"line\" d=\"M", kClient, " ", y, "H", kServer, "\"/>"));
    return;
  }
  const int from = entry.client_to_server ? kClient : kServer, to = entry.client_to_server ? kServer : kClient;
  const int back = entry.client_to_server ? -11 : 11;
  out.append(Text("<path class=\"line\" d=\"M", from, " ", y, "H", to + back, "\"/><path class=\"head\" d=\"M", to, " ",
                  y, "l", back, " -5.5v11z\"/>"));
  if (entry.kind == Kind::kNak)  // a cross on the line, too
    out.append(Text("<path class=\"line\" d=\"M", from - 2 * back - 6, " ", y - 6, "l12 12m0 -12l-12 12\"/>"));
}

std::string Description(const Ladder& ladder) {
  std::string out = Count(ladder.rows().size(), "step");
  out.append(".");
  for (const DiagramRow& row : ladder.rows()) {
    if (row.mark != Mark::kOffending && row.mark != Mark::kProof) continue;
    const std::string_view way = WayText(row.event);
    out.append(
        Text(" Frame ", Frames(row), way.empty() ? "" : ", ", way, ", ", MarkText(row.mark), ": ", Title(row), "."));
  }
  return out;
}

std::string_view BeginningText(const Ladder& ladder) { return kBeginnings[static_cast<size_t>(ladder.beginning)]; }

std::string EndText(const Ladder& ladder) {
  return ladder.left_out() > 0 ? Text(Grouped(ladder.left_out()), " further steps are left out.") : "";
}

}  // namespace

void AppendLadderSvg(std::string& out, const Ladder& ladder, std::string_view id, std::string_view title,
                     std::string_view client, std::string_view server) {
  std::string bands, body;
  int y = kHeadHeight + 12;
  const auto remark = [&](std::string_view text) {
    if (text.empty()) return;
    AppendText(body, kMiddle, y + 12, "middle", "more", text);
    y += 26;
  };
  remark(BeginningText(ladder));
  for (const DiagramRow& row : ladder.rows()) {
    const std::vector<std::string> details = DetailLines(row);
    const int line = y + 24, height = 36 + kLineHeight * static_cast<int>(details.size());
    const std::string_view mark = kMarkStyles[static_cast<size_t>(row.mark)];
    if (!mark.empty())
      bands.append(Text("<rect class=\"band", mark, "\" x=\"2\" y=\"", y + 1, "\" width=\"", kWidth - 4, "\" height=\"",
                        height - 2, "\" rx=\"6\"/>"));
    body.append(Text("<g class=\"",
                     IsRdma(row.event.kind)    ? "rdma"
                     : IsEvent(row.event.kind) ? "event"
                                               : "send",
                     row.folded_from != 0 ? " fold" : "", mark, "\">"));
    AppendText(body, kFrameEnd, line + 4, "end", "frame", Frames(row));
    AppendText(body, kTimeEnd, line + 4, "end", "time", Elapsed(ladder, row));
    AppendArrow(body, row.event, line);
    AppendText(body, kMiddle, line - 7, "middle", "name", Title(row));
    for (size_t i = 0; i < details.size(); ++i)
      AppendText(body, kMiddle, line + kLineHeight * static_cast<int>(i + 1), "middle", "more", details[i]);
    if (row.mark != Mark::kNone)
      AppendText(body, kMarkStart, line + 4, "", "mark",
                 Text(row.mark == Mark::kOffending ? "\u2718 "
                      : row.mark == Mark::kProof   ? "\u2713 "
                                                   : "\u2022 ",
                      MarkText(row.mark)));
    body.append("</g>\n");
    y += height + 2;
  }
  remark(EndText(ladder));
  const int height = y + 10;
  out.append(Text("<svg class=\"ladder\" role=\"img\" viewBox=\"0 0 ", kWidth, " ", height, "\" aria-labelledby=\"", id,
                  "-t ", id, "-d\"><title id=\"", id, "-t\">", Markup(title), "</title><desc id=\"", id, "-d\">",
                  Markup(Description(ladder)), "</desc>\n"));
  AppendText(out, kFrameEnd, 20, "end", "time", "frame");
  AppendText(out, kTimeEnd, 20, "end", "time", "time");
  AppendText(out, kClient - 4, 20, "start", "end", client);
  AppendText(out, kServer + 4, 20, "end", "end", server);
  out.append("\n").append(bands).append("\n");
  for (const int x : {kClient, kServer})
    out.append(Text("<path class=\"life\" d=\"M", x, " ", kHeadHeight - 4, "V", height - 6, "\"/>"));
  out.append(body).append("</svg>\n");
}

void AppendLadderTable(std::string& out, const Ladder& ladder) {
  out.append(
      "<table><thead><tr><th scope=\"col\" class=\"number\">Frame</th><th scope=\"col\" class=\"number\">Time</th>"
      "<th scope=\"col\">Direction</th><th scope=\"col\">What</th><th scope=\"col\">Note</th></tr></thead><tbody>\n");
  const auto remark = [&](std::string_view text) {
    if (!text.empty()) out.append(Text("<tr><td colspan=\"5\">", Markup(text), "</td></tr>\n"));
  };
  remark(BeginningText(ladder));
  for (const DiagramRow& row : ladder.rows()) {
    const std::string detail = Detail(row);
    out.append(Text("<tr><td class=\"number\">", Frames(row), "</td><td class=\"number\">", Elapsed(ladder, row),
                    "</td><td>", WayText(row.event), "</td><td>", Markup(Title(row)), detail.empty() ? "" : ": ",
                    Markup(detail), "</td><td>", MarkText(row.mark), "</td></tr>\n"));
  }
  remark(EndText(ladder));
  out.append("</tbody></table>\n");
}

}  // namespace stag::conformance
