// SPDX-License-Identifier: GPL-2.0-or-later
//
// Caller: the client's end of one connection, which can be made again: a Requester, and Calls that are waited for one
// by one (what comes before and after the load).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "replay/endpoint/endpoint.h"
#include "replay/rpcrdma/requester.h"

namespace stag::nfs_client {

struct CallerOptions {
  endpoint::HostPort to;
  rpcrdma::RequesterOptions requester;
  std::chrono::milliseconds timeout{30'000};  // for a connection, and for an answer
  endpoint::EventLog* events = nullptr;
  bool crc = true;
  const std::atomic<bool>* stop = nullptr;  // ends waiting; nullptr: nothing does
  int cancel = -1;                          // EndpointOptions::cancel
};

class Caller final : public rpcrdma::AnswerSink {
 public:
  // `answers`: to all Calls that Ask did not send.
  Caller(endpoint::Transport& transport, const CallerOptions& options, rpcrdma::AnswerSink& answers);
  Result<void> Connect();
  bool connected() const { return requester_ && requester_->open(); }
  // There is one once Connect succeeded.
  rpcrdma::Requester& requester() { return *requester_; }
  const CallerOptions& options() const { return options_; }

  // Waits until Ask can send at once: before an argument is put in the Requester's memory.
  void AwaitCredit(bool although_stopped = false);
  // Sends one Call, with nothing else outstanding, and waits for the results of its Reply, which are valid until the
  // next one. The error says why there are none. Once `stop` of the options is set nothing is sent, and what was is
  // awaited for a moment; `although_stopped`: for cleaning up.
  Result<Bytes> Ask(const rpcrdma::CallSpec& call, bool although_stopped = false);
  // In order; waits for the other side a moment.
  void Disconnect();
  // At once: no answers come any more.
  void Drop() { requester_.reset(); }
  // Why the connection ended; empty: it has not, or nothing is known.
  std::string trouble() const;

  void OnAnswer(const rpcrdma::Answer& answer) override;

 private:
  bool Stopped(bool although_stopped) const { return !although_stopped && options_.stop && options_.stop->load(); }

  endpoint::Transport& transport_;
  CallerOptions options_;
  rpcrdma::AnswerSink& answers_;
  std::unique_ptr<rpcrdma::Requester> requester_;
  bool asking_ = false, answered_ = false;
  std::vector<std::byte> reply_;
  std::string failure_;
};

// What an answer that is no RPC Reply is, in a few words: "ERR_CHUNK".
std::string AnswerText(const rpcrdma::Answer& answer);

}  // namespace stag::nfs_client
