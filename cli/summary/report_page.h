// SPDX-License-Identifier: GPL-2.0-or-later
//
// ReportPage: what the page of stag report has besides findings: what is wrong, the captures, and a section each on
// connections, latency, transport, limits and credits. The page is bounded: files, rows and pictures have caps, and
// what is left out is counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/summary/report_part.h"
#include "conformance/report/documents.h"

namespace stag::cli {

class ReportPage {
 public:
  static constexpr size_t kFiles = 20;        // with sections of their own
  static constexpr size_t kRows = 60;         // of a table
  static constexpr size_t kWrong = 100;       // sentences
  static constexpr size_t kPictures = 4;      // files whose transport and credits are drawn ...
  static constexpr size_t kDrawn = 3;         // ... and connections of each
  static constexpr size_t kSlowest = 10;      // RPCs of a file
  static constexpr size_t kMostRemarks = 20;  // of a file

  // `several`: files.
  explicit ReportPage(bool several) : several_(several) {}

  // The next file.
  void Add(const ReportPart& part);
  // Whether pictures of the next file are wanted.
  bool pictures() const { return pictures_ < kPictures; }

  struct About {
    std::string title, command, rules;
  };
  void Finish(const About& about, conformance::HtmlBesides& page) const;

 private:
  struct Sentence {
    Wrong wrong;
    size_t file = 0;
  };

  void AddWrong(const std::vector<Wrong>& all);
  void PutSentence(std::string& out, const Sentence& sentence) const;

  const bool several_;
  std::vector<std::string> names_;  // of all files
  bool any_ = false;                // RPC-over-RDMA
  std::string file_rows_, dropped_;
  std::vector<Sentence> wrong_;
  uint64_t wrong_left_out_ = 0;
  std::string connections_, latency_, transport_, limits_, credits_;
  size_t pictures_ = 0;  // files that were drawn
};

}  // namespace stag::cli
