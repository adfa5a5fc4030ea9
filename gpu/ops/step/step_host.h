#pragma once
// The bookkeeping of step.h on the host, for metrics and statistics of either width. `reference` and `loops`
// share it: there is nothing in it that one of them could do another way. The time is the steady clock's.

#include <chrono>
#include <cstdint>
#include <numeric>

#include "gpu/ops/optimizer/shards.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::step {

/// step.record with metrics and statistics of type T.
template <class T>
void record_on_host(const OpCall& call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const T* metrics = call.operand<const T>(Name::metrics);
  const T* statistics = call.operand<const T>(Name::statistics);
  auto* control = call.operand<StepControl>(Name::control);
  auto* ring = call.operand<StepRecord>(Name::ring);
  float rounded[kMetrics];
  for (int k = 0; k < kMetrics; ++k) rounded[k] = static_cast<float>(metrics[k]);
  float sums[kStatistics];
  for (int k = 0; k < kStatistics; ++k) {
    const T* parts = statistics + std::ptrdiff_t{k} * kSumParts;
    sums[k] = static_cast<float>(std::accumulate(parts, parts + kSumParts, 0.0));
  }
  ring[control->step % static_cast<std::uint64_t>(call.shape.count)] =
      record_of(*control, static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count()), rounded, sums);
  *control = next_control(*control, static_cast<std::uint32_t>(call.shape.batch), rounded[kLossMetric]);
}

/// micro_batch.record with metrics of type T, computed in it.
template <class T>
void record_micro_batch_on_host(const OpCall& call) {
  const T* metrics = call.operand<const T>(Name::metrics);
  auto* control = call.operand<StepControl>(Name::control);
  T* sums = call.operand<T>(Name::sums);
  const optimizer::ShardPlace place = optimizer::place_of(*control, call.shape.shards);
  for (int k = 0; k < kMetrics; ++k) {
    T sum = (place.first ? T{0} : sums[k]) + metrics[k] / static_cast<T>(control->micro_batches);
    for (int slot = 1; slot <= place.waiting; ++slot) sum += sums[slot * kMetrics + k];
    sums[k] = sums[place.slot * kMetrics + k] = sum;
  }
  control->position = next_position(*control, static_cast<std::uint32_t>(call.shape.batch));
  ++control->micro_batch;
}

}  // namespace warpscope::ops::step
