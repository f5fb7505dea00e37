// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcaps/generator/cases.h"

namespace stag::evidence {

std::vector<std::span<const Case>> AllCases() {
  return {
      HdrCases(),          FrameXidCases(),  ReadListCases(),  WriteListCases(),  WriteChunkUseCases(),
      ReplyChunkCases(),   LongModelCases(), ThresholdCases(), ConnectionCases(), PrivateDataCases(),
      InvalidationCases(), CreditCases(),    ReceiveCases(),   BackwardCases(),   ErrorCases(),
      AnswerCases(),       MemoryCases(),    NetidCases(),     LegacyCases(),     CcpCases(),
      PaddingCases(),      ReductionCases(), GssCases(),       FabricCases(),
  };
}

}  // namespace stag::evidence
