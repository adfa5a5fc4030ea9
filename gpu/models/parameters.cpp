#include "gpu/models/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/models/model_file.h"
#include "gpu/models/tensor_names.h"

namespace warpscope::models {
namespace {

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
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const files::NamedTensor& tensor) { return tensor.name == name; });
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
  return names.empty() ? "it holds no tensors" : fmt::format("it holds {}", listed(names));
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
    const auto same =
        std::find_if(from.parameters.begin(), from.parameters.end(), [&](const Parameter& other) {
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

std::string not_finite_in(const Model& model, const std::vector<float>& values) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> found;
  for (const Parameter& parameter : parameter_layout(model).parameters) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
    const auto end = begin + static_cast<std::ptrdiff_t>(parameter.elements);
    const auto bad = std::find_if(begin, end, [](float value) { return !std::isfinite(value); });
    if (bad != end)
      found.push_back(fmt::format("{} in {}", std::isnan(*bad) ? "NaN" : "infinity", parameter.name));
  }
  if (found.size() <= kMost) return fmt::format("{}", fmt::join(found, " and "));
  const std::size_t more = found.size() - kMost;
  found.resize(kMost);
  return fmt::format("{} and {} more", fmt::join(found, ", "), more);
}

}  // namespace warpscope::models
