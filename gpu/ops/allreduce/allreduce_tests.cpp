#include "gpu/ops/op_tests.h"
#include "gpu/ops/test_shapes.h"

namespace warpscope::ops::allreduce {
namespace {

/// For GPUs that are linked in every way, which is what variants ask for.
std::vector<OpShape> shapes() {
  std::vector<OpShape> shapes;
  for (const int count : {1, 3, 255, 1025}) {
    shapes.push_back({.in_channels = 0, .count = count, .linked = true, .peers = true});
    shapes.push_back({.in_channels = 5, .count = count, .linked = true, .peers = true});
  }
  return shapes;
}

}  // namespace

/// One rank's, which are its own values: tests/ranks has several.
OpTests gradients_tests() {
  return {.shapes = shapes, .random_shape = test_shapes::random_parameters, .no_derivative = kNoFunction};
}

}  // namespace warpscope::ops::allreduce
