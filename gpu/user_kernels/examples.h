#pragma once
// The lesson: kernels of one operation that build on each other, from the simplest to the fastest, each a file that
// says what it adds over the one before (assets/kernels/examples).

#include <string_view>
#include <vector>

#include "gpu/user_kernels/templates.h"

namespace warpscope::user_kernels {

struct Example {
  std::string_view name;  ///< "3_registers"
  std::string_view file;  ///< with its end
  Language language{};
  std::string_view of;    ///< the names of its ops
  std::string_view adds;  ///< the file's first line, a sentence
  std::string_view text;
};

/// Those of CUDA, then those of the CPU, in rising order.
std::vector<Example> examples();

/// Throws core::BadInput that lists those of the language.
Example find_example(std::string_view name, Language language);

}  // namespace warpscope::user_kernels
