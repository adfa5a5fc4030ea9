// Counts and sums against a plain reference in double precision, on the CPU and, where there is one, on a GPU.

#include "gpu/statistics/count_values.h"

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/random.h"
#include "gpu/ops/host_values.h"
#include "gpu/statistics/distribution.h"
#include "tests/support/device_case.h"

namespace warpscope::statistics::count_values_test {
namespace {

using core::ElementType;

/// Every kind of FP32 number: a third has random bits, a third is of ordinary size, the others are special.
std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special{0.0f,
                                   -0.0f,
                                   infinity,
                                   -infinity,
                                   std::numeric_limits<float>::quiet_NaN(),
                                   std::numeric_limits<float>::denorm_min(),
                                   -std::numeric_limits<float>::denorm_min(),
                                   std::numeric_limits<float>::min(),
                                   std::numeric_limits<float>::max(),
                                   65519.996f,
                                   65520.0f,
                                   -65536.0f,
                                   0x1p-14f,
                                   0x1.ffcp-15f,
                                   0x1.ff8p-15f,
                                   0x1p-25f,
                                   0x1.000002p-25f,
                                   0x1p-134f,
                                   0x1.8p-134f,
                                   0x1.fep-127f,
                                   0x1.ff8p-127f,
                                   0x1.fefffep127f,
                                   0x1.ffp127f,
                                   1.0f,
                                   1.5f,
                                   0x1.7ffffep0f};
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = core::random_bits(seed, i);
    if (bits % 3 == 0) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32)));
    } else if (bits % 3 == 1) {
      values.push_back(static_cast<float>(
          std::ldexp(core::random_unit(seed + 1, i) - 0.5, static_cast<int>((bits >> 8) % 40) - 30)));
    } else {
      values.push_back(special[(bits >> 8) % special.size()]);
    }
  }
  return values;
}

/// What a format makes of a number, by converting it.
void count_loss(double value, ElementType type, double least_normal, Counter first,
                std::vector<std::uint32_t>& counts) {
  const double stored = ops::decode(ops::encode(std::vector{value}, type), type).front();
  if (std::isinf(stored)) ++counts[static_cast<std::size_t>(first)];
  if (stored == 0) ++counts[static_cast<std::size_t>(first) + 1];
  if (stored != 0 && std::fabs(stored) < least_normal) ++counts[static_cast<std::size_t>(first) + 2];
}

struct Reference {
  std::vector<std::uint32_t> counts = std::vector<std::uint32_t>(kCounters);
  double sum = 0, magnitudes = 0, squares = 0;
  double least = std::numeric_limits<double>::infinity(), most = -least;
};

void add(Reference& reference, double value) {
  auto& counts = reference.counts;
  if (std::isnan(value)) return void(++counts[kNans]);
  if (std::isinf(value)) return void(++counts[kInfinities]);
  reference.sum += value;
  reference.magnitudes += std::fabs(value);
  reference.squares += value * value;
  reference.least = std::min(reference.least, value);
  reference.most = std::max(reference.most, value);
  if (value == 0) return void(++counts[kZeros]);
  const double size = std::fabs(value);
  int half = 0;
  while (half + 1 < kHalfOctaves && size >= half_octave(half).high) ++half;
  ++counts[static_cast<std::size_t>((value > 0 ? kPositive : kNegative) + half)];
  count_loss(value, ElementType::f16, 0x1p-14, kFp16Overflows, counts);
  count_loss(value, ElementType::bf16, 0x1p-126, kBf16Overflows, counts);
}

/// A tensor of a test: what lies in memory, and which numbers that stands for.
struct Tensor {
  ElementType type;
  std::uint32_t result;
  ops::Bytes bytes;
  std::vector<float> before;
  float divisor = 1;
};

Tensor tensor(ElementType type, std::uint32_t result, const std::vector<float>& values) {
  const std::vector<double> wide(values.begin(), values.end());
  return {type, result, ops::encode(wide, type), {}, 1};
}

