// SPDX-License-Identifier: GPL-2.0-or-later
//
// Counts calls of operator new in a test program (the program replaces it in allocation_count.cc).
#pragma once

#include <cstddef>

namespace stag::fabric::test {

size_t AllocationCount();

}  // namespace stag::fabric::test
