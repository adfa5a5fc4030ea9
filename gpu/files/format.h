#pragma once
// The forms of the program's own files. Each has a number, which the file holds as "format" and which changes with
// the meaning of anything in it. A file of another number, or of none (but window.json), is refused and stays as it is.

#include <cstdint>
#include <optional>
#include <string>

namespace warpscope::files {

struct Format {
  const char* files;  ///< what is written so, in the plural
  std::uint64_t number;
};

/// In run.json, for all that its folder holds but checkpoints.
inline constexpr Format kRunFormat{"runs", 1};
inline constexpr Format kRunListFormat{"lists of runs", 1};
inline constexpr Format kCheckpointFormat{"checkpoints", 3};
inline constexpr Format kBenchFormat{"bench reports", 1};
inline constexpr Format kVerifyFormat{"verify reports", 1};
inline constexpr Format kWindowFormat{"window settings", 1};

inline constexpr const char* kFormat = "format";

/// Why a file of that number is refused, to stand behind its name; "" if it is not.
std::string refusal_of_number(std::optional<std::uint64_t> number, const Format& format);

/// The same of a JSON object.
template <class Json>
std::string refusal_of_format(const Json& object, const Format& format) {
  const auto found = object.find(kFormat);
  const bool known = found != object.end() && found->is_number_unsigned();
  return refusal_of_number(known ? std::optional(found->template get<std::uint64_t>()) : std::nullopt,
                           format);
}

}  // namespace warpscope::files
