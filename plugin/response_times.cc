// SPDX-License-Identifier: GPL-2.0-or-later
//
// Service response times (tshark -z rpcrdma,srt): by program and procedure, where a COMPOUND counts for the operation
// that it is about; and by the forms of the two messages (RFC 8166 section 3.5).
#include <cstdint>
#include <string>
#include <vector>

#include "plugin/fields.h"
#include "plugin/pipeline.h"
#include "plugin/tap.h"
#include "protocol/nfs/walk.h"
#include "protocol/rpc/message.h"

namespace stag::plugin {
namespace {

constexpr uint32_t kAnyCallback = 0x40000000;  // stands for all callback programs
constexpr uint32_t kMostOperations = 128;

struct Row {
  uint32_t program = 0, version = 0, procedure = 0, operation = 0;
  std::string name;
};

// The rows are the same for every table: Wireshark's user interface wants them all at once.
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    const auto add_operations = [&](const Row& row, const char* (*name_of)(uint32_t)) {
      for (uint32_t op = 1; op < kMostOperations; ++op) {
        if (const char* name = name_of(op)) {
          all.push_back({row.program, row.version, row.procedure, op, row.name + " " + name});
        }
      }
    };
    for (const uint32_t program : {100003u, kAnyCallback, 100005u, 100021u, 100024u, 100227u, 100400u, 100417u}) {
      const uint32_t last_version = program == kAnyCallback ? 1 : 4;
      for (uint32_t version = 1; version <= last_version; ++version) {
        // NULL is a procedure of every program: the version exists when it has a second procedure.
        if (!rpc::ProcedureName(program, version, 1)) continue;
        const char* name = rpc::ProgramName(program, version);
        const bool compound = program == kAnyCallback || (program == nfs::kNfsProgram && version == 4);
        for (uint32_t procedure = 0; procedure < 32; ++procedure) {
          const char* procedure_name = rpc::ProcedureName(program, version, procedure);
          if (!procedure_name) continue;
          Row row{program, version, procedure, 0,
                  std::string(name ? name : "") + " V" + std::to_string(version) + " " + procedure_name};
          all.push_back(row);
          if (compound && procedure == 1) {
            add_operations(row, program == kAnyCallback ? nfs::CallbackOperationName : nfs::OperationName);
          }
        }
      }
    }
    all.push_back({0, 0, 0, 0, "other"});
    return all;
  }();
  return rows;
}

size_t RowOf(const TransactionRecord& transaction) {
  const std::vector<Row>& rows = Rows();
  if (!transaction.rpc_known) return rows.size() - 1;
  const bool callback = nfs::IsCallbackProgram(transaction.program);
  const uint32_t program = callback ? kAnyCallback : transaction.program;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].program == program && (callback || rows[i].version == transaction.version) &&
        rows[i].procedure == transaction.procedure && rows[i].operation == transaction.main_operation) {
      return i;
    }
  }
  return rows.size() - 1;
}

constexpr session::CallForm kCallForms[] = {session::CallForm::kShort, session::CallForm::kChunked,
                                            session::CallForm::kLong, session::CallForm::kLongChunked,
                                            session::CallForm::kMsgp};
constexpr session::ReplyForm kReplyForms[] = {session::ReplyForm::kShort, session::ReplyForm::kChunked,
                                              session::ReplyForm::kLong, session::ReplyForm::kLongChunked,
                                              session::ReplyForm::kError};

int FormRow(session::CallForm call, session::ReplyForm reply) {
  int row = 0;
  for (const session::CallForm c : kCallForms) {
    for (const session::ReplyForm r : kReplyForms) {
      if (c == call && r == reply) return row;
      ++row;
    }
  }
  return 0;
}

void Init(register_srt*, GArray* tables) {
  const std::vector<Row>& rows = Rows();
  srt_stat_table* by_procedure = init_srt_table("RPC-over-RDMA by procedure", "Procedures", tables,
                                                static_cast<int>(rows.size()), nullptr, nullptr, nullptr);
  for (size_t i = 0; i < rows.size(); ++i) {
    init_srt_table_row(by_procedure, static_cast<int>(i), rows[i].name.c_str());
  }
  srt_stat_table* by_form =
      init_srt_table("RPC-over-RDMA by message form", "Forms", tables,
                     static_cast<int>(std::size(kCallForms) * std::size(kReplyForms)), "Call, Reply", nullptr, nullptr);
  for (const session::CallForm call : kCallForms) {
    for (const session::ReplyForm reply : kReplyForms) {
      const std::string name = std::string(CallFormText(call)) + ", " + ReplyFormText(reply);
      init_srt_table_row(by_form, FormRow(call, reply), name.c_str());
    }
  }
}

tap_packet_status TimedPacket(void* tables, packet_info* pinfo, epan_dissect_t*, const void* record, tap_flags_t) {
  const auto* data = static_cast<const TapData*>(record);
  const MessageRecord* reply = data->message;
  const bool answer = reply && (reply->role == session::Role::kReply || reply->role == session::Role::kError);
  if (!answer || !reply->transaction) return TAP_PACKET_DONT_REDRAW;
  const TransactionRecord& transaction = *reply->transaction;
  // Wireshark takes the time from here to this frame; the Reply may have been sent in an earlier one.
  const std::optional<int64_t> time = Elapsed(TimeOf(transaction.call_frame), TimeOf(reply->frame));
  if (!time) return TAP_PACKET_DONT_REDRAW;
  const int64_t now = int64_t{pinfo->abs_ts.secs} * 1000000000 + pinfo->abs_ts.nsecs;
  nstime_t call;
  call.secs = static_cast<time_t>((now - *time) / 1000000000);
  call.nsecs = static_cast<int>((now - *time) % 1000000000);
  GArray* array = static_cast<srt_data_t*>(tables)->srt_array;
  add_srt_table_data(g_array_index(array, srt_stat_table*, 0), static_cast<int>(RowOf(transaction)), &call, pinfo);
  add_srt_table_data(g_array_index(array, srt_stat_table*, 1), FormRow(transaction.call_form, reply->reply_form), &call,
                     pinfo);
  return TAP_PACKET_REDRAW;
}

}  // namespace

void RegisterResponseTimes() { register_srt_table(protocol, kTap, 2, TimedPacket, Init, nullptr); }

}  // namespace stag::plugin
