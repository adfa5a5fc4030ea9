// In which pieces gradients are added over ranks while the backward pass makes the others.

#include "gpu/plan/overlap.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/models/model.h"
#include "tests/support/plain_cover.h"
#include "tests/support/tiny.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::plan::overlap_test {
namespace {

using ops::Op;

/// A step of one of several ranks, each op by itself, and a sum over ranks that comes in pieces.
struct Step {
  explicit Step(const models::Model& model, const Recipe& recipe, std::int64_t least = 1)
      : program(lower(model, Purpose::training, 8, 100, 16, core::Precision::bf16, recipe)),
        nodes(tests::plain_cover(program)) {
    in_pieces.least_piece = least;
    for (NodeCover& node : nodes) {
      if (node.variant->op == Op::gradients_allreduce) node.variant = &in_pieces;
    }
  }

  /// The node behind which each gradient is touched no more: -1 of padding.
  std::vector<std::int64_t> last_touches(const Overlap& overlap) const {
    std::vector<std::int64_t> last(static_cast<std::size_t>(program.nodes[overlap.sum].shape.count), -1);
    const std::size_t kept = models_kept();
    for (std::size_t n = 0; n < overlap.sum; ++n) {
      if (n == overlap.adding) continue;
      for (const int index : program.nodes[n].tensors) {
        const Tensor& tensor = program.tensors[static_cast<std::size_t>(index)];
        if (tensor.storage != Storage::gradients) continue;
        const auto begin = last.begin() + static_cast<std::ptrdiff_t>(tensor.offset - kept);
        std::fill(begin, begin + tensor.elements, static_cast<std::int64_t>(n));
      }
    }
    return last;
  }
  std::size_t models_kept() const {
    std::size_t first = SIZE_MAX;
    for (const Tensor& tensor : program.tensors) {
      if (tensor.storage == Storage::gradients) first = std::min(first, tensor.offset);
    }
    return first;
  }

  ops::Variant in_pieces{.op = Op::gradients_allreduce, .name = "pieces", .summary = ""};
  Program program;
  std::vector<NodeCover> nodes;
};

/// Pieces are all of the gradients, each once, and come as early as they can.
void expect_whole_and_ready(const Step& step, const Overlap& overlap) {
  const std::vector<std::int64_t> last = step.last_touches(overlap);
  ASSERT_GE(overlap.pieces.size(), 2U);
  EXPECT_LE(overlap.pieces.size(), 5U);
  auto end = static_cast<std::int64_t>(last.size());
  std::int64_t before = -1;
  for (const SumPiece& piece : overlap.pieces) {
    EXPECT_EQ(piece.end, end);
    ASSERT_LT(piece.begin, piece.end);
    EXPECT_EQ(piece.begin % 64, 0) << "whole parameters, which begin at multiples of 64";
    end = piece.begin;
    if (&piece == &overlap.pieces.back()) break;
    before = std::max(before, *std::max_element(last.begin() + piece.begin, last.begin() + piece.end));
    EXPECT_EQ(static_cast<std::int64_t>(piece.after), before);
  }
  EXPECT_EQ(end, 0);
  EXPECT_EQ(overlap.pieces.back().after, overlap.sum);
}

TEST(Overlap, PiecesAreAllGradientsOfAnyNetworkAsSoonAsTheyAreThere) {
  std::vector<models::Model> networks{tests::tiny_model(), tests::tiny_classifier(),
                                      models::with_head(tests::tiny_model(), 3)};
  for (const std::string& name : models::model_names()) networks.push_back(models::find_model(name));
  for (const models::Model& network : networks) {
    for (const int micro_batches : {1, 3}) {
      if (micro_batches > 1 && network.name != networks.front().name) continue;
      SCOPED_TRACE(network.name + ", " + std::to_string(micro_batches));
      const Step step(network, {.micro_batches = micro_batches, .several_ranks = true});
      const Overlap overlap = overlap_of(step.program, step.nodes);
      expect_whole_and_ready(step, overlap);
      EXPECT_EQ(overlap.adding.has_value(), micro_batches > 1);
      EXPECT_LT(overlap.pieces.front().after, step.program.update - 1);
    }
  }
}

/// Another kind of GPU: the first node of the backward pass that makes a parameter's gradient runs in the call of the
/// last one that does, which belongs to another layer.
std::size_t cover_by_the_last(Step& step, std::size_t sum) {
  const auto makes_gradients = [&](std::size_t n) {
    return std::ranges::any_of(step.program.nodes[n].tensors, [&](int index) {
      return step.program.tensors[static_cast<std::size_t>(index)].storage == Storage::gradients;
    });
  };
  std::size_t first = 0;
  while (!makes_gradients(first)) ++first;
  std::size_t last = sum - 1;
  while (!makes_gradients(last)) --last;
  NodeCover& covered = step.nodes[first];
  NodeCover& call = step.nodes[last];
  call.operands.insert(call.operands.end(), covered.operands.begin(), covered.operands.end());
  covered = {.covered_by = static_cast<int>(last), .shape = covered.shape};
  return last;
}

TEST(Overlap, BordersAreTheSameWhateverCallsCover) {
  Step step(models::find_model("autoencoder"), {.several_ranks = true});
  const Overlap alone = overlap_of(step.program, step.nodes);
  const std::size_t last = cover_by_the_last(step, alone.sum);
  const Overlap covered = overlap_of(step.program, step.nodes);
  ASSERT_EQ(covered.pieces.size(), alone.pieces.size());
  for (std::size_t i = 0; i < alone.pieces.size(); ++i) {
    EXPECT_EQ(covered.pieces[i].begin, alone.pieces[i].begin);
    EXPECT_EQ(covered.pieces[i].end, alone.pieces[i].end);
  }
  EXPECT_LT(alone.pieces.front().after, last);
  EXPECT_EQ(covered.pieces.front().after, last) << "the call that makes its gradients";
}

TEST(Overlap, ThereIsNoneWhereItCouldNotBeRight) {
  const auto pieces = [](const Recipe& recipe, std::int64_t least) {
    const Step step(models::find_model("classifier_bn"), recipe, least);
    return overlap_of(step.program, step.nodes).pieces.size();
  };
  EXPECT_GT(pieces({.several_ranks = true}, 1), 1U);
  EXPECT_EQ(pieces({.several_ranks = true}, 0), 0U) << "the variant takes no pieces";
  EXPECT_EQ(pieces({.several_ranks = true}, 1 << 30), 0U) << "the network is smaller than a piece";
  EXPECT_EQ(pieces({}, 1), 0U) << "one rank";
  EXPECT_EQ(pieces({.micro_batches = 8, .shards = 8, .several_ranks = true}, 1), 0U) << "a tree adds them up";
  EXPECT_EQ(pieces({.several_ranks = true, .norm_images = 16}, 1), 0U) << "batch norms add over ranks too";
}

}  // namespace
}  // namespace warpscope::plan::overlap_test
