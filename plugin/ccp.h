// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

namespace stag::plugin {

// The Connection Configuration Protocol of RFC 5666: to be called while protocols register, and once all have.
void RegisterCcp();
void HandOffCcp();

}  // namespace stag::plugin
