// SPDX-License-Identifier: GPL-2.0-or-later
//
// STAG_GUARD: as STAG_CHECK, and always on: it stands where a bug of ours would let a peer write over memory.
#pragma once

#define STAG_GUARD(condition) ((condition) ? static_cast<void>(0) : __builtin_trap())
