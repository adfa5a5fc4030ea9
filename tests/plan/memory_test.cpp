#include "gpu/plan/memory.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/plan/cover_support.h"
#include "tests/support/plain_cover.h"
#include "tests/support/tiny.h"

namespace warpscope::plan::memory_test {
namespace {

constexpr int kUnused = -1;

/// When a tensor's contents matter, found only from the calls: from the node that writes it to the last that
/// reads it.
struct Life {
  int first = kUnused;
  int last = kUnused;
};

std::vector<Life> lives(const Program& program, const std::vector<NodeCover>& nodes) {
  std::vector<Life> lives(program.tensors.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const BoundOperand& used : nodes[n].operands) {
      const int parent = program.tensors[static_cast<std::size_t>(used.tensor)].parent;
      Life& life = lives[static_cast<std::size_t>(parent < 0 ? used.tensor : parent)];
      if (life.first == kUnused) life.first = static_cast<int>(n);
      life.last = static_cast<int>(n);
    }
  }
  for (std::size_t t = 0; t < lives.size(); ++t) {
    if (program.tensors[t].kept) lives[t].last = static_cast<int>(program.nodes.size());
  }
  return lives;
}

struct Range {
  std::size_t begin;
  std::size_t end;
  bool meets(const Range& other) const { return begin < other.end && other.begin < end; }
};

/// A program with made-up workspaces, and everything that may be asked of its memory.
struct Case {
  std::string name;
  Purpose purpose;
  Program program;
  core::Precision precision;
  bool covered;
  std::vector<NodeCover> nodes;
  std::vector<std::size_t> workspaces;
  MemoryPlan plan;

  Case(std::string title, const models::Model& model, Purpose why, int batch, core::Precision in,
       const Recipe& recipe = {}, const core::DeviceInfo* device = nullptr)
      : name(std::move(title)),
        purpose(why),
        program(lower(model, why, batch, 100, 16, in, recipe)),
        precision(in),
        covered(device != nullptr),
        nodes(covered ? cover(program, Selection{in, {}}, *device) : tests::plain_cover(program)) {
    for (std::size_t n = 0; n < program.nodes.size(); ++n) workspaces.push_back(n * 7919 % 5 * 1000);
    plan = plan_memory(program, nodes, precision, workspaces);
  }
  bool planned(std::size_t t) const {
    return program.tensors[t].storage == Storage::planned && lives(program, nodes)[t].first != kUnused;
  }
  /// As it is stored: packed formats are smaller than the contract's.
  std::size_t bytes(std::size_t t) const {
    for (const NodeCover& node : nodes) {
      for (const BoundOperand& each : node.operands) {
        if (each.tensor == static_cast<int>(t)) return ops::bytes_of(each.operand, precision);
      }
    }
    const Tensor& tensor = program.tensors[t];
    return static_cast<std::size_t>(tensor.elements) *
           core::size_of(ops::element_type(tensor.role, precision));
  }
  Range range(std::size_t t) const { return {plan.tensor_offset[t], plan.tensor_offset[t] + bytes(t)}; }
  Range workspace(std::size_t n) const {
    return {plan.workspace_offset[n], plan.workspace_offset[n] + workspaces[n]};
  }
  /// True if the op that makes `made` may write it over `source`, which nobody reads afterwards.
  bool in_place(std::size_t source, std::size_t made, const std::vector<Life>& life) const {
    if (life[source].last != life[made].first || bytes(source) != bytes(made)) return false;
    const Node& node = program.nodes[static_cast<std::size_t>(life[made].first)];
    const auto operands = ops::contract(node.op).operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const int of = operands[i].in_place_of;
      if (of < 0 || node.tensors[i] != static_cast<int>(made)) continue;
      if (node.tensors[static_cast<std::size_t>(of)] == static_cast<int>(source))
        return plan.tensor_offset[source] == plan.tensor_offset[made];
    }
    return false;
  }
};

std::vector<Case> cases() {
  std::vector<Case> list;
  const models::Model tiny = tests::tiny_model();
  const models::Model autoencoder = models::find_model("autoencoder");
  for (const Purpose purpose : {Purpose::training, Purpose::inference, Purpose::inspection}) {
    const std::string what = purpose == Purpose::training    ? " training"
                             : purpose == Purpose::inference ? " inference"
                                                             : " inspection";
    for (const int batch : {1, 3, 64}) {
      list.emplace_back("tiny" + what, tiny, purpose, batch, core::Precision::fp32);
      list.emplace_back("autoencoder" + what, autoencoder, purpose, batch, core::Precision::fp32);
    }
    list.emplace_back("autoencoder bf16" + what, autoencoder, purpose, 32, core::Precision::bf16);
    list.emplace_back("autoencoder fp16" + what, autoencoder, purpose, 5, core::Precision::fp16);
    for (const models::Model& model : {autoencoder, models::find_model("classifier")}) {
      static const core::DeviceInfo on_cpu = cpu(), on_gpu = gpu(90);
      list.emplace_back(model.name + " on a CPU" + what, model, purpose, 4, core::Precision::fp32,
                        Recipe{.micro_batches = 2}, &on_cpu);
      if (ops::variants_of(*ops::built_in_variants(), ops::Op::conv2d_forward, on_gpu.kind).empty()) continue;
      list.emplace_back(model.name + " on a GPU" + what, model, purpose, 32, core::Precision::bf16,
                        Recipe{.micro_batches = 2}, &on_gpu);
    }
  }
  return list;
}

