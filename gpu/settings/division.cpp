#include "gpu/settings/division.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training {
namespace {

void check_division(const OptimizerSettings& optimizer, int batch, bool fixed, int ranks) {
  if (optimizer.per_sample && (fixed || ranks > 1)) {
    throw core::BadInput(fmt::format("per_sample changes the weights after each image, which {} cannot",
                                     ranks > 1 ? "several ranks" : "a step of fixed sums"));
  }
  if (!fixed) {
    if (batch >= ranks) return;
    throw core::BadInput(fmt::format(
        "a batch of {} cannot be divided among {} ranks: take a larger batch or fewer ranks", batch, ranks));
  }
  if (kShards % ranks != 0) {
    throw core::BadInput(
        fmt::format("deterministic training takes 1, 2, 4 or 8 ranks, not {}: it adds {} parts of each batch",
                    ranks, kShards));
  }
  if (batch % kShards != 0) {
    throw core::BadInput(fmt::format(
        "deterministic training divides each batch in {} parts, and {} images are no multiple of that",
        kShards, batch));
  }
}

}  // namespace

Division divide(const OptimizerSettings& optimizer, int batch, bool fixed, const ranks::Place& place) {
  check_division(optimizer, batch, fixed, place.size);
  Division part;
  part.images_of_step = optimizer.per_sample ? batch : batch * optimizer.accumulate;
  if (optimizer.per_sample) {
    part.passes = part.images = batch;
    return part;
  }
  if (fixed) {
    part.shards = kShards / place.size;
    part.batch = batch / kShards;
    part.passes = part.shards * optimizer.accumulate;
    part.images_before = place.rank * part.batch * part.passes;
  } else {
    const int more = batch % place.size;  // ranks that take one more
    part.batch = batch / place.size + (place.rank < more ? 1 : 0);
    part.passes = optimizer.accumulate;
    part.images_before =
        optimizer.accumulate * (place.rank * (batch / place.size) + std::min(place.rank, more));
  }
  part.first_pass = place.rank * part.passes;
  part.images = part.batch * part.passes;
  return part;
}

}  // namespace warpscope::training
