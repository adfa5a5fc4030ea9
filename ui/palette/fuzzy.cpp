#include "ui/palette/fuzzy.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

namespace warpscope::ui {
namespace {

constexpr int kLetter = 4, kConsecutive = 8, kWordStart = 8, kTitleStart = 6, kPrefix = 40, kWhole = 20;
constexpr int kSkipped = 1;  ///< for each letter between two that match, and before the first
constexpr int kNone = std::numeric_limits<int>::min() / 2;

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

std::string letters_of(std::string_view query) {
  std::string letters;
  for (const char letter : query) {
    if (std::isspace(static_cast<unsigned char>(letter)) == 0) letters += lower(letter);
  }
  return letters;
}

// Of one letter that stands at `place`.
int letter_score(std::string_view title, std::size_t place) {
  if (place == 0) return kLetter + kWordStart + kTitleStart;
  const bool starts = is_word(title[place]) && !is_word(title[place - 1]);
  return kLetter + (starts ? kWordStart : 0);
}

bool is_prefix(std::string_view query, std::string_view title) {
  return query.size() <= title.size() && std::equal(query.begin(), query.end(), title.begin(),
                                                    [](char a, char b) { return lower(a) == lower(b); });
}

// matched[i][j] is the best score with letter i of the query at place j, reached[i][j] the best with letter i at j
// or before, less what the letters after it cost.
struct Table {
  std::vector<std::vector<int>> matched, reached;
};

Table fill(std::string_view letters, std::string_view title) {
  const std::vector<int> row(title.size(), kNone);
  Table table{std::vector<std::vector<int>>(letters.size(), row),
              std::vector<std::vector<int>>(letters.size(), row)};
  for (std::size_t i = 0; i < letters.size(); ++i) {
    for (std::size_t j = 0; j < title.size(); ++j) {
      int& matched = table.matched[i][j];
      if (lower(title[j]) == letters[i]) {
        int before = i == 0 ? -kSkipped * static_cast<int>(j) : kNone;
        if (i > 0 && j > 0)
          before = std::max(table.matched[i - 1][j - 1] + kConsecutive, table.reached[i - 1][j - 1]);
        if (before > kNone / 2) matched = before + letter_score(title, j);
      }
      table.reached[i][j] = std::max(matched, j > 0 ? table.reached[i][j - 1] - kSkipped : kNone);
    }
  }
  return table;
}

// From the last letter back to the first.
std::vector<std::size_t> places_of(const Table& table, std::size_t last) {
  std::vector<std::size_t> places(table.matched.size());
  std::size_t j = last;
  for (std::size_t i = places.size(); i-- > 0;) {
    places[i] = j;
    if (i == 0) break;
    const bool follows = table.matched[i - 1][j - 1] + kConsecutive >= table.reached[i - 1][j - 1];
    --j;
    while (!follows && table.matched[i - 1][j] != table.reached[i - 1][j]) --j;
  }
  return places;
}

}  // namespace

std::optional<FuzzyMatch> fuzzy_match(std::string_view query, std::string_view title) {
  const std::string letters = letters_of(query);
  if (letters.empty()) return FuzzyMatch{};
  if (letters.size() > title.size()) return std::nullopt;
  const Table table = fill(letters, title);
  const std::vector<int>& ends = table.matched.back();
  const auto best = std::max_element(ends.begin(), ends.end());
  if (*best <= kNone / 2) return std::nullopt;
  FuzzyMatch match{*best, places_of(table, static_cast<std::size_t>(best - ends.begin()))};
  if (is_prefix(query, title)) {
    match.score += kPrefix + (query.size() == title.size() ? kWhole : 0);
    for (std::size_t i = 0, place = 0; i < query.size(); ++i) {
      if (std::isspace(static_cast<unsigned char>(query[i])) == 0) match.places[place++] = i;
    }
  }
  return match;
}

std::vector<FuzzyHit> fuzzy_sort(std::string_view query, const std::vector<std::string>& titles) {
  std::vector<FuzzyHit> hits;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (auto match = fuzzy_match(query, titles[i])) hits.push_back({i, std::move(*match)});
  }
  std::stable_sort(hits.begin(), hits.end(),
                   [](const FuzzyHit& a, const FuzzyHit& b) { return a.match.score > b.match.score; });
  return hits;
}

}  // namespace warpscope::ui
