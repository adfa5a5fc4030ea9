#pragma once
// The one table of parameters: what an op's shape tells beside its extents. A row each: type, field of OpShape, what it
// is where nobody says otherwise, the least and the most that files may hold, whether people see it. Files, proofs and
// benches work from the rows, so that another parameter is a row here and a word in the contracts of the ops that read
// it (OpContract::parameters).

#include <cstdint>
#include <string_view>

#include "gpu/ops/optimizer/update_rule.h"

namespace warpscope::ops {

// clang-format off
#define WARPSCOPE_PARAMETERS(X)                                                                                 \
  /* of optimizer.update and optimizer.update_per_sample */                                                     \
  X(UpdateRule, rule, UpdateRule::sgd, 0, kUpdateRuleCount - 1, false)                                          \
  /* of gradients.accumulate and micro_batch.record: the parts of a step whose sums a tree adds, a power of two */ \
  X(int, shards, 1, 1, 64, false)                                                                               \
  /* of gradients.allreduce and sums over ranks of batch norms: NCCL links the ranks' GPUs */                    \
  X(bool, linked, false, 0, 1, false)                                                                           \
  /* of the same: they reach each other's memory */                                                              \
  X(bool, peers, false, 0, 1, false)                                                                            \
  /* of convolutions: input pixels from one output pixel to the next, and from one tap to the next; no padding, \
     else "same": dilation (kernel - 1) / 2 */                                                                  \
  X(int, stride, 1, 1, 0x7FFFFFFF, true)                                                                        \
  X(int, dilation, 1, 1, 0x7FFFFFFF, true)                                                                      \
  X(bool, valid, false, 0, 1, true)                                                                             \
  /* of dropout: the probability that an element is dropped; what tells the layers of a network apart */        \
  X(float, dropout_rate, 0, 0, 1, true)                                                                         \
  X(std::uint32_t, salt, 0, 0, 0xFFFFFFFFu, false)                                                              \
  /* of scale: what each element is multiplied by, not 0 */                                                     \
  X(float, factor, 1, -3e38, 3e38, true)                                                                        \
  /* of a call: the window of a pooling that it covers by a link that takes any, else 1x1 */                    \
  X(int, window_height, 1, 1, 0x7FFFFFFF, false)                                                                \
  X(int, window_width, 1, 1, 0x7FFFFFFF, false)                                                                 \
  /* of a call: input channels of a convolution that it covers before its own op, else 0 */                     \
  X(int, patch_channels, 0, 0, 0x7FFFFFFF, false)
// clang-format on

/// A parameter, by its field in OpShape.
enum class Parameter : std::uint8_t {
#define WARPSCOPE_PARAMETER(type, name, standard, least, most, shown) name,
  WARPSCOPE_PARAMETERS(WARPSCOPE_PARAMETER)
#undef WARPSCOPE_PARAMETER
};

/// What general code knows of a parameter.
struct ParameterRow {
  std::string_view name;
  double least;
  double most;
  /// OpContract::describe leaves it to ops::describe(), which names it where it is not the standard.
  bool shown;
};

inline constexpr ParameterRow kParameters[] = {
#define WARPSCOPE_PARAMETER(type, name, standard, least, most, shown) {#name, least, most, shown},
    WARPSCOPE_PARAMETERS(WARPSCOPE_PARAMETER)
#undef WARPSCOPE_PARAMETER
};

constexpr const ParameterRow& row_of(Parameter parameter) {
  return kParameters[static_cast<int>(parameter)];
}

}  // namespace warpscope::ops
