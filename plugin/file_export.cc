// SPDX-License-Identifier: GPL-2.0-or-later
//
// Exported objects (File > Export Objects; tshark --export-objects rpcrdma,DIRECTORY): the contents of files as NFS
// READs and WRITEs moved them, one object per server and file handle. Where they overlap, the later ones stand; what
// was not seen is zero. The list of objects is Wireshark's; here is which object is whose.
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "plugin/fields.h"
#include "plugin/prefs.h"
#include "plugin/tap.h"
#include "session/rpcrdma/range_set.h"

namespace stag::plugin {
namespace {

struct File {
  export_object_entry_t* entry = nullptr;  // owned by Wireshark's list
  bool lost = false, read = false, written = false;
  session::RangeSet covered;
};

struct Files {
  std::unordered_map<std::string, File> by_handle;
  std::unordered_map<std::string, std::string> names;
  uint64_t bytes = 0;  // in all objects
};
Files files;

void Forget() { files = {}; }

std::string KeyOf(const FileRecord& record) {
  std::string key(reinterpret_cast<const char*>(record.server.bytes.data()), record.server.bytes.size());
  return key + *record.handle;
}

std::string ServerText(const FileRecord& record) {
  address server;
  SetAddress(&server, record.server);
  char* text = address_to_str(nullptr, &server);
  std::string result(text);
  wmem_free(nullptr, text);
  return result;
}

void SetText(char** to, const std::string& text) {
  g_free(*to);
  *to = g_strdup(text.c_str());
}

// The name on the wire, without what a file system would take amiss; nothing for names that are all of that.
std::string Safe(const std::string& name) {
  std::string safe;
  for (const char c : name) safe += c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 ? '_' : c;
  return safe == "." || safe == ".." ? std::string() : safe;
}

std::string HandleName(const std::string& handle) {
  std::string name = "fh-";
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr size_t kMost = 64;
  for (size_t i = 0; i < handle.size() && i < kMost; ++i) {
    const auto byte = static_cast<unsigned char>(handle[i]);
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

// An NFS client gives such a name to a file that was removed while open. The name before it is the better one.
bool MadeUp(const std::string& name) { return name.compare(0, 4, ".nfs") == 0; }

void Name(const std::string& key, const std::string& name) {
  const std::string safe = Safe(name);
  if (safe.empty()) return;
  std::string& known = files.names[key];
  if (!known.empty() && MadeUp(safe)) return;
  known = safe;
  const auto file = files.by_handle.find(key);
  if (file == files.by_handle.end()) return;
  SetText(&file->second.entry->filename, safe);
}

void Describe(File& file) {
  std::string text = file.read && file.written ? "read and written" : file.written ? "written" : "read";
  if (file.lost) text += ", parts not captured";
  if (file.covered.total() < file.entry->payload_len) text += ", with holes";
  SetText(&file.entry->content_type, text);
}

// Whether the object can hold so much from `offset` on, within the memory that the preferences give.
bool Grow(export_object_entry_t& entry, uint64_t offset, uint64_t length) {
  const uint64_t limit = uint64_t{preferences.memory_mib} << 20;
  if (offset > limit || length > limit) return false;
  const uint64_t end = offset + length;
  if (end <= entry.payload_len) return entry.payload_data != nullptr;
  const uint64_t more = end - entry.payload_len;
  if (more > limit - std::min(limit, files.bytes)) return false;
  entry.payload_data = static_cast<uint8_t*>(g_realloc(entry.payload_data, static_cast<gsize>(end)));
  std::memset(entry.payload_data + entry.payload_len, 0, static_cast<size_t>(more));
  entry.payload_len = static_cast<size_t>(end);
  files.bytes += more;
  return true;
}

tap_packet_status FilePacket(void* tap_data, packet_info* pinfo, epan_dissect_t*, const void* record_data,
                             tap_flags_t) {
  auto* list = static_cast<export_object_list_t*>(tap_data);
  const FileRecord& record = *static_cast<const FileRecord*>(record_data);
  const std::string key = KeyOf(record);
  if (record.name) {
    Name(key, *record.name);
    return TAP_PACKET_DONT_REDRAW;
  }
  File& file = files.by_handle[key];
  const bool found = file.entry != nullptr;
  if (!found) {
    file.entry = g_new0(export_object_entry_t, 1);
    file.entry->pkt_num = pinfo->num;
    SetText(&file.entry->hostname, ServerText(record));
    const auto name = files.names.find(key);
    SetText(&file.entry->filename, name == files.names.end() ? HandleName(*record.handle) : name->second);
  }
  (record.write ? file.written : file.read) = true;
  const std::byte* const data = record.data;
  if (data && record.length > 0 && Grow(*file.entry, record.offset, record.length)) {
    std::memcpy(file.entry->payload_data + record.offset, data, record.length);
    file.covered.Add(record.offset, record.offset + record.length);
  } else if (!data || record.length > 0) {
    file.lost = true;
  }
  Describe(file);
  if (!found) list->add_entry(list->gui_data, file.entry);
  return TAP_PACKET_REDRAW;
}

}  // namespace

int RegisterFileExport() { return register_export_object(protocol, FilePacket, Forget); }

}  // namespace stag::plugin
