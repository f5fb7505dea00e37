// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/analysis.h"

#include <cstdio>
#include <functional>
#include <string_view>

namespace stag::test {
namespace {

class Collector : public session::Observer, public conformance::FindingSink {
 public:
  explicit Collector(Analysis& out) : out_(out) {}

  void OnTransaction(const session::Connection&, const session::Transaction& t) override {
    const bool garbage = t.call.rpc.words >= 2 && t.call.rpc.msg_type != rpc::kCall;
    if (t.uncertain || garbage) return;  // that it is a Call is a guess
    Add(t, t.call, t.backward ? 'C' : 'c');
    Add(t, t.reply, t.backward ? 'R' : 'r');
  }
  void OnGap(const session::Connection&, const fabric::Event&) override { out_.lossy = true; }
  void OnMessage(const session::Connection&, const session::Message& m, const session::Transaction*) override {
    out_.repeated = out_.repeated || m.repeated || m.again;
    out_.early += m.again;
    out_.cut = out_.cut || m.missing != fabric::Missing::kNothing;
  }
  void OnFinding(const conformance::Finding& finding) override {
    const std::pair of{finding.frame.number, finding.client_to_server};
    out_.suspected.insert(of);
    if (finding.severity == conformance::Severity::kNote) return;
    if (finding.certainty == conformance::Certainty::kPresumed) return void(++out_.presumed);
    out_.accused.insert(of);
    const std::string xid = finding.xid ? std::to_string(*finding.xid) : "-";
    ++out_.findings[{std::string(finding.rule->id), xid}];
    for (const std::string_view id : finding.see_also) ++out_.findings[{std::string(id), xid}];
  }

 private:
  void Add(const session::Transaction& t, const session::Payload& payload, char kind) {
    if (!payload.complete) return;
    // A complete message that cannot be copied is like no other.
    size_t hash = 0;
    if (t.CopyTo(payload, bytes_))
      hash = std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
    out_.contents[{t.xid, kind}].insert(hash);
    ++out_.complete;
  }
  Analysis& out_;
  std::vector<std::byte> bytes_;
};

}  // namespace

Analysis Analyse(std::span<const OwnedFrame> frames, const AnalysisOptions& options) {
  Analysis out;
  Collector collector(out);
  conformance::Engine engine(options.engine, collector);
  Run(frames, options.decoder, options.session, {&collector, &engine});
  return out;
}

std::vector<std::string> NewIn(const Analysis& damaged, const Analysis& whole) {
  std::vector<std::string> found;
  for (const auto& [key, hashes] : damaged.contents)
    for (const size_t hash : hashes) {
      const auto it = whole.contents.find(key);
      if (it == whole.contents.end() || !it->second.contains(hash))
        found.push_back("wrong bytes in xid " + std::to_string(key.first) + " (" + key.second + ")");
    }
  for (const auto& [key, count] : damaged.findings) {
    const auto it = whole.findings.find(key);
    if (count > (it == whole.findings.end() ? 0 : it->second))
      found.push_back("new finding " + key.first + " of xid " + key.second);
  }
  return found;
}

}  // namespace stag::test
