#include "gpu/runs/marker_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/read_json.h"

namespace warpscope::runs {
namespace {

using nlohmann::json;

constexpr const char* kFile = "markers.json";

auto is_of(std::uint64_t step, std::string_view text) {
  return [step, text](const MarkerName& one) { return one.step == step && one.text == text; };
}

}  // namespace

std::string_view name_of(std::span<const MarkerName> names, std::uint64_t step, std::string_view text) {
  const auto found = std::find_if(names.begin(), names.end(), is_of(step, text));
  return found == names.end() ? std::string_view() : found->name;
}

void set_name(std::vector<MarkerName>& names, std::uint64_t step, std::string_view text,
              std::string_view name) {
  std::erase_if(names, is_of(step, text));
  if (!name.empty()) names.push_back({step, std::string(text), std::string(name)});
}

std::vector<MarkerName> load_marker_names(const std::filesystem::path& run) {
  const std::filesystem::path file = run / kFile;
  if (!files::is_there(file)) return {};
  const files::InputFile input(file);
  std::vector<MarkerName> names;
  try {
    const json read = files::read_json(input.read_up_to(0, static_cast<std::size_t>(input.size())));
    for (const json& one : read.at("names")) {
      names.push_back({one.at("step").get<std::uint64_t>(), one.at("text").get<std::string>(),
                       one.at("name").get<std::string>()});
    }
  } catch (const json::exception&) {
    throw core::BadInput(fmt::format("{} is damaged: it holds no names of markers", file.string()));
  }
  return names;
}

void save_marker_names(const std::filesystem::path& run, std::span<const MarkerName> names) {
  json list = json::array();
  for (const MarkerName& one : names)
    list.push_back({{"step", one.step}, {"text", one.text}, {"name", one.name}});
  files::write_file_atomically(
      run / kFile, json{{"names", list}}.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace warpscope::runs
