#pragma once
// Files to start a kernel of one's own from: the contract of an op, or of a chain of ops, in words, and its simplest
// variant, which compiles and is right. Which there are, is the files assets/kernels/OP.body or OP+OP.body: what gives
// one element of the first operand that is written. All else comes from the contracts.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/user_kernels/task.h"

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

/// These, and the chains of ops.
std::vector<Task> offered_tasks();

/// Reads "conv2d.forward" or a chain. Throws core::BadInput that lists those that are offered.
Task parse_offered_task(std::string_view names);

/// The header <warpscope/OP.h>: the call that the kernel is given.
std::string header_of(const Task& task);

/// A file for `task`, to be called `file` ("my_conv.cpp").
std::string template_of(const Task& task, Language language, std::string_view file);

/// Writes a file that is not there yet. Throws core::BadInput where something is, which stays as it is, or the file
/// cannot be made; core::Error where it cannot be written.
void write_new(const std::filesystem::path& file, std::string_view text);

}  // namespace warpscope::user_kernels
