#include "gpu/data/known_data.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/locate.h"
#include "gpu/files/checksum.h"
#include "gpu/files/file.h"

namespace warpscope::data {
namespace {

void add(std::int64_t number, files::Checksum& sum) {
  sum.add(&number, sizeof number);
}

/// With its length, so that two lists of texts are told apart wherever their texts end.
void add(std::string_view text, files::Checksum& sum) {
  add(static_cast<std::int64_t>(text.size()), sum);
  sum.add(text.data(), text.size());
}

/// The bytes of a text depend on the network that reads it, the text does not.
void add(const ImageSet& set, files::Checksum& sum) {
  add(set.count, sum);
  if (set.texts.empty()) {
    for (const int side : {set.height, set.width, set.channels}) add(side, sum);
    sum.add(set.pixels.data(), set.pixels.size());
  }
  for (const std::string& text : set.texts) add(text, sum);
  sum.add(set.labels.data(), set.labels.size());
}

FoundData load_known(const std::string& option, const KnownData& known, const Requirements& model,
                     const Stopped& stopped) {
  FoundData found;
  found.set = load(option, found.notice, model, stopped);
  found.checksum = checksum_of(found.set);
  found.same = known.checksum.empty() || found.checksum == known.checksum;
  return found;
}

/// The first of the second guesses that leads to the known data, or to any where nobody knows which they were.
std::optional<FoundData> guess(const KnownData& known, const Requirements& model, const Stopped& stopped) {
  for (const std::string& option : known.second_guesses) {
    try {
      FoundData found = load_known(option, known, model, stopped);
      if (found.same) return found;
    } catch (const core::BadInput&) {
      // It was a guess.
    }
  }
  return std::nullopt;
}

[[noreturn]] void refuse_missing(const std::string& data_option, const core::BadInput& error) {
  const std::string folder = split_option(data_option).folder;
  if (!folder.empty() && !files::is_there(folder)) {
    throw core::BadInput(fmt::format(
        "the data of the run were in {}, which is not there any more; --data FOLDER names where they are now",
        folder));
  }
  throw core::BadInput(fmt::format("{}; --data names where the data of the run are now", error.what()));
}

}  // namespace

std::string checksum_of(const DataSet& set) {
  files::Checksum sum;
  add(static_cast<std::int64_t>(set.classes.size()), sum);
  for (const std::string& name : set.classes) add(name, sum);
  add(set.train, sum);
  add(set.test, sum);
  if (set.validation.count > 0) add(set.validation, sum);
  return sum.text();
}

FoundData find_data(const std::string& data_option, const KnownData& known, const Requirements& model,
                    const Stopped& stopped) {
  std::optional<FoundData> found;
  try {
    found = load_known(data_option, known, model, stopped);
    if (found->same) return std::move(*found);
  } catch (const core::BadInput& error) {
    if (auto guessed = guess(known, model, stopped)) return std::move(*guessed);
    if (!known.written_down) throw;
    refuse_missing(data_option, error);
  }
  if (auto guessed = guess(known, model, stopped)) return std::move(*guessed);
  return std::move(*found);
}

std::string told_as_other(const DataSet& set) {
  const std::string folder = split_option(set.source).folder;
  const char* const things = set.train.texts.empty() ? "images" : "texts";
  if (folder.empty())
    return fmt::format("the {} of this version are not those that the run was trained on", set.name);
  return fmt::format("{} holds other {} than those that the run was trained on", folder, things);
}

DataOption split_option(const std::string& data_option) {
  if (data_option.empty() || data_option == "builtin") return {data_option, ""};
  if (const SetRow* const set = find_set(data_option); set != nullptr && !set->own())
    return {data_option, ""};
  const std::size_t colon = data_option.find(':');
  if (colon != std::string::npos && find_set(data_option.substr(0, colon)) != nullptr) {
    return {data_option.substr(0, colon), data_option.substr(colon + 1)};
  }
  return {"", data_option};
}

std::string joined(const DataOption& option) {
  if (option.name.empty() || option.folder.empty()) return option.name + option.folder;
  return fmt::format("{}:{}", option.name, option.folder);
}

}  // namespace warpscope::data
