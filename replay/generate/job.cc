// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/generate/job.h"

#include <algorithm>
#include <numeric>

namespace stag::generate {
namespace {

constexpr uint64_t kAlignment = 4096;  // of random offsets, where there is room for it

// The index that `point`, which is less than the sum of all weights, falls on.
template <typename Weights, typename WeightOf>
size_t Choose(const Weights& weights, uint64_t point, WeightOf weight_of) {
  size_t i = 0;
  while (point >= weight_of(weights[i])) point -= weight_of(weights[i++]);
  return i;
}

}  // namespace

const char* OperationName(Operation operation) {
  constexpr const char* kNames[kOperations] = {"NULL", "ECHO", "GETATTR", "LOOKUP", "READ", "WRITE", "READDIRPLUS"};
  return kNames[static_cast<size_t>(operation)];
}

std::vector<Part> ShareOf(uint32_t connection, uint32_t connections, uint32_t files, uint64_t file_size) {
  std::vector<Part> share;
  if (files >= connections) {
    for (uint32_t file = connection; file < files; file += connections) share.push_back({file, 0, file_size, true});
  } else if (files > 0) {
    const uint64_t parts = (connections + files - 1) / files;
    uint64_t length = file_size / parts;
    if (length > kAlignment) length -= length % kAlignment;
    share.push_back({connection % files, connection / files * length, length, connection < files});
  }
  return share;
}

JobSource::JobSource(const JobOptions& options, uint32_t connection, std::vector<Part> share)
    : options_(options),
      share_(std::move(share)),
      random_(Random(options.seed + (uint64_t{connection} << 32)).Next()),
      mix_sum_(std::accumulate(options.mix.begin(), options.mix.end(), uint64_t{0})) {
  for (const SizeRange& range : options_.sizes) size_sum_ += range.weight;
  for (const Part& part : share_) next_.push_back(part.begin);
}

uint32_t JobSource::Size() {
  const auto weight = [](const SizeRange& range) { return range.weight; };
  const SizeRange& range = options_.sizes[Choose(options_.sizes, random_.Below(size_sum_), weight)];
  return range.low + static_cast<uint32_t>(random_.Below(uint64_t{range.high} - range.low + 1));
}

uint64_t JobSource::Place(uint32_t index, uint32_t size) {
  const Part& part = share_[index];
  if (!options_.sequential) {
    const uint64_t spare = part.length - size;
    return part.begin + (spare < kAlignment ? 0 : kAlignment * random_.Below(spare / kAlignment + 1));
  }
  if (next_[index] + size > part.begin + part.length) next_[index] = part.begin;
  const uint64_t offset = next_[index];
  next_[index] += size;
  return offset;
}

Job JobSource::Next() {
  Job job;
  const auto weight = [](uint32_t w) { return w; };
  job.operation = static_cast<Operation>(Choose(options_.mix, random_.Below(mix_sum_), weight));
  if (!share_.empty()) job.part = static_cast<uint32_t>(random_.Below(share_.size()));
  if (job.operation == Operation::kEcho) {
    job.size = Size();
  } else if (job.operation == Operation::kRead || job.operation == Operation::kWrite) {
    job.size = Size();
    job.offset = Place(job.part, job.size);
  }
  if (job.operation == Operation::kWrite || job.operation == Operation::kEcho) job.generation = ++generation_;
  job.position_zero = options_.position_zero_percent > 0 && random_.Below(100) < options_.position_zero_percent;
  return job;
}

}  // namespace stag::generate
