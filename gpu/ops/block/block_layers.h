#pragma once
// A block computed layer by layer, by the variants of the single ops that have a given name, on the CPU: what the variants
// `reference` and `loops` of blocks are.

#include <string_view>

#include "gpu/ops/variant.h"

namespace warpscope::ops::block {

/// The shape of the block's convolution, and of the ops before and after it.
OpShape convolution_shape(const OpShape& block);

/// Each runs one op of a block with the CPU variants named `variant`. Allocates what the layers in between need.
void layers_forward(const OpCall& call, std::string_view variant);
void layers_backward_weights(const OpCall& call, std::string_view variant);
void layers_backward_input(const OpCall& call, std::string_view variant);

/// Pool codes of one byte each to 2 bits each, and back.
void pack_codes(const std::uint8_t* codes, std::int64_t count, std::uint8_t* packed);
void unpack_codes(const std::uint8_t* packed, std::int64_t count, std::uint8_t* codes);

}  // namespace warpscope::ops::block
