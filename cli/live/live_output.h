// SPDX-License-Identifier: GPL-2.0-or-later
//
// LiveOutput: where a live command writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/analysis/file_runner.h"
#include "cli/base/row_output.h"
#include "cli/live/live_monitor.h"

namespace stag::cli {

// The rows of one list, records beside it, what --check finds, or text.
struct LiveOutput {
  // `info`: of the list. `file`: the name of the capture that is played; nullopt: there is none.
  LiveOutput(const CommonOptions& all, const results::RecordInfo& info, const scale::Team* team = nullptr,
             const std::optional<std::string>& file = std::nullopt)
      : options(all), leads(!team || team->leads()), output(OutputOf(all, team)), rows(output, all, info, file) {
    SetDocument(output, all, info, file.has_value());
  }
  // The record that stands first, while the command still runs; as text where there is a place for it, or on stderr.
  template <typename R>
  void Begin(const R& row, std::string_view text) {
    rows.PutOther(row);
    if (rows.as_text()) Put(output.buffer(), "{}\n", text);
    if (!rows.as_text() && !rows.as_json() && !options.quiet) ComplainText(text);
    output.Flush();
  }
  void End() {
    rows.Finish();
    output.EndDocument();
    if (leads) rows.Complain("");
  }
  // The same, with what `monitor` found, once it has been drained; `ran`: the command itself. The exit status.
  int End(LiveMonitor& monitor, const Result<void>& ran) {
    const bool fine = monitor.Finish();
    End();
    if (!ran) return Trouble(ran.error());
    if (output.failed() || monitor.failed()) return kExitTrouble;
    return fine ? kExitFine : kExitFindings;
  }

  const CommonOptions& options;
  const bool leads;  // its team
  Output output;
  RowOutput rows;
};

}  // namespace stag::cli
