#include "gpu/models/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/files/safetensors.h"
#include "gpu/files/utf8.h"
#include "gpu/models/model.h"
#include "gpu/models/model_file.h"

namespace warpscope::models {
namespace {

// Which tensors of a file are a network's parameters. PyTorch's wrappers of networks (DataParallel, torch.compile, a
// module that holds the network) put their own names before those of the parameters.

/// A file's tensors as those of a network.
struct TensorNames {
  std::map<std::string, const files::TensorEntry*> found;  ///< by the name of the parameter
  std::vector<std::string> taken_off;  ///< of the names in the file: "module.", "_orig_mod."
  std::vector<std::string> others;     ///< tensors that the network does not need, as the file names them
};

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
      if (std::ranges::find(taken_off, wrapper) == taken_off.end()) taken_off.emplace_back(wrapper);
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
  const auto most =
      std::ranges::max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
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

/// The tensors whose names are those of parameters, else those whose names are so behind the beginning that most of
/// them share, without what PyTorch's wrappers put within them. Not told as others are the counters that PyTorch's
/// batch
/// norms keep (num_batches_tracked), an optimizer's tensors, and, of a file that this program has written, those of a
/// head. Throws core::BadInput if two beginnings lead to as many.
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
    const bool needed =
        std::ranges::any_of(names.found, [&](const auto& found) { return found.second == &entry; });
    if (!needed && is_told(entry.name, own)) names.others.push_back(entry.name);
  }
  return names;
}

/// "'a', 'b' and 5 more"; "" of none.
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

/// "FILE: 'module.' was taken off its names; left aside is what mlp does not need: a, b and c"; "" if there is nothing
/// to tell.
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

/// PyTorch's shape of a parameter (ParameterForm).
std::vector<std::int64_t> torch_shape(const Parameter& parameter) {
  const auto& s = parameter.shape;
  switch (parameter.form) {
    case ParameterForm::conv2d:
      return {s[0], s[3], s[1], s[2]};
    case ParameterForm::conv1d:
      return {s[0], s[3], s[2]};
    case ParameterForm::linear:
      return {s[0], std::int64_t{s[3]} * s[1] * s[2]};
    case ParameterForm::vector:
    case ParameterForm::table:
      break;
  }
  return {s.begin(), s.end()};
}

/// Calls move(index in (K,R,S,C), index in (K,C,R,S)) for each element.
template <class Move>
void for_each_element(const Parameter& parameter, Move move) {
  if (parameter.shape.size() != 4) {
    for (std::size_t i = 0; i < parameter.elements; ++i) move(i, i);
    return;
  }
  const auto filters = static_cast<std::size_t>(parameter.shape[0]);
  const auto taps =
      static_cast<std::size_t>(parameter.shape[1]) * static_cast<std::size_t>(parameter.shape[2]);
  const auto channels = static_cast<std::size_t>(parameter.shape[3]);
  for (std::size_t k = 0; k < filters; ++k) {
    for (std::size_t t = 0; t < taps; ++t) {
      for (std::size_t c = 0; c < channels; ++c)
        move((k * taps + t) * channels + c, (k * channels + c) * taps + t);
    }
  }
}

