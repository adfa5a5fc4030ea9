#pragma once
// How well a few typed letters fit a title: they must all be there, in their order. No drawing here.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::ui {

struct FuzzyMatch {
  int score = 0;                    ///< the higher, the better
  std::vector<std::size_t> places;  ///< the bytes of the title that were matched, in order
};

/// Where the letters of `query` stand in `title`, in the placing that scores best; nothing if they are not all
/// there. Case and blanks of the query do not count. Letters at starts of words, letters that follow each
/// other and a match from the title's first letter on score high; letters that are skipped cost.
std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title);

struct FuzzyHit {
  std::size_t index = 0;  ///< of the title
  FuzzyMatch match;
};

/// The titles that match, best first; equal ones stay in their order. All of them for an empty query.
std::vector<FuzzyHit> fuzzy_sort(std::string_view query, const std::vector<std::string>& titles);

}  // namespace warpscope::ui
