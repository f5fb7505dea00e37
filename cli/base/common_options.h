// SPDX-License-Identifier: GPL-2.0-or-later
//
// Parts that every command has: exit statuses, the options that all or most of them have.
// For the parser of the command line see options.h, which takes long to compile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/filter.h"

namespace stag::cli {

// Exit statuses of the program.
inline constexpr int kExitFine = 0;
inline constexpr int kExitFindings = 1;
inline constexpr int kExitTrouble = 2;  // usage, environment, damaged file

enum class Format : uint8_t { kText, kJsonl, kJson, kSarif, kJunit, kHtml, kCsv, kTable };
// Text and tables: a terminal may show them.
constexpr bool ForPeople(Format format) { return format == Format::kText || format == Format::kTable; }
enum class Color : uint8_t { kAuto, kAlways, kNever };
enum class Order : uint8_t { kAuto, kFile, kTime };    // of frames (capture/file/reader.h)
enum class Clocks : uint8_t { kAuto, kAlign, kNull };  // of a capture that has two (session/clocks/clock_finder.h)

struct CommonOptions {
  Format format = Format::kText;
  Color color = Color::kAuto;
  bool quiet = false;     // no diagnostics but errors
  bool progress = false;  // a bar on stderr
  bool mpi = false;       // on all ranks of a parallel job
  Order order = Order::kAuto;
  Clocks clocks = Clocks::kAuto;
  bool erspan_time = false;  // times of ERSPAN, where frames have one
  bool keep_copies = false;  // of packets that were captured more than once
  // UDP ports of tunnels; 0 is none.
  std::array<uint16_t, 4> vxlan_ports = {4789, 8472}, geneve_ports = {6081};
  uint64_t memory = 256u << 20;  // bytes
  uint32_t jobs = 1;             // threads that analyse one capture, the one that reads it among them
  std::vector<std::string> files;
  std::string output;  // a file for the results; empty: stdout
  bool grows = false;  // that file has its name from the start, for who reads results while they come
  analysis::Filter filter;
  // Lists: the member that orders them (empty: their own order), and whether the other way round; how many rows of a
  // capture (0: all); whether tables have all columns, whatever the terminal has room for.
  std::string sort;
  bool sort_reversed = false;
  uint64_t limit = 0;
  bool wide = false;
};

}  // namespace stag::cli