class Counting : public tests::DeviceCase {
 protected:
  /// Counts the tensors into `results` distributions.
  std::vector<Distribution> count(const std::vector<Tensor>& tensors, std::uint32_t results) {
    std::vector<core::Buffer> memory;
    std::vector<CountedTensor> table;
    for (const Tensor& one : tensors) {
      CountedTensor counted;
      memory.push_back(uploaded(one.bytes.data(), one.bytes.size()));
      counted.values = memory.back().data();
      counted.type = one.type;
      counted.result = one.result;
      counted.elements = static_cast<std::int64_t>(one.bytes.size() / core::size_of(one.type));
      if (!one.before.empty()) {
        memory.push_back(uploaded(one.before.data(), one.before.size() * sizeof(float)));
        counted.before = memory.back().as<const float>();
      }
      memory.push_back(uploaded(&one.divisor, sizeof(float)));
      if (one.divisor != 1) counted.divisor = memory.back().as<const float>();
      table.push_back(counted);
    }
    CountCall call;
    call.chunks = lay_out_chunks(table);
    call.tensor_count = static_cast<int>(table.size());
    const core::Buffer tables = uploaded(table.data(), table.size() * sizeof(CountedTensor));
    std::vector<std::uint32_t> counters(std::size_t{results} * kCounters);
    std::vector<ChunkSums> sums(static_cast<std::size_t>(call.chunks));
    const core::Buffer device_counters = uploaded(counters.data(), counters.size() * sizeof(std::uint32_t));
    const core::Buffer device_sums = uploaded(sums.data(), sums.size() * sizeof(ChunkSums));
    call.tensors = tables.as<const CountedTensor>();
    call.counters = device_counters.as<std::uint32_t>();
    call.sums = device_sums.as<ChunkSums>();
    count_values(*device_, *stream_, call);
    stream_->copy(counters.data(), call.counters, counters.size() * sizeof(std::uint32_t));
    stream_->copy(sums.data(), call.sums, sums.size() * sizeof(ChunkSums));
    stream_->synchronize();
    std::vector<Distribution> found;
    for (std::uint32_t i = 0; i < results; ++i) found.push_back(distribution_of(counters, i, table, sums));
    return found;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, Counting, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return which.param; });

void expect_equal(const Distribution& found, const Reference& wanted) {
  for (std::size_t i = 0; i < wanted.counts.size(); ++i) EXPECT_EQ(found.counters[i], wanted.counts[i]) << i;
  EXPECT_NEAR(found.sum, wanted.sum, 1e-12 * wanted.magnitudes);
  EXPECT_NEAR(found.squares, wanted.squares, 1e-12 * wanted.squares);
  if (wanted.least > wanted.most) return;
  EXPECT_EQ(found.least, static_cast<float>(wanted.least));
  EXPECT_EQ(found.most, static_cast<float>(wanted.most));
}

Reference reference_of(const std::vector<double>& values) {
  Reference reference;
  for (const double value : values) add(reference, value);
  return reference;
}

TEST_P(Counting, SortsEveryKindOfNumberAndAddsTheFiniteOnes) {
  // Odd sizes, shorter and longer than a chunk, and one that ends with it.
  for (const std::size_t size : {std::size_t{1}, std::size_t{1021}, static_cast<std::size_t>(kChunkElements),
                                 static_cast<std::size_t>(3 * kChunkElements + 77)}) {
    SCOPED_TRACE(size);
    std::vector<Tensor> tensors;
    std::vector<Reference> wanted;
    std::uint32_t result = 0;
    for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
      tensors.push_back(tensor(type, result, numbers(size, size + result)));
      ++result;
      wanted.push_back(reference_of(ops::decode(tensors.back().bytes, type)));
    }
    const auto found = count(tensors, result);
    for (std::uint32_t i = 0; i < result; ++i) expect_equal(found[i], wanted[i]);
  }
}

TEST_P(Counting, TakesDifferencesAndDivides) {
  const std::vector<float> values = numbers(5001, 3), before = numbers(5001, 4);
  Tensor changed = tensor(ElementType::f32, 0, values);
  changed.before = before;
  changed.divisor = 3;
  Reference wanted;
  for (std::size_t i = 0; i < values.size(); ++i) {
    add(wanted, static_cast<double>((values[i] - before[i]) / 3.0f));
  }
  expect_equal(count({changed}, 1).front(), wanted);
}

TEST_P(Counting, AddsTensorsThatShareAResult) {
  const std::vector<float> weights = numbers(40001, 5), bias = numbers(33, 6);
  std::vector<double> both(weights.begin(), weights.end());
  both.insert(both.end(), bias.begin(), bias.end());
  const auto found = count({tensor(ElementType::f32, 1, weights), tensor(ElementType::f32, 0, {7.0f}),
                            tensor(ElementType::f32, 1, bias)},
                           2);
  expect_equal(found[1], reference_of(both));
  EXPECT_EQ(found[0].elements(), 1u);
  EXPECT_EQ(found[0].least, 7.0f);
}

TEST_P(Counting, GivesTheSameBitsTwice) {
  const std::vector<Tensor> tensors{tensor(ElementType::f32, 0, numbers(200003, 8))};
  const Distribution once = count(tensors, 1).front(), twice = count(tensors, 1).front();
  EXPECT_EQ(once.counters, twice.counters);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(once.sum), std::bit_cast<std::uint64_t>(twice.sum));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(once.squares), std::bit_cast<std::uint64_t>(twice.squares));
}

TEST_P(Counting, OfNothingFiniteHasNoRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Distribution found = count({tensor(ElementType::f32, 0, {nan, nan})}, 1).front();
  EXPECT_EQ(found.finite(), 0u);
  EXPECT_EQ(found.elements(), 2u);
  EXPECT_EQ(found.least, 0.0f);
  EXPECT_EQ(found.mean(), 0.0);
  EXPECT_FALSE(quantile(found, 0.5).has_value());
}

}  // namespace
}  // namespace warpscope::statistics::count_values_test
