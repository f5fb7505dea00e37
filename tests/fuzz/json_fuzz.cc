// SPDX-License-Identifier: GPL-2.0-or-later
//
// Arbitrary bytes as JSON, as a baseline and as a list of suppressions. JSON to us is JSON to nlohmann's reader, too.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "conformance/report/baseline.h"
#include "conformance/report/suppression_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stag;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (ReadJson(text) && !nlohmann::json::accept(text)) std::abort();
  (void)conformance::Baseline(false).Add(text);
  (void)conformance::SuppressionList().Add(text);
  return 0;
}
