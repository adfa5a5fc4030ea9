#include "ui/palette/palette_box.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kWidth = 640, kTop = 56, kRow = 28, kPad = 8, kTextPad = 10;  // design pixels
constexpr double kRenewSeconds = 0.25;  // of the list: what can be done, and how it stands
constexpr const char* kHint = "Up, Down: choose   Enter: do   Esc: close";

// Over the box, also while its text field or one of its rows has the mouse.
constexpr ImGuiHoveredFlags kHovered =
    ImGuiHoveredFlags_ChildWindows | ImGuiHoveredFlags_AllowWhenBlockedByActiveItem;

// What the callback of the text field works on.
struct Editing {
  const std::string* replacement = nullptr;  // nullptr: nothing is to be replaced
  int moves = 0;
};

int edit(ImGuiInputTextCallbackData* data) {
  auto& editing = *static_cast<Editing*>(data->UserData);
  if (data->EventFlag == ImGuiInputTextFlags_CallbackHistory) {
    editing.moves += data->EventKey == ImGuiKey_UpArrow ? -1 : 1;
  } else if (editing.replacement != nullptr) {
    data->DeleteChars(0, data->BufTextLen);
    data->InsertChars(0, editing.replacement->c_str());
    data->ClearSelection();
  }
  return 0;
}

bool begin_box(const Frame& frame) {
  const float s = frame.scale;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::min(kWidth * s, display.x - 32 * s);
  ImGui::SetNextWindowPos(ImVec2(std::floor((display.x - width) / 2), std::floor(kTop * s)));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0), ImVec2(width, display.y));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(kPad * s, kPad * s));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, hairline(frame));
  ImGui::PushStyleColor(ImGuiCol_WindowBg, ImGui::GetColorU32(ImGuiCol_PopupBg));
  ImGui::Begin("palette", nullptr, kStillWindow | ImGuiWindowFlags_AlwaysAutoResize);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  return true;
}

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

// What one letter counts that stands at `place`.
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
struct Alignment {
  std::vector<std::vector<int>> matched, reached;
};

