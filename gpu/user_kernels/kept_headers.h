#pragma once
// Where the headers of a kernel stand whose file lies in the folder of a run.

#include <filesystem>
#include <string>

namespace warpscope::user_kernels {

/// A header of a person's own. `name` leads to it from the folder in which the kernel's file looks for it: "tiles.h",
/// "../common/tiles.h".
struct Header {
  std::string name;
  std::string text;
  bool operator==(const Header&) const = default;
};

/// "my_conv.2.headers/beside" for "my_conv.2.cpp": the last folder in which that file's headers are looked for. There
/// is one above it for names that begin with "../".
inline std::filesystem::path kept_headers_of(const std::filesystem::path& file) {
  std::filesystem::path folder = file.parent_path() / file.stem();
  folder += ".headers";
  return folder / "beside";
}

}  // namespace warpscope::user_kernels
