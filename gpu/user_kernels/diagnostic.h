#pragma once
// What a compiler says of a place.

#include <string>

namespace warpscope::user_kernels {

struct Diagnostic {
  std::string file;  ///< that of the kernel, or a header
  int line = 0;      ///< from 1; 0: of no line
  int column = 0;
  std::string message;
  std::string text;  ///< the line as it stands in the kernel's file; "" of another file
};

/// "my_conv.cpp:12:9: 'summ' was not declared in this scope", then the line with a mark below; of texts of files what a
/// terminal takes.
std::string to_string(const Diagnostic& diagnostic);

}  // namespace warpscope::user_kernels
