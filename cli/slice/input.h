// SPDX-License-Identifier: GPL-2.0-or-later
//
// SliceInput: a capture that is read several times. Standard input, and other files that can be read only once (pipes),
// are copied to a temporary file in $TMPDIR or /tmp, which has no name and goes with the program.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/analysis/analysis.h"
#include "protocol/base/result.h"

namespace stag::cli {

class SliceInput {
 public:
  static Result<SliceInput> Open(const std::string& file);
  ~SliceInput();
  SliceInput(SliceInput&& other) noexcept;
  SliceInput& operator=(SliceInput&&) = delete;

  const std::string& name() const { return name_; }  // for people
  // Its frames as they are in the file.
  Result<std::unique_ptr<capture::Reader>> Frames() const;

  // One pass: Reader -> Decoder -> Session -> observers, of the frames for which `wants` is true; null: of all. What is
  // wrong with the file is reported by `output`.
  FileOutcome Analyze(const CommonOptions& options, Clock& clock, Output& output,
                      std::vector<session::Observer*> observers, fabric::PacketObserver* packets,
                      std::function<bool(const Frame&)> wants = nullptr) const;

 private:
  SliceInput(std::string name, std::string path, int descriptor)
      : name_(std::move(name)), path_(std::move(path)), descriptor_(descriptor) {}

  std::string name_, path_;
  int descriptor_ = -1;  // of the temporary file
};

}  // namespace stag::cli
