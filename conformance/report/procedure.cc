// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/report/procedure.h"

#include "conformance/engine/text.h"
#include "protocol/rpc/message.h"

namespace stag::conformance {

std::string ProcedureText(const Procedure& p) {
  const char* program = rpc::ProgramName(p.program, p.version);
  const char* procedure = rpc::ProcedureName(p.program, p.version, p.procedure);
  std::string text = program ? Text(program, "v", p.version) : Text("program ", p.program, " v", p.version);
  text.append(procedure ? Text(" ", procedure) : Text(" procedure ", p.procedure));
  return text;
}

}  // namespace stag::conformance
