#pragma once
// Sums over the micro-batches of a step whose bits do not depend on how many ranks share the step. The micro-batches of
// a shard come one after the other; the sums of 2^n shards are added by a tree, (((0 + 1) + (2 + 3)) + ...), which
// needs a slot for each of its levels: slot 0 holds what is being summed and, in the end, the whole; slot n + 1 waits
// for a neighbour of 2^n shards. A rank that has the shards of a whole subtree makes that subtree's sum, and adding
// those of the ranks by a tree gives the same bits as one rank that has all.

#include <bit>
#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/ops/op.h"
#include "gpu/ops/step/step.h"

namespace warpscope::ops::optimizer {

/// Slots of the sums of so many shards, a power of two.
constexpr int slots_of(int shards) {
  return std::bit_width(static_cast<unsigned>(shards));
}

/// What the sum of one micro-batch comes to.
struct ShardPlace {
  bool first = true;  ///< of its shard: slot 0 begins anew
  int waiting = 0;    ///< slots 1 to `waiting` are added, in this order
  int slot = 0;       ///< and the sum goes there
};

WARPSCOPE_BOTH inline ShardPlace place_of(const step::StepControl& control, int shards) {
  const auto all = static_cast<std::uint32_t>(shards);
  const std::uint32_t each = control.micro_batches / all;
  const std::uint32_t shard = control.micro_batch / each;
  ShardPlace place;
  place.first = control.micro_batch % each == 0;
  if (control.micro_batch % each + 1 < each) return place;
  while ((shard >> place.waiting & 1) != 0) ++place.waiting;
  place.slot = shard + 1 == all ? 0 : place.waiting + 1;
  return place;
}

}  // namespace warpscope::ops::optimizer
