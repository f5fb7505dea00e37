// SPDX-License-Identifier: GPL-2.0-or-later
//
// What bad servers do: a fault for each probe.
#pragma once

#include "tests/replay/probe/bad_server.h"

namespace stag::probe::test {

std::vector<Fault> MessageFaults();     // setup, rpc, header, credit, xid
std::vector<Fault> ChunkFaults();       // chunk, memory, nfs3
std::vector<Fault> ConnectionFaults();  // connection, region, the rest of credit
std::vector<Fault> AgainFaults();       // again
std::vector<Fault> SessionFaults();     // session
std::vector<Fault> Nfs4Faults();        // nfs4
std::vector<Fault> CallbackFaults();    // callback
std::vector<Fault> GssFaults();         // gss; not among all the others, for it takes a Kerberos realm
Fault GssHangsUp();                     // none: it ends connections with what it is to discard
Fault CallsBack();
Fault Recalls();  // none: it calls once on a new back channel

inline std::vector<Fault> AllFaults() {
  std::vector<Fault> all;
  for (const auto faults :
       {MessageFaults, ChunkFaults, ConnectionFaults, AgainFaults, SessionFaults, Nfs4Faults, CallbackFaults})
    for (Fault& fault : faults()) all.push_back(std::move(fault));
  return all;
}

}  // namespace stag::probe::test
