#include "gpu/user_kernels/examples.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"

namespace warpscope::user_kernels {
namespace {

/// The first line of a file, without what makes it a comment.
std::string_view first_line(std::string_view text) {
  constexpr std::string_view kComment = "// ";
  text = text.substr(0, text.find('\n'));
  return text.starts_with(kComment) ? text.substr(kComment.size()) : text;
}

/// The names of the ops in its #include <warpscope/OP.h>.
std::string_view task_in(std::string_view text) {
  constexpr std::string_view kInclude = "#include <warpscope/";
  text.remove_prefix(text.find(kInclude) + kInclude.size());
  return text.substr(0, text.find(".h>"));
}

}  // namespace

std::vector<Example> examples() {
  std::vector<Example> found;
  for (const Language language : {Language::cuda, Language::cpp}) {
    const std::string_view end = language == Language::cuda ? ".cu" : ".cpp";
    const auto first = static_cast<std::ptrdiff_t>(found.size());
    for (const ShippedText& each : shipped_texts()) {
      if (!each.name.ends_with(end)) continue;
      found.push_back({each.name.substr(0, each.name.size() - end.size()), each.name, language,
                       task_in(each.text), first_line(each.text), each.text});
    }
    std::sort(found.begin() + first, found.end(),
              [](const Example& a, const Example& b) { return a.name < b.name; });
  }
  return found;
}

Example find_example(std::string_view name, Language language) {
  std::string valid;
  for (const Example& each : examples()) {
    if (each.language != language) continue;
    if (each.name == name) return each;
    valid += valid.empty() ? "" : ", ";
    valid += each.name;
  }
  throw core::BadInput(fmt::format("there is no example '{}' for files that end like this one; valid: {}",
                                   files::sayable(name), valid));
}

}  // namespace warpscope::user_kernels