Alignment fill(std::string_view letters, std::string_view title) {
  const std::vector<int> row(title.size(), kNone);
  Alignment table{std::vector<std::vector<int>>(letters.size(), row),
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
std::vector<std::size_t> places_of(const Alignment& table, std::size_t last) {
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
  const Alignment table = fill(letters, title);
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

void PaletteBox::open() {
  open_ = wants_keys_ = replaces_text_ = true;
  query_.clear();
  rows_.clear();
  chosen_ = first_ = 0;
  stale_at_ = 0;
}

void PaletteBox::close() {
  open_ = false;
}

void PaletteBox::find(const ListActions& list, const TypedActions& typed) {
  if (query_ != found_for_) chosen_ = first_ = 0;
  found_for_ = query_;
  stale_at_ = ImGui::GetTime() + kRenewSeconds;
  rows_.clear();
  for (Action& action : typed(query_)) rows_.push_back({std::move(action), {}});
  std::vector<Action> actions = list();
  std::vector<std::string> titles;
  for (const Action& action : actions) titles.push_back(action.title);
  for (FuzzyHit& hit : fuzzy_sort(query_, titles)) {
    rows_.push_back({std::move(actions[hit.index]), std::move(hit.match)});
  }
  move(0);
}

// One row beyond an end is the other end; the rows that are seen follow.
void PaletteBox::move(int rows) {
  const int count = static_cast<int>(rows_.size());
  if (count == 0) {
    chosen_ = first_ = 0;
    return;
  }
  chosen_ = rows == 0 ? std::min(chosen_, count - 1) : (chosen_ + rows + count) % count;
  first_ = std::clamp(first_, chosen_ - kMostRows + 1, chosen_);
  first_ = std::clamp(first_, 0, std::max(0, count - kMostRows));
}

bool PaletteBox::draw_field(const Frame& frame) {
  const float s = frame.scale;
  char buffer[128] = {};
  query_.copy(buffer, sizeof buffer - 1);
  const std::string replacement = query_;
  Editing editing;
  if (replaces_text_) editing.replacement = &replacement;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(kTextPad * s, 6 * s));
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x);
  if (wants_keys_) ImGui::SetKeyboardFocusHere();
  const bool entered = ImGui::InputTextWithHint(
      "##palette", "Type an action, or a setting with its value: lr 0.001", buffer, sizeof buffer,
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackHistory |
          ImGuiInputTextFlags_CallbackAlways,
      edit, &editing);
  ImGui::PopStyleVar();
  if (ImGui::IsItemActive()) {
    wants_keys_ = replaces_text_ = false;
    outline_typed(frame);
  }
  trace_item("palette.text");
  query_ = buffer;
  if (editing.moves != 0) move(editing.moves);
  return entered;
}

// The title, its matched letters in the accent colour; cut before `right`.
void PaletteBox::draw_title(const Frame& frame, const Row& row, float left, float right,
                            float baseline) const {
  auto* const list = ImGui::GetWindowDrawList();
  const std::string title = ellipsize(frame.fonts.text, row.action.title, right - left);
  const ImU32 plain = row.action.why_not.empty() ? frame.palette.text : frame.palette.muted;
  float x = left;
  for (std::size_t i = 0; i < title.size();) {
    const auto matched = [&](std::size_t place) {
      return std::binary_search(row.match.places.begin(), row.match.places.end(), place);
    };
    std::size_t end = i + 1;
    while (end < title.size() && matched(end) == matched(i)) ++end;
    x = advance_text(list, frame.fonts.text, x, baseline, matched(i) ? frame.palette.accent : plain,
                     std::string_view(title).substr(i, end - i));
    i = end;
  }
}

void PaletteBox::draw_row(const Frame& frame, const Row& row, int place, bool chosen) const {
  const float s = frame.scale;
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  auto* const list = ImGui::GetWindowDrawList();
  if (chosen) {
    list->AddRectFilled(min, max, ImGui::GetColorU32(ImGuiCol_HeaderHovered), 3 * s);
    list->AddRectFilled(min, ImVec2(min.x + std::max(2.0f, std::floor(2 * s)), max.y), frame.palette.accent);
  }
  const float baseline =
      row_baseline(frame, min.y + std::floor((max.y - min.y - ImGui::GetFrameHeight()) / 2));
  // From the right: the key or how it stands, then the group.
  const bool has_key = !row.action.keys.empty();
  const std::string aside =
      ellipsize(frame.fonts.small, has_key && row.action.note.empty() ? row.action.keys : row.action.note,
                (max.x - min.x) * 0.35f);
  float right = max.x - kTextPad * s;
  if (has_key && !row.action.note.empty()) {
    right -= text_width(frame.fonts.small, row.action.keys);
    draw_text(list, frame.fonts.small, right, baseline, frame.palette.muted, row.action.keys);
    right -= 12 * s;
  }
  right -= text_width(frame.fonts.small, aside);
  draw_text(list, frame.fonts.small, right, baseline,
            row.action.note == "now" ? frame.palette.accent : frame.palette.muted, aside);
  const float group_width = text_width(frame.fonts.small, row.action.group);
  const float title_left = min.x + kTextPad * s;
  const float title_right = right - 20 * s - group_width;
  draw_title(frame, row, title_left, title_right, baseline);
  const float title_width =
      std::min(text_width(frame.fonts.text, row.action.title), title_right - title_left);
  draw_text(list, frame.fonts.small, title_left + title_width + 10 * s, baseline, frame.palette.muted,
            row.action.group);
  trace_item(fmt::format("palette.{}", place));
}

int PaletteBox::draw_rows(const Frame& frame) {
  const float s = frame.scale;
  int clicked = -1;
  const int end = std::min(static_cast<int>(rows_.size()), first_ + kMostRows);
  const ImVec2 moved = ImGui::GetIO().MouseDelta;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  for (int i = first_; i < end; ++i) {
    ImGui::PushID(i);
    if (hit_area("row", ImVec2(ImGui::GetContentRegionAvail().x, std::floor(kRow * s)))) clicked = i;
    if (ImGui::IsItemHovered() && (moved.x != 0 || moved.y != 0)) chosen_ = i;
    draw_row(frame, rows_[static_cast<std::size_t>(i)], i - first_, i == chosen_);
    ImGui::PopID();
  }
  ImGui::PopStyleVar();
  if (ImGui::IsWindowHovered(kHovered) && ImGui::GetIO().MouseWheel != 0) {
    move(ImGui::GetIO().MouseWheel > 0 ? (chosen_ > 0 ? -1 : 0)
                                       : (chosen_ + 1 < static_cast<int>(rows_.size()) ? 1 : 0));
  }
  return clicked;
}

// Why the chosen one cannot be done, or how to use the list and how long it is.
void PaletteBox::draw_footer(const Frame& frame) const {
  const float s = frame.scale;
  ImGui::Dummy(ImVec2(1, 2 * s));
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + kTextPad * s);
  if (rows_.empty()) return row_text(frame, frame.fonts.text, frame.palette.muted, "No command matches.");
  const std::string& refusal = rows_[static_cast<std::size_t>(chosen_)].action.why_not;
  if (!refusal.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.palette.warning);
    const float end = ImGui::GetWindowWidth() - (kPad + kTextPad) * s;
    ImGui::PushTextWrapPos(end);
    ImGui::TextUnformatted(wrapped(frame.fonts.text, refusal, end - ImGui::GetCursorPosX()).c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
    trace_item("palette.refusal");
    return;
  }
  row_text(frame, frame.fonts.small, frame.palette.muted, kHint);
  if (static_cast<int>(rows_.size()) <= kMostRows) return;
  const std::string count = fmt::format("{} of {}", chosen_ + 1, rows_.size());
  ImGui::SameLine(ImGui::GetWindowWidth() - (kPad + kTextPad) * s - text_width(frame.fonts.small, count));
  row_text(frame, frame.fonts.small, frame.palette.muted, count);
}

