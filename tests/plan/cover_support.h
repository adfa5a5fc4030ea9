#pragma once
// What the tests of covers share: programs, and what holds of every cover.

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/plan/cover.h"

namespace warpscope::plan {

inline Program program_of(const models::Model& model, Purpose purpose = Purpose::training,
                          core::Precision precision = core::Precision::fp32) {
  return lower(model, purpose, 8, 100, 16, precision);
}

/// `model` with a linear layer "fc" at its end, which tells ten classes apart.
inline models::Model classifying(models::Model model) {
  model.layers.push_back({.kind = models::LayerKind::linear, .name = "fc", .out_channels = 10});
  model.loss = models::Loss::cross_entropy;
  model.classes = 10;
  models::fit_layers(model);
  return model;
}

inline std::size_t index_of(const Program& program, ops::Op op, const std::string& layer) {
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    if (program.nodes[n].op == op && program.nodes[n].layer == layer) return n;
  }
  throw std::logic_error("no such node");
}

inline const NodeCover& node_of(const Program& program, const std::vector<NodeCover>& nodes, ops::Op op,
                                const std::string& layer) {
  return nodes[index_of(program, op, layer)];
}

inline core::DeviceInfo cpu() {
  return core::open_device("cpu")->info();
}

/// A GPU that need not be there.
inline core::DeviceInfo gpu(int compute_capability) {
  core::DeviceInfo info;
  info.kind = core::DeviceKind::cuda;
  info.compute_capability = compute_capability;
  return info;
}

inline bool has_gpu_variants() {
  return !ops::variants_of(*ops::built_in_variants(), ops::Op::conv2d_forward, core::DeviceKind::cuda)
              .empty();
}

/// Where covers are tried.
struct CoverCase {
  core::DeviceInfo device;
  std::vector<ops::Variant> variants;
  core::Precision precision = core::Precision::fp32;

  std::vector<NodeCover> cover(const Program& program, Selection selection = {}) const {
    selection.precision = precision;
    return plan::cover(program, selection, {device, variants});
  }
};

/// A variant in FP32 that is never launched.
inline ops::Variant chain_variant(ops::Op op, const char* name, std::vector<ops::Link> chain) {
  return {.op = op,
          .name = name,
          .precisions = {core::Precision::fp32},
          .chain = std::move(chain),
          .summary = "",
          .launch = [](const ops::OpCall&) {}};
}

/// The CPU, with the variants that there are and `more`, and, where this build has its variants, a GPU.
inline std::vector<CoverCase> cover_cases(const std::vector<ops::Variant>& more) {
  const std::vector<ops::Variant> all{ops::built_in_variants()->begin(), ops::built_in_variants()->end()};
  std::vector<CoverCase> cases{{cpu(), all}};
  cases.front().variants.insert(cases.front().variants.end(), more.begin(), more.end());
  if (has_gpu_variants()) cases.push_back({gpu(90), all});
  return cases;
}

/// The tensor behind an operand of a call, or -1.
inline int tensor_of(const std::vector<BoundOperand>& operands, ops::Name name) {
  for (const BoundOperand& each : operands) {
    if (each.operand.name == name) return each.tensor;
  }
  return -1;
}

inline std::vector<ops::Op> launches(const Program& program, const std::vector<NodeCover>& nodes) {
  std::vector<ops::Op> list;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].variant != nullptr) list.push_back(program.nodes[n].op);
  }
  return list;
}

/// What holds of every cover: each node is launched or covered, what is read has been written, in the same
/// format.
inline void expect_all_written(const Program& program, const std::vector<NodeCover>& nodes) {
  struct Written {
    bool is = false;
    const ops::Format* format = nullptr;
  };
  std::vector<Written> written(program.tensors.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    EXPECT_EQ(nodes[n].variant == nullptr, nodes[n].covered_by >= 0) << ops::to_string(program.nodes[n].op);
    for (const BoundOperand& each : nodes[n].operands) {
      const auto t = static_cast<std::size_t>(each.tensor);
      const Tensor& tensor = program.tensors[t];
      if (each.operand.access == ops::Access::read && tensor.storage == Storage::planned &&
          !tensor.persistent) {
        EXPECT_TRUE(written[t].is) << tensor.name << ", read by " << ops::to_string(program.nodes[n].op);
        EXPECT_EQ(written[t].format, each.operand.format) << tensor.name;
      }
    }
    for (const BoundOperand& each : nodes[n].operands) {
      if (each.operand.access == ops::Access::read) continue;
      written[static_cast<std::size_t>(each.tensor)] = {true, each.operand.format};
    }
  }
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].kept) {
      EXPECT_TRUE(written[t].is) << program.tensors[t].name;
      EXPECT_EQ(written[t].format, nullptr) << program.tensors[t].name;
    }
  }
}

/// The same, and each operand has the size of its tensor: a chain gives its ops the shapes that they have.
inline void expect_consistent(const Program& program, const std::vector<NodeCover>& nodes) {
  expect_all_written(program, nodes);
  for (const NodeCover& node : nodes) {
    for (const BoundOperand& each : node.operands) {
      const Tensor& tensor = program.tensors[static_cast<std::size_t>(each.tensor)];
      if (each.operand.format != nullptr || tensor.storage != Storage::planned) continue;
      EXPECT_EQ(each.operand.elements, tensor.elements) << tensor.name;
    }
  }
}

}  // namespace warpscope::plan
