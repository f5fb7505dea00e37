// SPDX-License-Identifier: GPL-2.0-or-later
//
// Numbers of the pcapng format that its reader and its writer share (draft-ietf-opsawg-pcapng sections 3 and 4).
#pragma once

#include <cstdint>

namespace stag::capture {

// Types of blocks.
inline constexpr uint32_t kSectionHeader = 0x0a0d0d0a, kInterfaceDescription = 1, kInterfaceStatistics = 5,
                          kEnhancedPacket = 6;
// No frames, but Wireshark numbers them as if they were (OtherBlock).
inline constexpr uint32_t kSystemdJournal = 9, kCustom = 0x00000bad, kCustomNotCopied = 0x40000bad;
inline constexpr uint32_t kSysdigEvent = 0x204, kSysdigEvent2 = 0x216, kSysdigLargeEvent = 0x221;
// Likewise not to be copied, and not numbered.
inline constexpr uint32_t kNotCopied = 0x40000bac;
inline constexpr uint32_t kSimplePacket = 3, kNameResolution = 4, kDecryptionSecrets = 10;
inline constexpr uint32_t kByteOrderMagic = 0x1a2b3c4d;

}  // namespace stag::capture
