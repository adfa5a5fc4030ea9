// What people see of a plan's memory is what the plan holds.

#include "gpu/plan/memory_map.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/plan/plan.h"
#include "tests/plan/cover_support.h"
#include "tests/support/plan_memory.h"
#include "tests/support/tiny.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::plan::memory_map_test {
namespace {

/// An H100 as far as planning goes; nothing runs on it.
core::DeviceInfo hopper() {
  core::DeviceInfo info = gpu(90);
  info.name = "made up";
  info.multiprocessors = 132;
  return info;
}

MemoryMap map_of(const models::Model& model, core::Precision precision, int batch,
                 const core::DeviceInfo& device = cpu()) {
  return memory_map(model, Purpose::training, Selection{precision, {}}, batch, device);
}

TEST(MemoryMap, PartsThatHoldSomethingAtTheSameTimeDoNotOverlap) {
  const MemoryMap map = map_of(tests::tiny_model(), core::Precision::fp32, 6);
  ASSERT_GT(map.parts.size(), 8u);
  for (const MemoryPart& a : map.parts) {
    EXPECT_LE(a.first, a.last);
    EXPECT_LE(a.offset + a.bytes, map.bytes) << a.name;
    for (const MemoryPart& b : map.parts) {
      if (&a == &b || a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << a.name << ", " << b.name;
    }
  }
}

TEST(MemoryMap, TakesWhatThePlanTakes) {
  for (const models::Model& model : {tests::tiny_model(), tests::tiny_classifier()}) {
    for (const Purpose purpose : {Purpose::training, Purpose::inference, Purpose::inspection}) {
      tests::PlanMemory memory(core::open_device("cpu"), model);
      const Plan plan(model, purpose, {}, 5, memory.device, *memory.stream, memory.bindings());
      const MemoryMap map = memory_map(model, purpose, {}, 5, memory.device->info());
      EXPECT_EQ(map.bytes, plan.memory_bytes());
      const auto launched = std::count_if(plan.nodes().begin(), plan.nodes().end(),
                                          [](const PlanNode& node) { return node.variant != nullptr; });
      EXPECT_EQ(static_cast<std::ptrdiff_t>(map.calls.size()), launched);
    }
  }
}

TEST(MemoryMap, TellsWhatLiesThere) {
  const MemoryMap map = map_of(tests::tiny_model(), core::Precision::fp32, 6);
  std::set<MemoryKind> kinds;
  for (const MemoryPart& part : map.parts) {
    EXPECT_FALSE(part.name.empty());
    kinds.insert(part.kind);
  }
  EXPECT_TRUE(kinds.contains(MemoryKind::activations));
  EXPECT_TRUE(kinds.contains(MemoryKind::gradients));
  EXPECT_FALSE(kinds.contains(MemoryKind::weights)) << "FP32 has no other weights than the master's";
}

TEST(MemoryMap, NoPlacementTakesLessThanThePeak) {
  const MemoryMap map = map_of(tests::tiny_classifier(), core::Precision::fp32, 7);
  const MemoryCall& peak = map.calls[map.peak_call()];
  for (const MemoryCall& call : map.calls) EXPECT_LE(call.live_bytes, peak.live_bytes);
  EXPECT_GT(peak.live_bytes, 0u);
  EXPECT_LE(peak.live_bytes, map.bytes);
}

TEST(MemoryMap, GrowsWithTheBatch) {
  const models::Model model = tests::tiny_model();
  EXPECT_LT(map_of(model, core::Precision::fp32, 4).bytes, map_of(model, core::Precision::fp32, 8).bytes);
}

TEST(MemoryMap, OfADeviceThatIsNotThereIsPlannedAllTheSame) {
  if (automatic_variant(ops::Op::conv2d_forward, hopper(), core::Precision::bf16) == nullptr) {
    GTEST_SKIP() << "built without the CUDA variants";
  }
  const MemoryMap half = map_of(tests::tiny_model(), core::Precision::bf16, 64, hopper());
  const MemoryMap single = map_of(tests::tiny_model(), core::Precision::fp32, 64, hopper());
  EXPECT_LT(half.bytes, single.bytes);
  const bool has_weights = std::any_of(half.parts.begin(), half.parts.end(), [](const MemoryPart& part) {
    return part.kind == MemoryKind::weights;
  });
  EXPECT_TRUE(has_weights);
}

TEST(MemoryMap, OfWhatCannotRunIsRefusedAsThePlanIs) {
  const Selection missing{core::Precision::fp32, {{ops::Op::conv2d_forward, "hopper"}}};
  EXPECT_THROW(memory_map(tests::tiny_model(), Purpose::training, missing, 4, cpu()), core::BadInput);
}

}  // namespace
}  // namespace warpscope::plan::memory_map_test
