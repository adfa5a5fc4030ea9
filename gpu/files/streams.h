#pragma once
// The standard streams: what the program says. Nothing here throws or ends the program: what cannot be told is not
// told, and the work goes on.

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>

#include "gpu/files/text.h"

namespace warpscope::files {

/// To be called before anything else. Holds those of the descriptors 0 to 2 that are closed by /dev/null, so that no
/// file gets one of them; and lets writing to a pipe that nobody reads and beyond the limit of a file's size fail with
/// an error instead of ending the process (SIGPIPE, SIGXFSZ).
void hold_streams();

/// Writes to standard output as it is: files that go there, texts whose parts were escaped.
void put(std::string_view text);
/// The same, escaped where standard output is a terminal but for line breaks and tabs.
void put_file(std::string_view text);
/// Formats and writes to standard output; texts among the arguments are sayable() there.
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args);

/// Writes to standard error as it is.
void put_aside(std::string_view text);
/// A line on standard error: who says it and the sentence, sayable().
void warn(std::string_view sentence);

/// From now on standard output has no answer, which is in files: where it is closed, nothing is lost.
void answer_is_in_files();
/// Why standard output did not take all of what was written to it, as a sentence; "" if it did.
std::string output_failure();

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  [[maybe_unused]] const auto told = []<class T>(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return sayable(value);
    } else {
      return value;
    }
  };
  const auto parts = std::make_tuple(told(args)...);
  const fmt::string_view text = format;
  put(std::apply([&](const auto&... each) { return fmt::vformat(text, fmt::make_format_args(each...)); },
                 parts));
}

}  // namespace warpscope::files