// As it is now: the list may be of a frame before.
void PaletteBox::take(int row, const ListActions& list, const TypedActions& typed) {
  const std::string id =
      row >= 0 && row < static_cast<int>(rows_.size()) ? rows_[static_cast<std::size_t>(row)].action.id : "";
  find(list, typed);
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& other) { return other.action.id == id; });
  if (found == rows_.end()) {
    wants_keys_ = replaces_text_ = true;
    return;
  }
  const Action action = found->action;
  chosen_ = static_cast<int>(found - rows_.begin());
  if (!action.why_not.empty() || !action.fill.empty()) {
    if (action.why_not.empty()) query_ = action.fill;
    wants_keys_ = replaces_text_ = true;
    return;
  }
  close();
  if (action.run) action.run();
}

void PaletteBox::trace() {
  if (!trace_enabled()) return;
  const bool any = open_ && !rows_.empty();
  const Action none;
  const Action& chosen = any ? rows_[static_cast<std::size_t>(chosen_)].action : none;
  const std::string now =
      fmt::format("\"open\":{},\"query\":{},\"first\":{},\"chosen\":{},\"refusal\":{},\"count\":{}", open_,
                  json_string(query_), json_string(any ? rows_.front().action.title : ""),
                  json_string(chosen.title), json_string(chosen.why_not), open_ ? rows_.size() : 0);
  trace_change(traced_, "palette", now);
}

void PaletteBox::draw(const Frame& frame, const ListActions& list, const TypedActions& typed) {
  if (!open_) return trace();
  if (wants_keys_) ImGui::SetNextWindowFocus();
  begin_box(frame);
  const bool entered = draw_field(frame);
  // After the field, so that Enter takes what was typed in the same frame.
  if (query_ != found_for_ || ImGui::GetTime() >= stale_at_) find(list, typed);
  redraw_at(frame, stale_at_);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  const int clicked = draw_rows(frame);
  draw_footer(frame);
  const bool beside = ImGui::IsMouseClicked(0) && !ImGui::IsWindowHovered(kHovered);
  ImGui::End();
  if (entered) {
    take(chosen_, list, typed);
  } else if (clicked >= 0) {
    take(clicked, list, typed);
  } else if (beside) {
    close();
  }
  trace();
}

}  // namespace warpscope::ui
