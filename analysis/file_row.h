// SPDX-License-Identifier: GPL-2.0-or-later
//
// FileRow: a file that READs and WRITEs moved bytes of, and which of them were captured.
#pragma once

#include <string>
#include <vector>

#include "analysis/row_head.h"

namespace stag::analysis {

struct FileRow {
  using Ranges = std::optional<std::vector<std::vector<uint64_t>>>;

  std::optional<results::Time> time;
  std::optional<results::Elapsed> time_s;
  std::optional<std::string> path, name;
  std::vector<std::byte> handle;
  std::string server;
  uint64_t size = 0;
  bool complete = false, end_seen = false;
  uint64_t read_bytes = 0;
  Ranges read;
  uint64_t written_bytes = 0;
  Ranges written, holes;
  std::vector<uint32_t> connections;
};

}  // namespace stag::analysis

namespace stag::results {

template <>
struct Record<analysis::FileRow> : Of<analysis::FileRow> {
  static constexpr std::string_view kType = "file";
  static constexpr std::string_view kDoc =
      "A file of a server, by its handle, and the bytes of it that NFS READ and WRITE moved. Ranges are pairs: the "
      "first byte, and the byte behind the last; null: there are too many.";
  static constexpr std::array kMembers = {
      Member<&Row::time>("time", "Time of the Call of the first READ or WRITE of the file, UTC."),
      Member<&Row::time_s>("time_s", "The same, since the first frame of the capture."),
      Member<&Row::path>("path", "The file with the bytes; null: no READ or WRITE was wholly captured.").Column("path"),
      Member<&Row::name>("name", "The name that the capture has for the handle last; null: none.").Column("name"),
      Member<&Row::handle>("handle", "The file handle."),
      Member<&Row::server>("server", "Address of the server.").Column("server"),
      Member<&Row::size>("size", "The end of the last byte that was moved.").In("bytes").Column("size"),
      Member<&Row::complete>("complete", "All that was moved was captured, without a hole.").Column("complete"),
      Member<&Row::end_seen>("end_seen", "A READ says that the file ends there."),
      Member<&Row::read_bytes>("read_bytes", "Bytes that were read.").In("bytes").Column("read"),
      Member<&Row::read>("read", "Ranges that were read."),
      Member<&Row::written_bytes>("written_bytes", "Bytes that were written.").In("bytes").Column("written"),
      Member<&Row::written>("written", "Ranges that were written."),
      Member<&Row::holes>("holes", "Ranges before the end that were neither read nor written."),
      Member<&Row::connections>("connections", "Numbers of the connections of these READs and WRITEs."),
  };
};

}  // namespace stag::results
