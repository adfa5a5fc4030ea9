#pragma once
// Files to start a kernel of one's own from: the contract of an op in words, and its simplest variant, which compiles
// and is right. Which ops there are, is the files assets/kernels/OP.body: what gives one element of the first operand
// that the op writes. All else comes from the contracts.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/ops/op.h"

namespace warpscope::user_kernels {

/// A file of assets/kernels.
struct ShippedText {
  std::string_view name;  ///< "conv2d.forward.body", "kernel.h"
  std::string_view text;
};

/// All of them.
std::span<const ShippedText> shipped_texts();

/// What a kernel is written in, which its file's name tells.
enum class Language : std::uint8_t { cpp, cuda };

/// The ops that people can write kernels of, in the order of Op.
std::vector<ops::Op> offered_ops();

/// Reads "conv2d.forward". Throws core::BadInput that lists those that are offered.
ops::Op parse_offered_op(std::string_view name);

/// The header <warpscope/OP.h>: the call that the kernel is given.
std::string header_of(ops::Op op);

/// A file for `op`, to be called `file` ("my_conv.cpp").
std::string template_of(ops::Op op, Language language, std::string_view file);

}  // namespace warpscope::user_kernels
