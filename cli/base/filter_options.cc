// SPDX-License-Identifier: GPL-2.0-or-later
//
// Options that choose what is shown of a capture, and how lists are ordered and cut.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/filter.h"
#include "cli/base/options.h"
#include "cli/base/suggestion.h"
#include "results/columns.h"
#include "text/parse.h"
#include "text/put.h"

namespace stag::cli {
namespace {

constexpr char kNoTimes[] =
    " is not a range of times, such as 1.5..2, 200ms.. or 2024-01-31T12:00:00..2024-01-31T12:00:05";

std::optional<std::string> ParseWord(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(LowerCase(text));
}

}  // namespace

void AddRpcFilters(CLI::App& command, analysis::Filter& filter, const std::string& what) {
  AddList(command, "--xid", filter.xids, analysis::ParseXid, " is not an xid, such as 0x1a2b3c4d", "XID[,XID]",
          what + " with these xids");
  AddList(command, "--procedure", filter.procedures, ParseWord, "", "NAME[,NAME]",
          what + " of these procedures: READ, 'NFSv3 READ', a number; a COMPOUND by any of its operations");
  AddList(command, "--status", filter.statuses, ParseWord, "", "STATUS[,STATUS]",
          what + " that ended so: ok, error, none (no answer), NFS4ERR_DELAY, 10008, PROG_UNAVAIL, ERR_CHUNK");
  const auto take = [&filter](std::string& text) {
    filter.slower_than_ns = ParseDuration(text);
    return filter.slower_than_ns ? std::string{} : text + " is not a duration, such as 500us, 20ms or 1.5s";
  };
  AddValue(command, "--slower-than", take, "DURATION", what + " with a longer round-trip time: 500us, 20ms, 1.5s");
}

void AddConnectionFilter(CLI::App& command, analysis::Filter& filter, const std::string& description) {
  AddList(command, "--connection", filter.connections, analysis::ParseNumberRange,
          " is not the number of a connection, nor a range such as 2-5", "N[,N|N-M]", description);
}

void AddFrameFilter(CLI::App& command, analysis::Filter& filter, const std::string& description) {
  AddList(command, "--frames", filter.frames, analysis::ParseNumberRange,
          " is not a range of frames, such as 100-200, 100- or 100", "A-B[,A-B]", description);
}

void AddTimeFilter(CLI::App& command, analysis::Filter& filter, const std::string& description) {
  AddList(command, "--time", filter.times, analysis::ParseTimeRange, kNoTimes, "A..B", description);
}

void AddFilters(CLI::App& command, CommonOptions& options, const std::string& rpcs, const std::string& things) {
  analysis::Filter& filter = options.filter;
  AddConnectionFilter(command, filter, "Only of these connections, by their numbers in stag connections");
  for (const auto& [name, ranges, end] :
       {std::tuple("--client", &filter.clients, "client"), {"--server", &filter.servers, "server"}}) {
    AddList(command, name, *ranges, analysis::ParseAddress, " is not an address, nor a network such as 10.0.0.0/8",
            "ADDRESS[,ADDRESS]",
            std::string("Only of connections whose ") + end +
                " has this address, or is in this "
                "network");
  }
  AddRpcFilters(command, filter, "Only " + rpcs);
  AddFrameFilter(command, filter, "Only " + things + " with something in these frames");
  const auto take = [&options](std::string& text) {
    if (text == "capture" || text == "erspan") {
      options.erspan_time = text == "erspan";
      return std::string{};
    }
    const auto range = analysis::ParseTimeRange(text);
    if (!range) return text + kNoTimes + ", nor capture or erspan";
    options.filter.times.push_back(*range);
    return std::string{};
  };
  CLI::Option* const time = command.get_option("--time");
  command.remove_option(time);
  AddParsed(
      command, "--time", take, "A..B|capture|erspan",
      "Only " + things +
          " with something from A to B: seconds since the first frame, or UTC; A or B may be left "
          "out. Or the source of times: that of the capture (default), or that of ERSPAN type III, where a frame has "
          "one");
}

void AddLatencyKey(CLI::App& command, analysis::LatencyKey& by, size_t keys) {
  std::vector<std::pair<std::string, analysis::LatencyKey>> choices;
  for (size_t i = 0; i < keys; ++i)
    choices.emplace_back(EnumNames<analysis::LatencyKey>::kNames[i], static_cast<analysis::LatencyKey>(i));
  AddChoice(command, "--by", by, std::move(choices), "The key of a row (default: procedure)");
}

void AddWide(CLI::App& command, CommonOptions& options) {
  command.add_flag("--wide", options.wide, "Tables with all columns, whatever the terminal has room for");
}

void AddListOptions(CLI::App& command, CommonOptions& options, std::function<const results::RecordInfo&()> info) {
  const auto take = [&options, info = std::move(info)](std::string& text) {
    const size_t colon = text.rfind(':');
    const std::string member = text.substr(0, colon), way = colon == std::string::npos ? "" : text.substr(colon + 1);
    std::vector<std::string> names;
    bool is_text = false;
    for (const results::Column& column : results::ColumnsOf(info())) {
      names.push_back(column.name);
      if (column.name == member) is_text = !column.member().type.number();
    }
    if (std::ranges::find(names, member) == names.end()) {
      const std::string close = ClosestWord(member, names);
      return member + " is no member of the rows" +
             (close.empty() ? "; there are " + fmt::format("{}", fmt::join(names, ", "))
                            : "; did you mean " + close + "?");
    }
    if (!way.empty() && way != "asc" && way != "desc") return way + " is not asc or desc";
    options.sort = member;
    options.sort_reversed = !way.empty() && (way == "desc") == is_text;
    return std::string{};
  };
  AddValue(command, "--sort", take, "MEMBER[:asc|:desc]",
           "Order by this member of the rows (stag schema lists them): numbers largest first, text A first, or as :asc "
           "or :desc says");
  AddNumber(command, "--limit", options.limit, false, " is not a number of rows",
            "So many rows at most, of each capture");
  AddWide(command, options);
}

}  // namespace stag::cli
