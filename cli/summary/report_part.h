// SPDX-License-Identifier: GPL-2.0-or-later
//
// ReportPart: what the page of stag report has of one file, besides findings, as markup. It is made where the file is
// read, and may go to another process (--mpi).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/summary/file_summary.h"
#include "conformance/report/serialize.h"

namespace stag::cli {

struct ReportPart {
  std::string name;  // of the file, as text
  bool opened = false, any = false;
  std::string row, dropped;  // of the table of files; of the list of what was dropped
  std::vector<Wrong> wrong;  // the worst first, so many as a page has
  uint64_t wrong_left_out = 0;
  // Empty, where there is nothing, or no RPC-over-RDMA (`any`), or the file is beyond ReportPage::kFiles.
  std::string connections, latency, transport, limits, credits;
  std::string latency_picture, transport_picture, credits_picture;  // behind these
};

// `file`: its number among all files, from 0. `several`: files. `pictures`: whether they are wanted. `size`: of the
// file, in bytes. `remarks`: what was said on stderr while it was read.
ReportPart MakeReportPart(FileSummary& summary, size_t file, bool several, bool pictures, std::optional<uint64_t> size,
                          const std::vector<std::string>& remarks);

}  // namespace stag::cli

namespace stag {

STAG_MEMBERS(cli::Wrong, rank, kind, blames, connection, text, frame, rule, known, lost_ns, count, connection_count,
             worst, status)
STAG_MEMBERS(cli::ReportPart, name, opened, any, row, dropped, wrong, wrong_left_out, connections, latency, transport,
             limits, credits, latency_picture, transport_picture, credits_picture)

}  // namespace stag