TEST(Memory, NoTwoLiveTensorsOverlapUnlessInPlace) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<Life> life = lives(c.program, c.nodes);
    for (std::size_t a = 0; a < life.size(); ++a) {
      for (std::size_t b = a + 1; b < life.size(); ++b) {
        if (!c.planned(a) || !c.planned(b) || !c.range(a).meets(c.range(b))) continue;
        if (life[a].last < life[b].first || life[b].last < life[a].first) continue;
        EXPECT_TRUE(c.in_place(a, b, life) || c.in_place(b, a, life))
            << c.program.tensors[a].name << " and " << c.program.tensors[b].name;
      }
    }
  }
}

TEST(Memory, WorkspacesOverlapNothingThatIsLive) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<Life> life = lives(c.program, c.nodes);
    for (std::size_t n = 0; n < c.program.nodes.size(); ++n) {
      for (std::size_t t = 0; t < life.size(); ++t) {
        const bool live = life[t].first <= static_cast<int>(n) && static_cast<int>(n) <= life[t].last;
        if (!c.planned(t) || !live) continue;
        EXPECT_FALSE(c.workspace(n).meets(c.range(t))) << "node " << n << ", " << c.program.tensors[t].name;
      }
    }
  }
}

TEST(Memory, EverythingIsAlignedAndInside) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    for (std::size_t t = 0; t < c.program.tensors.size(); ++t) {
      if (!c.planned(t)) continue;
      EXPECT_EQ(c.plan.tensor_offset[t] % 256, 0u) << c.program.tensors[t].name;
      EXPECT_LE(c.range(t).end, c.plan.bytes) << c.program.tensors[t].name;
    }
    for (std::size_t n = 0; n < c.workspaces.size(); ++n) {
      EXPECT_EQ(c.plan.workspace_offset[n] % 256, 0u);
      EXPECT_LE(c.workspace(n).end, c.plan.bytes);
    }
  }
}

TEST(Memory, KeptTensorsAreNeverOverwritten) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    std::vector<std::size_t> kept;
    for (std::size_t t = 0; t < c.program.tensors.size(); ++t) {
      if (c.program.tensors[t].kept) kept.push_back(t);
    }
    const std::vector<Life> life = lives(c.program, c.nodes);
    for (const std::size_t k : kept) {
      for (std::size_t t = 0; t < life.size(); ++t) {
        if (t == k || !c.planned(t) || life[t].first <= life[k].first) continue;
        EXPECT_FALSE(c.range(k).meets(c.range(t)))
            << c.program.tensors[t].name << " overwrites " << c.program.tensors[k].name;
      }
    }
  }
}

TEST(Memory, PersistentTensorsShareNothing) {
  Recipe recipe;
  recipe.micro_batches = 3;
  recipe.rule = ops::UpdateRule::adam;
  const Program program =
      lower(tests::tiny_model(), Purpose::training, 3, 100, 16, core::Precision::fp32, recipe);
  const MemoryPlan memory = plan_memory(program, tests::plain_cover(program), core::Precision::fp32,
                                        std::vector<std::size_t>(program.nodes.size(), 100));
  const auto end = [&](std::size_t t) {
    const Tensor& tensor = program.tensors[t];
    return memory.tensor_offset[t] + static_cast<std::size_t>(tensor.elements) *
                                         core::size_of(ops::element_type(tensor.role, core::Precision::fp32));
  };
  int persistent = 0;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    if (!program.tensors[t].persistent) continue;
    ++persistent;
    for (std::size_t other = 0; other < program.tensors.size(); ++other) {
      if (other == t || program.tensors[other].storage != Storage::planned) continue;
      EXPECT_TRUE(end(t) <= memory.tensor_offset[other] || end(other) <= memory.tensor_offset[t])
          << program.tensors[other].name << " lies in " << program.tensors[t].name;
    }
    for (const std::size_t offset : memory.workspace_offset) {
      EXPECT_TRUE(end(t) <= offset || offset + 100 <= memory.tensor_offset[t]) << program.tensors[t].name;
    }
  }
  EXPECT_EQ(persistent, 5) << "metrics and gradients, their sums, statistics, norm";
}

