#include "gpu/files/format.h"

#include <fmt/format.h>

namespace warpscope::files {

std::string refusal_of_number(std::optional<std::uint64_t> number, const Format& format) {
  if (number == format.number) return "";
  return fmt::format("has {} of {}, and this Warpscope reads only {}; use the Warpscope that wrote it",
                     number ? fmt::format("format {}", *number) : "no format number", format.files,
                     format.number);
}

}  // namespace warpscope::files
