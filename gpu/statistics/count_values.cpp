#include "gpu/statistics/count_values.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <stdexcept>

#include "gpu/core/parallel.h"
#include "gpu/ops/host_values.h"

namespace warpscope::statistics {
namespace {

using core::ElementType;
using Counts = std::array<std::uint32_t, kCounters>;

/// Elements [begin, end) of the tensor, widened to FP32.
std::vector<float> widened(const CountedTensor& tensor, std::int64_t begin, std::int64_t end) {
  const auto count = static_cast<std::size_t>(end - begin);
  if (tensor.type == ElementType::f32) {
    const float* const from = static_cast<const float*>(tensor.values) + begin;
    return {from, from + count};
  }
  if (tensor.type != ElementType::f16 && tensor.type != ElementType::bf16) {
    throw std::logic_error("count_values takes f32, f16 and bf16");
  }
  const std::size_t size = core::size_of(tensor.type);
  const auto* const from =
      static_cast<const std::byte*>(tensor.values) + static_cast<std::size_t>(begin) * size;
  const std::vector<double> wide = ops::decode({from, count * size}, tensor.type);
  return {wide.begin(), wide.end()};
}

void count(float value, Counts& counts, ChunkSums& sums) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int bin = bin_of(bits);
  ++counts[static_cast<std::size_t>(bin)];
  if (bin == kInfinities || bin == kNans) return;
  const auto wide = static_cast<double>(value);
  sums.sum += wide;
  sums.squares += wide * wide;
  sums.least = std::min(sums.least, value);
  sums.most = std::max(sums.most, value);
  if (bin == kZeros) return;
  if (const int loss = fp16_loss(bits); loss >= 0) ++counts[static_cast<std::size_t>(loss)];
  if (const int loss = bf16_loss(bits); loss >= 0) ++counts[static_cast<std::size_t>(loss)];
}

void count_chunk(const CountCall& call, std::int64_t chunk) {
  const CountedTensor* const end = call.tensors + call.tensor_count;
  const CountedTensor& tensor = *(std::upper_bound(call.tensors, end, chunk,
                                                   [](std::int64_t wanted, const CountedTensor& one) {
                                                     return wanted < one.first_chunk;
                                                   }) -
                                  1);
  const std::int64_t first = (chunk - tensor.first_chunk) * kChunkElements;
  std::vector<float> values = widened(tensor, first, std::min(tensor.elements, first + kChunkElements));
  const float divisor = tensor.divisor == nullptr ? 1.0f : *tensor.divisor;
  Counts counts{};
  ChunkSums sums;
  sums.least = std::numeric_limits<float>::infinity();
  sums.most = -sums.least;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float before =
        tensor.before == nullptr ? 0.0f : tensor.before[first + static_cast<std::int64_t>(i)];
    count((values[i] - before) / divisor, counts, sums);
  }
  call.sums[chunk] = sums;
  std::uint32_t* const result = call.counters + std::size_t{tensor.result} * kCounters;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) std::atomic_ref(result[i]).fetch_add(counts[i], std::memory_order_relaxed);
  }
}

}  // namespace

std::int64_t lay_out_chunks(std::span<CountedTensor> tensors) {
  std::int64_t chunks = 0;
  for (CountedTensor& tensor : tensors) {
    tensor.first_chunk = chunks;
    chunks += (tensor.elements + kChunkElements - 1) / kChunkElements;
  }
  return chunks;
}

void count_values(const core::Device& device, core::Stream& stream, const CountCall& call) {
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda) return count_values_cuda(stream, call);
  }
  core::parallel_for(call.chunks, 1, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) count_chunk(call, chunk);
  });
}

}  // namespace warpscope::statistics
