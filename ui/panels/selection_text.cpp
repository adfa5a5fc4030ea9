#include "ui/panels/selection_text.h"

#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gpu/plan/presets.h"

namespace warpscope::ui {

std::string selection_word(const plan::Selection& selection, const plan::Machine& machine) {
  const std::string label = plan::label_of(selection, machine);
  return label.empty() ? "mixed" : label;
}

std::string selection_list(const plan::Selection& selection) {
  constexpr std::size_t kMostOperations = 4;  // operations of a variant that are named
  std::map<std::string, std::vector<std::string_view>> by_variant;
  for (const auto& [op, name] : selection.variants) by_variant[name].push_back(ops::to_string(op));
  std::string text;
  for (const auto& [name, chosen] : by_variant) {
    text += fmt::format("{}: {}\n", name,
                        chosen.size() > kMostOperations ? fmt::format("{} operations", chosen.size())
                                                        : fmt::format("{}", fmt::join(chosen, ", ")));
  }
  return text.empty() ? "all operations automatic" : text + "the others automatic";
}

}  // namespace warpscope::ui
