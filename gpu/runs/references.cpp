#include "gpu/runs/references.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/files/byte_text.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/files/read_json.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/run_reader.h"

namespace warpscope::runs {
namespace {

constexpr int kMostRanks = 64;

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFromRun = "from_run";
constexpr const char* kChecksum = "checksum";

std::string text_at(const json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string from_run(const fs::path& run, const fs::path& path) {
  return files::absolute_path(path).lexically_relative(files::absolute_path(run)).string();
}

json to_json(const Reference& reference) {
  json object = json::object();
  if (!reference.from_run.empty()) {
    object[kFromRun] = files::valid_utf8(reference.from_run);
    if (!files::is_utf8(reference.from_run)) {
      object[std::string(kFromRun) += files::kBytesOf] = files::percent_encoded(reference.from_run);
    }
  }
  if (!reference.checksum.empty()) object[kChecksum] = reference.checksum;
  return object;
}

Reference reference_of(const json& head, const std::string& setting) {
  const json::json_pointer place = json::json_pointer() / kOutside / setting;
  if (!head.is_object() || !head.contains(place) || !head.at(place).is_object()) return {};
  const json& object = head.at(place);
  Reference reference{text_at(object, kFromRun), text_at(object, kChecksum)};
  const std::string bytes = text_at(object, std::string(kFromRun) += files::kBytesOf);
  if (!bytes.empty()) reference.from_run = files::percent_decoded(bytes).value_or(reference.from_run);
  return reference;
}

json read_head(const fs::path& run) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  const std::optional<std::string> text = files::read_small_file(run / "run.json", kMostBytes);
  json head = files::read_json(text.value_or(""));
  if (!head.is_object()) return json::object();
  check_format(run / "run.json", head);
  return head;
}

int ranks_of(const fs::path& run) {
  const json head = read_head(run);
  const auto ranks = head.find(kRanks);
  return ranks != head.end() && ranks->is_number_unsigned() && *ranks > 0 && *ranks <= kMostRanks
             ? ranks->get<int>()
             : 1;
}

data::KnownData known_data(const fs::path& run) {
  const Reference reference = reference_of(read_head(run), "data_source");
  data::KnownData known{reference.checksum, {}, true};
  if (reference.from_run.empty()) return known;
  data::DataOption option = data::split_option(reference.from_run);
  option.folder = (files::absolute_path(run) / option.folder).lexically_normal().string();
  known.second_guesses.push_back(data::joined(option));
  return known;
}

}  // namespace warpscope::runs