const files::NamedTensor* find_tensor(const std::vector<files::NamedTensor>& tensors,
                                      const std::string& name) {
  const auto found =
      std::ranges::find_if(tensors, [&](const files::NamedTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

/// `from` has the parameter's torch_shape().
void take(const Parameter& parameter, const std::vector<float>& from, std::vector<float>& values) {
  for_each_element(
      parameter, [&](std::size_t ours, std::size_t torch) { values[parameter.offset + ours] = from[torch]; });
}

[[noreturn]] void refuse_shape(const std::string& path, const std::string& name, const Parameter& parameter,
                               const std::vector<std::int64_t>& shape, const Model& model) {
  throw BadFit(fmt::format("{}: '{}' has shape ({}), model {} needs ({})", path, name, fmt::join(shape, ", "),
                           model.name, fmt::join(torch_shape(parameter), ", ")));
}

/// "it holds 'a', 'b' and 5 more"
std::string contents_of(const files::SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const files::TensorEntry& entry : file.entries()) names.push_back(entry.name);
  if (names.empty()) return "it holds no tensors";
  const auto model = file.metadata().find(kModelEntry);
  if (model == file.metadata().end()) return fmt::format("it holds {}", listed(names));
  return fmt::format("it holds weights of {}: {}", files::escaped(model->second), listed(names));
}

}  // namespace

std::vector<files::NamedTensor> to_tensors(const Model& model, const std::vector<float>& values,
                                           const std::string& prefix) {
  std::vector<files::NamedTensor> tensors;
  for (const Parameter& parameter : parameter_layout(model).parameters) {
    files::NamedTensor tensor{prefix + parameter.name, torch_shape(parameter),
                              std::vector<float>(parameter.elements)};
    for_each_element(parameter, [&](std::size_t ours, std::size_t torch) {
      tensor.values[torch] = values[parameter.offset + ours];
    });
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<float> from_tensors(const Model& model, const std::vector<files::NamedTensor>& tensors,
                                const std::string& path, const std::string& prefix) {
  const ParameterLayout layout = parameter_layout(model);
  std::vector<float> values(layout.elements, 0.0f);
  for (const Parameter& parameter : layout.parameters) {
    const std::string name = prefix + parameter.name;
    const files::NamedTensor* const found = find_tensor(tensors, name);
    if (found == nullptr) {
      throw core::BadInput(fmt::format("{}: lacks '{}', which model {} needs", path, name, model.name));
    }
    if (found->shape != torch_shape(parameter)) {
      refuse_shape(path, name, parameter, found->shape, model);
    }
    take(parameter, found->values, values);
  }
  return values;
}

std::vector<std::string> take_fitting_parameters(const std::string& path, const Model& model,
                                                 std::vector<float>& values, std::string* notice) {
  const files::SafetensorsFile file(path);
  const ParameterLayout layout = parameter_layout(model);
  const TensorNames names = match_names(file, layout);
  std::vector<std::string> left;
  for (const Parameter& parameter : layout.parameters) {
    const auto found = names.found.find(parameter.name);
    if (found == names.found.end() || found->second->shape != torch_shape(parameter) ||
        !found->second->readable()) {
      left.push_back(parameter.name);
    } else {
      take(parameter, file.read(*found->second), values);
    }
  }
  if (left.size() == layout.parameters.size()) {
    throw core::BadInput(
        fmt::format("{}: holds no tensor that fits model {}; {}", path, model.name, contents_of(file)));
  }
  if (notice != nullptr) *notice = notice_of(names, path, model);
  return left;
}

std::vector<SharedParameter> shared_parameters(const ParameterLayout& from, const ParameterLayout& to) {
  std::vector<SharedParameter> shared;
  for (const Parameter& parameter : to.parameters) {
    const auto same = std::ranges::find_if(from.parameters, [&](const Parameter& other) {
      return other.name == parameter.name && other.shape == parameter.shape;
    });
    if (same != from.parameters.end()) shared.push_back({same->offset, parameter.offset, parameter.elements});
  }
  return shared;
}

int head_classes_in(const std::vector<files::TensorEntry>& entries) {
  const std::string name = fmt::format("{}.weight", kHead);
  for (const files::TensorEntry& entry : entries) {
    if (entry.name == name && !entry.shape.empty()) return static_cast<int>(entry.shape.front());
  }
  return 0;
}

std::map<std::string, std::string> describe_in_file(const Model& model) {
  std::map<std::string, std::string> metadata{{kModelEntry, model.name}};
  if (const std::string text = text_of(model); text != model.name) metadata[kNetworkEntry] = text;
  return metadata;
}

std::optional<Model> described_in_file(const std::map<std::string, std::string>& metadata) {
  if (const auto network = metadata.find(kNetworkEntry); network != metadata.end()) {
    return model_of(network->second);
  }
  const auto named = metadata.find(kModelEntry);
  if (named == metadata.end() || !is_code(named->second)) return std::nullopt;
  return find_model(named->second);
}

void save_parameters(const std::string& path, const Model& model, const std::vector<float>& values) {
  std::map<std::string, std::string> metadata = describe_in_file(model);
  metadata["format"] = "pt";
  files::write_safetensors(path, to_tensors(model, values), metadata);
}

std::vector<float> load_parameters(const std::string& path, const Model& model, std::string* notice) {
  const files::SafetensorsFile file(path);
  const ParameterLayout layout = parameter_layout(model);
  const TensorNames names = match_names(file, layout);
  std::vector<float> values(layout.elements, 0.0f);
  for (const Parameter& parameter : layout.parameters) {
    const auto found = names.found.find(parameter.name);
    if (found == names.found.end()) {
      throw BadFit(fmt::format("{}: lacks '{}', which model {} needs; {}", path, parameter.name, model.name,
                               contents_of(file)));
    }
    const files::TensorEntry& entry = *found->second;
    if (entry.shape != torch_shape(parameter)) refuse_shape(path, entry.name, parameter, entry.shape, model);
    take(parameter, file.read(entry), values);
  }
  if (notice != nullptr) *notice = notice_of(names, path, model);
  return values;
}

namespace {

/// "NaN", "infinity", "a variance below 0": what one number of a parameter cannot be; "" of any other.
const char* told_as_bad(const Parameter& parameter, float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return "infinity";
  return value < 0 && parameter.name.ends_with("running_var") ? "a variance below 0" : "";
}

}  // namespace

std::string bad_numbers_in(const Model& model, const std::vector<float>& values) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> found;
  for (const Parameter& parameter : parameter_layout(model).parameters) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
    const auto end = begin + static_cast<std::ptrdiff_t>(parameter.elements);
    const auto bad =
        std::find_if(begin, end, [&](float value) { return *told_as_bad(parameter, value) != 0; });
    if (bad != end) found.push_back(fmt::format("{} in {}", told_as_bad(parameter, *bad), parameter.name));
  }
  if (found.size() <= kMost) return fmt::format("{}", fmt::join(found, " and "));
  const std::size_t more = found.size() - kMost;
  found.resize(kMost);
  return fmt::format("{} and {} more", fmt::join(found, ", "), more);
}

}  // namespace warpscope::models
