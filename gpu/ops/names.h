#pragma once
// The names of operands. A call addresses its operands by these, whether an op runs by itself or a variant covers
// several.

#include <array>
#include <cstdint>
#include <string_view>

namespace warpscope::ops {

// clang-format off
#define WARPSCOPE_OPERAND_NAMES(X)                                                                             \
  X(input) X(weights) X(bias) X(output) X(argmax)                                                              \
  X(output_gradient) X(input_gradient) X(weights_gradient) X(bias_gradient)                                    \
  X(images) X(all_labels) X(order) X(control) X(labels)                                                        \
  X(prediction) X(target) X(logits) X(sample_losses) X(predicted) X(loss) X(accuracy) X(gradient)              \
  X(parameters) X(gradients) X(norm_parts) X(metrics) X(first_state) X(second_state) X(statistics)             \
  X(sums) X(kept) X(ring) X(addend) X(head_loss) X(running_mean) X(running_variance)                           \
  X(norm_weights) X(norm_bias) X(norm_weights_gradient) X(norm_bias_gradient) X(running) X(saved) X(moments)   \
  /* What passes between the ops that one variant covers. */                                                   \
  X(upsampled) X(product) X(biased) X(activated) X(unpooled) X(upsampled_gradient) X(unmasked_gradient)        \
  X(encoded) X(normed) X(product_gradient) X(unactivated) X(masked_gradient)
// clang-format on

/// An operand of an op, by the field's word for it. Those from `upsampled` on name what passes between
/// covered ops.
enum class Name : std::uint8_t {
#define WARPSCOPE_NAME(name) name,
  WARPSCOPE_OPERAND_NAMES(WARPSCOPE_NAME)
#undef WARPSCOPE_NAME
};

inline constexpr std::array kOperandNames{
#define WARPSCOPE_NAME(name) std::string_view(#name),
    WARPSCOPE_OPERAND_NAMES(WARPSCOPE_NAME)
#undef WARPSCOPE_NAME
};

inline constexpr std::size_t kNameCount = kOperandNames.size();

/// "output_gradient"
constexpr std::string_view to_string(Name name) {
  return kOperandNames[static_cast<std::size_t>(name)];
}

/// One value for each name: addresses of a call, tensors of a plan.
template <class T>
struct ByName {
  std::array<T, kNameCount> values{};

  constexpr T& operator[](Name name) { return values[static_cast<std::size_t>(name)]; }
  constexpr const T& operator[](Name name) const { return values[static_cast<std::size_t>(name)]; }
};

}  // namespace warpscope::ops
