// SPDX-License-Identifier: GPL-2.0-or-later
//
// STAG_CHECK: our own bugs. Aborts in development builds; in release builds (NDEBUG) it costs nothing.
#pragma once

#ifdef NDEBUG
#define STAG_CHECK(condition) static_cast<void>(sizeof(!(condition)))
#else
#define STAG_CHECK(condition) ((condition) ? static_cast<void>(0) : __builtin_trap())
#endif
