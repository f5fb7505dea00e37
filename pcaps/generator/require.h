// SPDX-License-Identifier: GPL-2.0-or-later
//
// Require: a mistake in a case, or in the generator, ends the program with a message. Unlike STAG_CHECK in every build:
// a generator that goes on would write captures that show something else.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace stag::evidence {

inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "make_evidence: %s\n", what);
  std::exit(EXIT_FAILURE);
}

}  // namespace stag::evidence
