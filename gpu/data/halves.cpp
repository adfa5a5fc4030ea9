#include "gpu/data/halves.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/text.h"

namespace warpscope::data {
namespace {

struct Name {
  std::string_view name;
  Half half;
};
constexpr std::array kNames{
    Name{"train", Half::train},           Name{"training", Half::train}, Name{"test", Half::test},
    Name{"testing", Half::test},          Name{"t10k", Half::test},      Name{"eval", Half::test},
    Name{"evaluation", Half::test},       Name{"val", Half::validation}, Name{"valid", Half::validation},
    Name{"validation", Half::validation}, Name{"dev", Half::validation}};

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// What people put behind the name of a half: "trainset", "train_set", "train images".
constexpr std::array<std::string_view, 7> kThings{"set",  "data",     "dataset", "images",
                                                  "imgs", "pictures", "texts"};

/// A name without its thing: "train" of "train_set".
std::string without_thing(const std::string& small) {
  for (const std::string_view thing : kThings) {
    if (small.size() <= thing.size() || !small.ends_with(thing)) continue;
    std::string bare = small.substr(0, small.size() - thing.size());
    if (bare.ends_with('_') || bare.ends_with('-') || bare.ends_with(' ')) bare.pop_back();
    if (half_of(bare)) return bare;
  }
  return small;
}

}  // namespace

std::optional<Half> half_of(std::string_view name) {
  const std::string small = files::lower_case(name);
  const auto* const found = std::ranges::find_if(kNames, [&](const Name& one) { return small == one.name; });
  return found == kNames.end() ? std::nullopt : std::optional(found->half);
}

std::optional<Half> half_of_set(std::string_view name) {
  return half_of(without_thing(files::lower_case(name)));
}

std::optional<Half> half_in(std::string_view name) {
  std::optional<Half> all;
  while (!name.empty()) {
    const auto end = std::ranges::find_if_not(name, is_letter_or_digit) - name.begin();
    const std::optional<Half> half = half_of_set(name.substr(0, static_cast<std::size_t>(end)));
    if (half && all && *half != *all) return std::nullopt;
    if (half) all = half;
    name.remove_prefix(std::min(static_cast<std::size_t>(end) + 1, name.size()));
  }
  return all;
}

std::string without_half(std::string_view name) {
  std::string rest;
  while (!name.empty()) {
    const auto end = std::ranges::find_if_not(name, is_letter_or_digit) - name.begin();
    const std::string_view word = name.substr(0, static_cast<std::size_t>(end));
    if (!half_of_set(word)) rest += word;
    name.remove_prefix(word.size());
    rest += name.substr(0, 1);
    name.remove_prefix(std::min(std::size_t{1}, name.size()));
  }
  return rest;
}

bool is_hidden(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 7> kOfSystems{
      "__MACOSX",   "$RECYCLE.BIN", "Thumbs.db", "desktop.ini", "System Volume Information",
      "lost+found", "@eaDir"};
  const std::string name = path.filename().string();
  return name.starts_with('.') || std::ranges::find(kOfSystems, name) != kOfSystems.end();
}

std::vector<std::filesystem::directory_entry> shown_in(const std::filesystem::path& folder,
                                                       std::error_code& failure) {
  std::vector<std::filesystem::directory_entry> entries = files::entries_of(folder, failure);
  std::erase_if(entries, [](const auto& entry) { return is_hidden(entry.path()); });
  return entries;
}

std::vector<std::filesystem::directory_entry> shown_in(const std::filesystem::path& folder) {
  std::error_code failure;
  auto entries = shown_in(folder, failure);
  if (!failure) return entries;
  throw core::BadInput(fmt::format("cannot read the folder {}: {}", folder.string(), failure.message()));
}

Halves find_halves(std::span<const std::filesystem::path> paths, NamedHalf half) {
  Halves halves;
  for (const std::filesystem::path& path : paths) {
    const std::optional<Half> found = half(path.stem().string());
    if (!found) continue;
    std::filesystem::path& place = of(halves, *found);
    if (!place.empty()) {
      throw core::BadInput(fmt::format("{} and {} could both be the {} data; keep one of them there",
                                       place.string(), path.string(),
                                       *found == Half::train ? "training" : to_string(*found)));
    }
    place = path;
  }
  return halves;
}

Halves find_halves(std::span<const std::filesystem::path> paths, NamedHalf first, NamedHalf then) {
  Halves found = find_halves(paths, first);
  std::vector<std::filesystem::path> others;
  for (const std::filesystem::path& path : paths) {
    const std::optional<Half> half = then(path.stem().string());
    if (half && of(found, *half).empty()) others.push_back(path);
  }
  const Halves more = find_halves(others, then);
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (found[i].empty()) found[i] = more[i];
  }
  return found;
}

std::filesystem::path& of(Halves& halves, Half half) {
  return halves[static_cast<std::size_t>(half)];
}

const std::filesystem::path& of(const Halves& halves, Half half) {
  return halves[static_cast<std::size_t>(half)];
}

std::string_view to_string(Half half) {
  return half == Half::train ? "train" : half == Half::test ? "test" : "validation";
}

std::string tell_validation(bool tests, std::int64_t count, std::string_view thing,
                            const std::string& where) {
  if (tests) return fmt::format("the {}s in {} test, since there are no others", thing, where);
  const bool one = count == 1;
  return fmt::format("{} {}{} in {} steer{}, as those that --validation holds out do", files::grouped(count),
                     thing, one ? "" : "s", where, one ? "s" : "");
}

}  // namespace warpscope::data
