#include "gpu/models/tensor_names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/utf8.h"
#include "gpu/models/parameters.h"

namespace warpscope::models {
namespace {

/// What PyTorch's wrappers of layers put into names, wherever in a network the layers are.
constexpr std::string_view kWrappers[] = {"_orig_mod.", "_fsdp_wrapped_module.",
                                          "_checkpoint_wrapped_module."};
constexpr std::string_view kCounter = "num_batches_tracked";

bool is_told(const std::string& name, bool of_this_program) {
  if (name == kCounter || name.ends_with(fmt::format(".{}", kCounter))) return false;
  const bool own = name.starts_with(kOptimizerPrefix) || name.starts_with(fmt::format("{}.", kHead));
  return !(of_this_program && own);
}

/// `name` without what wrappers put within it; what that was goes to `taken_off`, once each.
std::string unwrapped(std::string name, std::vector<std::string>& taken_off) {
  for (const std::string_view wrapper : kWrappers) {
    for (std::size_t at = name.find(wrapper); at != std::string::npos; at = name.find(wrapper, at)) {
      if (at > 0 && name[at - 1] != '.') {
        ++at;
        continue;
      }
      name.erase(at, wrapper.size());
      if (std::find(taken_off.begin(), taken_off.end(), wrapper) == taken_off.end())
        taken_off.emplace_back(wrapper);
    }
  }
  return name;
}

/// A tensor and what it is called here.
using Named = std::pair<std::string, const files::TensorEntry*>;

/// What stands before the names of the most parameters; "" if that is nothing.
std::string shared_beginning(const std::vector<Named>& tensors, const ParameterLayout& layout,
                             const std::string& path) {
  std::map<std::string, int> known;
  for (const Parameter& parameter : layout.parameters) known[parameter.name];
  std::map<std::string, int> counts{{"", 0}};
  for (const auto& [name, entry] : tensors) {
    for (std::size_t at = 0; at < name.size(); at = std::min(name.find('.', at), name.size() - 1) + 1) {
      if (known.contains(name.substr(at))) ++counts[name.substr(0, at)];
    }
  }
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most->first.empty()) return "";
  for (const auto& [beginning, count] : counts) {
    if (count != most->second || beginning == most->first) continue;
    throw core::BadInput(fmt::format("{}: holds the network under '{}' and under '{}'; leave one of them out",
                                     path, most->first, beginning));
  }
  return most->first;
}

/// The network's tensors among `tensors`, whose names may have a beginning in common.
TensorNames match(const std::vector<Named>& tensors, const ParameterLayout& layout, const std::string& path) {
  TensorNames names;
  const std::string beginning = shared_beginning(tensors, layout, path);
  if (!beginning.empty()) names.taken_off.push_back(beginning);
  std::map<std::string, const files::TensorEntry*> by_name(tensors.begin(), tensors.end());
  for (const Parameter& parameter : layout.parameters) {
    const auto found = by_name.find(beginning + parameter.name);
    if (found != by_name.end()) names.found[parameter.name] = found->second;
  }
  return names;
}

}  // namespace

TensorNames match_names(const files::SafetensorsFile& file, const ParameterLayout& layout) {
  const std::string path = file.path().string();
  std::vector<Named> as_they_are, without_wrappers;
  std::vector<std::string> wrappers;
  for (const files::TensorEntry& entry : file.entries()) {
    as_they_are.emplace_back(entry.name, &entry);
    without_wrappers.emplace_back(unwrapped(entry.name, wrappers), &entry);
  }
  TensorNames names = match(as_they_are, layout, path);
  if (names.found.size() < layout.parameters.size() && !wrappers.empty()) {
    TensorNames other = match(without_wrappers, layout, path);
    if (other.found.size() > names.found.size()) {
      names = std::move(other);
      names.taken_off.insert(names.taken_off.end(), wrappers.begin(), wrappers.end());
    }
  }
  const bool own = file.metadata().contains(kModelEntry);
  for (const files::TensorEntry& entry : file.entries()) {
    const bool needed = std::any_of(names.found.begin(), names.found.end(),
                                    [&](const auto& found) { return found.second == &entry; });
    if (!needed && is_told(entry.name, own)) names.others.push_back(entry.name);
  }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  const std::size_t told = names.size() > kMost + 1 ? kMost : names.size();
  std::string text;
  for (std::size_t i = 0; i < told; ++i) {
    text += fmt::format("{}'{}'",
                        i == 0                  ? ""
                        : i + 1 == names.size() ? " and "
                                                : ", ",
                        files::escaped(names[i]));
  }
  return told == names.size() ? text : fmt::format("{} and {} more", text, names.size() - told);
}

std::string notice_of(const TensorNames& names, const std::string& path, const Model& model) {
  std::string text;
  if (!names.taken_off.empty()) {
    text = fmt::format("{} {} taken off its names", listed(names.taken_off),
                       names.taken_off.size() == 1 ? "was" : "were");
  }
  if (!names.others.empty()) {
    text += fmt::format("{}left aside is what {} does not need: {}", text.empty() ? "" : "; ", model.name,
                        listed(names.others));
  }
  return text.empty() ? text : fmt::format("{}: {}", path, text);
}

}  // namespace warpscope::models
