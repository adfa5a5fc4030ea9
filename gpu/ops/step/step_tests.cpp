#include <cstring>

#include "gpu/ops/op_tests.h"
#include "gpu/ops/step/step.h"
#include "gpu/ops/test_shapes.h"
#include "gpu/ops/update_draw.h"

namespace warpscope::ops::step {
namespace {

std::vector<OpShape> record_shapes() {
  std::vector<OpShape> shapes{{.batch = 0, .count = 5}};  // as a step of micro-batches ends
  for (const int slots : {1, 3, 255, 1000}) shapes.push_back({.batch = slots % 7 + 1, .count = slots});
  return shapes;
}

std::vector<OpShape> micro_batch_shapes() {
  auto shapes = test_shapes::parameters();
  for (const int shards : {2, 4, 8}) shapes.push_back({.batch = 3, .shards = shards});
  return shapes;
}

OpShape random_micro_batch(Random& random) {
  OpShape shape = test_shapes::random_parameters(random);
  shape.shards = 1 << test_shapes::between(random, 0, 3);
  return shape;
}

void fit_micro_batch(const Draw& draw) {
  update_draw::settings(draw);
  update_draw::divide_in_shards(draw);
  update_draw::point_alike(draw, Name::metrics, Name::sums);
}

void fit_record(const Draw& draw) {
  update_draw::settings(draw);
  draw.edit(Name::statistics, update_draw::square);
  update_draw::sometimes_lose_the_loss(draw);
}

/// The time that the record notes.
bool clear_time(const OpShape& shape, const Operands& before, Operands& after) {
  StepControl control;
  std::memcpy(&control, before[Name::control].data(), sizeof(control));
  const std::size_t at = control.step % static_cast<std::uint64_t>(shape.count) * sizeof(StepRecord);
  StepRecord old;
  StepRecord record;
  std::memcpy(&old, before[Name::ring].data() + at, sizeof(old));
  std::memcpy(&record, after[Name::ring].data() + at, sizeof(record));
  const bool written = record.nanoseconds != 0 && record.nanoseconds != old.nanoseconds;
  record.nanoseconds = 0;
  std::memcpy(after[Name::ring].data() + at, &record, sizeof(record));
  return written;
}

}  // namespace

OpTests micro_batch_tests() {
  return {.shapes = micro_batch_shapes,
          .random_shape = random_micro_batch,
          .fit = fit_micro_batch,
          .no_derivative = kNoFunction};
}

OpTests record_tests() {
  return {.shapes = record_shapes,
          .random_shape = test_shapes::random_parameters,
          .fit = fit_record,
          .no_derivative = kNoFunction,
          .clear_time = clear_time};
}

}  // namespace warpscope::ops::step
