#include "gpu/inference/class_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/text.h"

namespace warpscope::inference {
namespace {

using Names = std::vector<std::string>;

bool are_numbers(const Names& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return !name.empty() &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  });
}

/// "0", "1", "2", ...
bool are_places(const Names& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != std::to_string(i)) return false;
  }
  return true;
}

Names as_kept(const Names& names) {
  Names kept;
  for (const std::string& name : names) kept.push_back(runs::valid_utf8(name));
  return kept;
}

bool places_tell(const Names& data, const Names& network) {
  if (network.empty() || data == network) return true;
  if (are_numbers(data) == are_numbers(network)) return false;
  return are_places(data) || data.size() == network.size();
}

}  // namespace

std::vector<int> match_classes(const Names& data, const Names& network, Naming naming) {
  std::vector<int> matches(data.size(), -1);
  const Names wanted = as_kept(data), known = as_kept(network);
  if (naming == Naming::of_a_set && places_tell(wanted, known)) {
    std::iota(matches.begin(), matches.end(), 0);
    return matches;
  }
  std::map<std::string, int> places;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const auto [place, added] = places.emplace(known[i], static_cast<int>(i));
    if (!added) place->second = -1;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (const auto place = places.find(wanted[i]); place != places.end()) matches[i] = place->second;
  }
  return matches;
}

std::string tell_unknown(std::span<const int> labels, const Names& data, const std::vector<int>& matches) {
  constexpr std::size_t kMostNames = 5;
  constexpr std::size_t kMostCharacters = 40;
  std::int64_t all = 0, unknown = 0;
  std::set<int> classes;
  for (const int label : labels) {
    if (label < 0) continue;
    ++all;
    if (matches[static_cast<std::size_t>(label)] >= 0) continue;
    ++unknown;
    classes.insert(label);
  }
  if (unknown == 0) return "";
  Names names;
  for (const int label : classes) {
    if (names.size() == kMostNames) break;
    names.push_back(runs::shortened(files::escaped(data[static_cast<std::size_t>(label)]), kMostCharacters));
  }
  if (classes.size() > names.size()) names.push_back(fmt::format("{} more", classes.size() - names.size()));
  const bool one = unknown == 1;
  return fmt::format(
      "{} of {} label{} {} that the network does not know by {} ({}), so that the accuracy leaves {} out",
      files::grouped(unknown), files::grouped(all), all == 1 ? "" : "s",
      one ? "is of a class" : "are of classes", one ? "its name" : "their names", fmt::join(names, ", "),
      one ? "it" : "them");
}

}  // namespace warpscope::inference
