// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/replay/plan.h"

namespace stag::replay {

std::string PlannedProcedure::Name() const {
  if (*this == PlannedProcedure{}) return "others";
  const char* program_name = rpc::ProgramName(program, version);
  std::string name = program_name ? program_name : "program " + std::to_string(program) + " ";
  name += 'v' + std::to_string(version) + ' ';
  const bool compound = program == nfs::kNfsProgram && version == 4 && procedure == 1;
  const char* what = compound ? nfs::OperationName(op) : rpc::ProcedureName(program, version, procedure);
  return name + (what ? what : compound ? "COMPOUND" : "procedure " + std::to_string(procedure));
}

}  // namespace stag::replay