TEST(Memory, InferenceKeepsWhatIsReadAfterIt) {
  const Program program = lower(tests::tiny_model(), Purpose::inference, 3, 100, 16, core::Precision::fp32);
  for (const int tensor : {program.target, program.prediction, program.image_errors,
                           program.tensors[static_cast<std::size_t>(program.loss)].parent}) {
    ASSERT_GE(tensor, 0);
    const Tensor& found = program.tensors[static_cast<std::size_t>(tensor)];
    EXPECT_TRUE(found.kept || found.persistent) << program.tensors[static_cast<std::size_t>(tensor)].name;
  }
}

TEST(Memory, BiasAndReluRunInPlace) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    if (c.covered) continue;                         // what a call covers is in no place
    if (c.purpose == Purpose::inspection) continue;  // what a bias or ReLU reads is kept too
    int in_place = 0;
    int nodes = 0;
    for (const Node& node : c.program.nodes) {
      const bool shares = node.op == ops::Op::bias_forward || node.op == ops::Op::relu_forward ||
                          node.op == ops::Op::relu_backward;
      if (!shares) continue;
      ++nodes;
      const auto operands = ops::contract(node.op).operands;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i].in_place_of < 0) continue;
        const int source = node.tensors[static_cast<std::size_t>(operands[i].in_place_of)];
        EXPECT_EQ(c.plan.tensor_offset[static_cast<std::size_t>(node.tensors[i])],
                  c.plan.tensor_offset[static_cast<std::size_t>(source)])
            << ops::to_string(node.op) << " of " << node.layer;
        ++in_place;
      }
    }
    EXPECT_GT(nodes, 0);
    EXPECT_EQ(in_place, nodes);
  }
}

// As in a call that computes them on its way: nobody reads or writes the largest tensors.
TEST(Memory, WhatIsNotStoredTakesNone) {
  const Program program =
      lower(models::find_model("autoencoder"), Purpose::inference, 8, 100, 16, core::Precision::fp32);
  const std::vector<std::size_t> workspaces(program.nodes.size());
  const std::vector<NodeCover> plain = tests::plain_cover(program);
  std::int64_t largest = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.storage == Storage::planned) largest = std::max(largest, tensor.elements);
  }
  std::vector<NodeCover> fewer = plain;
  for (NodeCover& node : fewer) {
    std::erase_if(node.operands, [&](const BoundOperand& each) {
      return program.tensors[static_cast<std::size_t>(each.tensor)].elements == largest;
    });
  }
  const std::size_t without = plan_memory(program, fewer, core::Precision::fp32, workspaces).bytes;
  EXPECT_LT(without, plan_memory(program, plain, core::Precision::fp32, workspaces).bytes);
}

TEST(Memory, OnACpuTheProductsOfConvolutionsAreNotStored) {
  const Program program =
      lower(models::find_model("autoencoder"), Purpose::training, 8, 100, 16, core::Precision::fp32);
  const std::vector<NodeCover> covered = cover(program, {}, cpu());
  const auto product = static_cast<std::size_t>(program.nodes[1].tensors[2]);
  ASSERT_EQ(program.tensors[product].name, "conv1.product");
  EXPECT_EQ(lives(program, covered)[product].first, kUnused);
}

TEST(Memory, TakesFarLessThanAllTensorsTogether) {
  int compared = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    std::size_t sum = 0;
    for (std::size_t t = 0; t < c.program.tensors.size(); ++t) sum += c.planned(t) ? c.bytes(t) : 0;
    for (const std::size_t bytes : c.workspaces) sum += bytes;
    if (sum < 100'000) continue;                     // alignment counts
    if (c.covered) continue;                         // most of what is stored is needed until backward
    if (c.purpose == Purpose::inspection) continue;  // all is kept
    ++compared;
    EXPECT_LT(c.plan.bytes, sum / 2);
  }
  EXPECT_GE(compared, 4) << "training and inference, of the large batches at least";
}

TEST(Memory, NeverTakesLessThanTheFullestNode) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<Life> life = lives(c.program, c.nodes);
    std::size_t fullest = 0;
    for (std::size_t n = 0; n < c.program.nodes.size(); ++n) {
      std::size_t live = 0;
      for (std::size_t t = 0; t < life.size(); ++t) {
        // A tensor that is about to be overwritten in place counts once: as what it becomes.
        const bool dying = life[t].last == static_cast<int>(n);
        if (c.planned(t) && life[t].first <= static_cast<int>(n) && life[t].last >= static_cast<int>(n) &&
            !dying)
          live += c.bytes(t);
      }
      fullest = std::max(fullest, live);
    }
    EXPECT_GE(c.plan.bytes, fullest);
    // Little is left to run in place: what dies in a node takes memory beside what it becomes.
    if (c.covered) continue;
    EXPECT_LT(c.plan.bytes, 2 * fullest + 200'000) << "greedy placement wastes less than half";
  }
}

}  // namespace
}  // namespace warpscope::plan::memory_test
