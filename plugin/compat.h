// SPDX-License-Identifier: GPL-2.0-or-later
//
// The one door to Wireshark's headers, and every difference between the versions that the plugin knows of (4.0 to 4.6).
//
// Wireshark reports trouble by longjmp. Functions that call anything of epan that can throw (tree, column, tvbuff and
// dissector calls) therefore own no object with a destructor: what they show is read from the records of records.h,
// and text is built in pinfo->pool.
#pragma once

#include <ws_version.h>

#if !defined(WIRESHARK_VERSION_MAJOR) || WIRESHARK_VERSION_MAJOR != 4
#error "The plugin is written for Wireshark 4.x"
#endif

#define STAG_WIRESHARK_VERSION (WIRESHARK_VERSION_MAJOR * 100 + WIRESHARK_VERSION_MINOR)

// NOLINTBEGIN: C headers
#include <epan/column-utils.h>
#include <epan/conversation.h>
#include <epan/conversation_filter.h>
#include <epan/conversation_table.h>
#include <epan/exceptions.h>
#include <epan/expert.h>
#include <epan/export_object.h>
#include <epan/follow.h>
#include <epan/packet.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
#include <epan/srt_table.h>
#include <epan/stat_tap_ui.h>
#include <epan/stats_tree.h>
#include <epan/tap.h>
#include <epan/to_str.h>
#include <wiretap/wtap.h>
extern "C" {
#include <epan/show_exception.h>
}
// NOLINTEND
#if STAG_WIRESHARK_VERSION >= 404
#include <wsutil/plugins.h>
#endif

// The last parameter of the callbacks of a conversation filter.
#if STAG_WIRESHARK_VERSION >= 402
#define STAG_USER_DATA , void*
#else
#define STAG_USER_DATA
#endif

namespace stag::plugin {

// The type of bool preferences and of heur_dissector's results.
#if STAG_WIRESHARK_VERSION >= 404
using WsBool = bool;
#else
using WsBool = gboolean;
#endif

}  // namespace stag::plugin
