// SPDX-License-Identifier: GPL-2.0-or-later
//
// DeliveryRecorder: adds to the records of transactions what is known of them later: which frame delivered the Reply,
// and when packets waited to be delivered.
#pragma once

#include "plugin/record_store.h"
#include "session/rpcrdma/session.h"

namespace stag::plugin {

class DeliveryRecorder final : public session::Observer {
 public:
  // `store` must outlive this.
  explicit DeliveryRecorder(RecordStore& store) : store_(store) {}
  bool WantsDeliveries() const override { return true; }
  void OnTransaction(const session::Connection&, const session::Transaction& t) override {
    if (t.delivered.number == 0 && t.waits.empty()) return;
    TransactionRecord* const shared = store_.FindTransaction(t.serial);
    if (!shared || !shared->phases) return;
    shared->delivered = t.delivered;
    shared->phases->reply = t.answered_in();
    shared->phases->waits = store_.arena().Copy(t.waits);
  }

 private:
  RecordStore& store_;
};

}  // namespace stag::plugin
