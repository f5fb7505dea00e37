// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/ladder_svg.h"

#include "conformance/engine/text.h"
#include "text/markup.h"
#include "text/put.h"

namespace stag::conformance {

namespace {

using Kind = Arrow::Kind;

// Places in the picture.
constexpr int kWidth = 1000, kFrameEnd = 92, kTimeEnd = 178, kClient = 200, kServer = 852, kMarkStart = 868;
constexpr int kMiddle = (kClient + kServer) / 2, kHeadHeight = 34, kLineHeight = 15;
constexpr size_t kDetailColumns = 104;  // letters that fit between the lines

bool IsRdma(Kind kind) { return kind == Kind::kWrite || kind == Kind::kReadRequest || kind == Kind::kReadResponse; }
bool IsEvent(Kind kind) { return kind == Kind::kGap || kind == Kind::kClosed; }

std::string Title(const Rung& rung) {
  if (rung.folded_from == 0) return ArrowTitle(rung.arrow);
  return Text(Grouped(rung.folded), " more RDMA ", rung.arrow.kind == Kind::kWrite ? "Write" : "Read",
              rung.folded == 1 ? "" : "s", ", ", ByteCount(rung.folded_bytes));
}

std::string Detail(const Rung& rung) {
  if (rung.folded_from == 0) return ArrowDetail(rung.arrow);
  return "";
}

std::string_view MarkText(Mark mark) {
  switch (mark) {
    case Mark::kNone: return "";
    case Mark::kRelated: return "related";
    case Mark::kOffending: return "breaks the rule";
    case Mark::kProof: return "proves it";
  }
  return "";
}

std::string_view MarkStyle(Mark mark) {
  switch (mark) {
    case Mark::kNone: return "";
    case Mark::kRelated: return " related";
    case Mark::kOffending: return " offending";
    case Mark::kProof: return " proof";
  }
  return "";
}

// "17", "17\u201319" of several packets, and of a fold.
std::string Frames(const Rung& rung) {
  const uint64_t first = rung.folded_from ? rung.folded_from : rung.arrow.first_frame, last = rung.arrow.frame.number;
  return first == last ? Text(last) : Text(first, "\u2013", last);
}

// "+0.000 ms", since the first rung.
std::string Elapsed(const Ladder& ladder, const Rung& rung) {
  const int64_t ns = rung.arrow.frame.time_ns - ladder.rungs().front().arrow.frame.time_ns;
  const uint64_t us = static_cast<uint64_t>(ns < 0 ? -ns : ns) / 1000;
  const std::string rest = std::to_string(us % 1000);
  return Text(ns < 0 ? "\u2212" : "+", Grouped(us / 1000), ".", std::string(3 - rest.size(), '0'), rest, " ms");
}

// Lines of at most kDetailColumns letters, broken after commas; at most two.
std::vector<std::string> DetailLines(const Rung& rung) {
  const std::string detail = Detail(rung);
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

std::string_view WayText(const Arrow& arrow) {
  if (arrow.kind == Kind::kClosed) return "";
  return arrow.client_to_server ? "client to server" : "server to client";
}

void AppendText(std::string& out, int x, int y, std::string_view anchor, std::string_view style,
                std::string_view text) {
  out.append(Text("<text x=\"", x, "\" y=\"", y, "\"", anchor.empty() ? "" : Text(" text-anchor=\"", anchor, "\""),
                  " class=\"", style, "\">", Markup(text), "</text>"));
}

// The arrow itself, at height y.
void AppendArrow(std::string& out, const Arrow& arrow, int y) {
  if (IsEvent(arrow.kind)) {
    out.append(Text("<path class=\"line\" d=\"M", kClient, " ", y, "H", kServer, "\"/>"));
    return;
  }
  const int from = arrow.client_to_server ? kClient : kServer, to = arrow.client_to_server ? kServer : kClient;
  const int back = arrow.client_to_server ? -11 : 11;
  out.append(Text("<path class=\"line\" d=\"M", from, " ", y, "H", to + back, "\"/><path class=\"head\" d=\"M", to, " ",
                  y, "l", back, " -5.5v11z\"/>"));
  if (arrow.kind == Kind::kNak)  // a cross on the line, too
    out.append(Text("<path class=\"line\" d=\"M", from - 2 * back - 6, " ", y - 6, "l12 12m0 -12l-12 12\"/>"));
}

std::string Description(const Ladder& ladder) {
  std::string out = Count(ladder.rungs().size(), "step");
  out.append(".");
  for (const Rung& rung : ladder.rungs()) {
    if (rung.mark != Mark::kOffending && rung.mark != Mark::kProof) continue;
    const std::string_view way = WayText(rung.arrow);
    out.append(
        Text(" Frame ", Frames(rung), way.empty() ? "" : ", ", way, ", ", MarkText(rung.mark), ": ", Title(rung), "."));
  }
  return out;
}

std::string_view BeginningText(Ladder::Beginning beginning) {
  switch (beginning) {
    case Ladder::Beginning::kWhole: return "";
    case Ladder::Beginning::kForgotten: return "What came before was not remembered: the connection was too busy.";
    case Ladder::Beginning::kNotCaptured: return "The capture has no Call to this.";
  }
  return "";
}

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
  remark(BeginningText(ladder.beginning));
  for (const Rung& rung : ladder.rungs()) {
    const std::vector<std::string> details = DetailLines(rung);
    const int line = y + 24, height = 36 + kLineHeight * static_cast<int>(details.size());
    const std::string_view mark = MarkStyle(rung.mark);
    if (!mark.empty())
      bands.append(Text("<rect class=\"band", mark, "\" x=\"2\" y=\"", y + 1, "\" width=\"", kWidth - 4, "\" height=\"",
                        height - 2, "\" rx=\"6\"/>"));
    body.append(Text("<g class=\"",
                     IsRdma(rung.arrow.kind)    ? "rdma"
                     : IsEvent(rung.arrow.kind) ? "event"
                                                : "send",
                     rung.folded_from != 0 ? " fold" : "", mark, "\">"));
    AppendText(body, kFrameEnd, line + 4, "end", "frame", Frames(rung));
    AppendText(body, kTimeEnd, line + 4, "end", "time", Elapsed(ladder, rung));
    AppendArrow(body, rung.arrow, line);
    AppendText(body, kMiddle, line - 7, "middle", "name", Title(rung));
    for (size_t i = 0; i < details.size(); ++i)
      AppendText(body, kMiddle, line + kLineHeight * static_cast<int>(i + 1), "middle", "more", details[i]);
    if (rung.mark != Mark::kNone)
      AppendText(body, kMarkStart, line + 4, "", "mark",
                 Text(rung.mark == Mark::kOffending ? "\u2718 "
                      : rung.mark == Mark::kProof   ? "\u2713 "
                                                    : "\u2022 ",
                      MarkText(rung.mark)));
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
  remark(BeginningText(ladder.beginning));
  for (const Rung& rung : ladder.rungs()) {
    const std::string detail = Detail(rung);
    out.append(Text("<tr><td class=\"number\">", Frames(rung), "</td><td class=\"number\">", Elapsed(ladder, rung),
                    "</td><td>", WayText(rung.arrow), "</td><td>", Markup(Title(rung)), detail.empty() ? "" : ": ",
                    Markup(detail), "</td><td>", MarkText(rung.mark), "</td></tr>\n"));
  }
  remark(EndText(ladder));
  out.append("</tbody></table>\n");
}

}  // namespace stag::conformance
