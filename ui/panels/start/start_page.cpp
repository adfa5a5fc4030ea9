#include "ui/panels/start/start_page.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"
#include "gpu/models/model_file.h"
#include "ui/images/byte_colours.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// Design pixels.
constexpr float kLabelRoom = 88, kChoiceRoom = 240, kGoalRoom = 96, kSampleSide = 44, kTwoColumns = 860;
constexpr std::size_t kClassLetters = 160;
constexpr std::array<const char*, 4> kGoals{"none", "epochs", "time", "accuracy"};
/// What the field of a goal begins with, so that a click is enough.
constexpr std::array<std::string_view, 4> kFirstGoals{"", "10", "15m", "0.9"};

void form_label(const Frame& frame, const char* text, std::string_view tip) {
  caption(frame, text);
  tooltip(frame, tip);
  ImGui::SameLine(ImGui::GetWindowContentRegionMin().x + std::floor(kLabelRoom * frame.scale));
}

// Where rows without a label begin.
void indent_form(const Frame& frame) {
  ImGui::SetCursorPosX(ImGui::GetWindowContentRegionMin().x + std::floor(kLabelRoom * frame.scale));
}

float choice_room(const Frame& frame) {
  return std::min(std::floor(kChoiceRoom * frame.scale), ImGui::GetContentRegionAvail().x);
}

void draw_start_choice(const Frame& frame, const char* name, const std::vector<StartRow>& rows,
                       std::string& value, std::string_view tip) {
  const auto is = [&](const StartRow& row) { return row.value == value; };
  const auto now = std::find_if(rows.begin(), rows.end(), is);
  if (!begin_combo(frame, name, now == rows.end() ? value : now->label, choice_room(frame), tip)) return;
  for (const StartRow& row : rows) {
    const std::string id = fmt::format("{}.{}", name, row.label);
    if (combo_item(frame, id.c_str(), row.label.c_str(), row.value == value, row.note, row.why_not))
      value = row.value;
  }
  end_combo();
}

// A training without any step leaves no folder.
std::string run_with_weights(const training::Snapshot& snapshot) {
  return snapshot.step > 0 ? training::run_folder_here(snapshot) : "";
}

void muted_paragraph(const Frame& frame, const std::string& text, ImU32 color) {
  indent_form(frame);
  paragraph(frame.fonts.small, color, files::escaped(text));
}

}  // namespace

void StartPage::open(const training::Snapshot& snapshot, bool first) {
  open_ = true;
  first_ = first;
  desk_.begin(snapshot);
}

void StartPage::shutdown() {
  samples_.reset();
  cards_.shutdown();
}

void StartPage::draw(const Frame& frame, Panels& panels) {
  begin_panel(frame, "start");
  draw_title(frame);
  panel_body(frame);
  const float s = frame.scale, room = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy(ImVec2(1, 2 * s));
  if (room < kTwoColumns * s) {
    draw_form(frame);
    ImGui::Dummy(ImVec2(1, 12 * s));
    draw_beside(frame, panels);
  } else {
    ImGui::BeginChild("start.form", ImVec2(std::floor(room * 0.54f), 0));
    draw_form(frame);
    ImGui::EndChild();
    ImGui::SameLine(0, 32 * s);
    ImGui::BeginChild("start.recents", ImVec2(0, 0));
    draw_beside(frame, panels);
    ImGui::EndChild();
  }
  end_panel();
}

void StartPage::draw_beside(const Frame& frame, Panels& panels) {
  draw_challenges(frame);
  ImGui::Dummy(ImVec2(1, 12 * frame.scale));
  cards_.draw(frame, panels, desk_);
}

// In the training that there is: nothing has to be set up.
void StartPage::draw_challenges(const Frame& frame) {
  row_text(frame, frame.fonts.strong, frame.palette.text, "Challenges, in the training of this window");
  for (const ChallengeRow& row : challenges()) {
    const std::string why_not = row.why_not(frame.snapshot);
    const std::string name = fmt::format("start.challenge.{}", row.id);
    if (text_button(frame, name.c_str(), row.title, why_not.empty() ? row.goal : why_not, why_not.empty())) {
      challenge_ = &row;
      close();
    }
    paragraph(frame.fonts.small, frame.palette.muted, row.goal);
    ImGui::Dummy(ImVec2(1, std::floor(4 * frame.scale)));
  }
}

void StartPage::draw_title(const Frame& frame) {
  panel_title(frame, "Start a training");
  const float tour = first_ ? text_button_width(frame, "Take the tour") + 8 * frame.scale : 0;
  ImGui::SameLine();
  align_title_right(frame, ImGui::GetFrameHeight() + tour);
  if (first_) {
    if (text_button(frame, "start.tour", "Take the tour", "Shows the window in seven stops, two minutes")) {
      tour_ = true;
      close();
    }
    ImGui::SameLine(0, 8 * frame.scale);
  }
  if (icon_button(frame, "start.close", Icon::close, "Back to the training (Esc); Ctrl N opens this page"))
    close();
}

void StartPage::draw_form(const Frame& frame) {
  StartChoices choices = desk_.choices();
  draw_data(frame, choices);
  form_label(frame, "network", "What is trained. What does not suit the data is grey.");
  const models::Model* const network = desk_.reading_network() ? nullptr : &desk_.network();
  draw_start_choice(frame, "start.network", network_rows(desk_.inventory(), choices, network),
                    choices.network,
                    "A network that comes along, or the file that you have named below the data");
  form_label(frame, "weights", "What the training begins with.");
  draw_start_choice(frame, "start.weights", weight_rows(run_with_weights(frame.snapshot), choices.init),
                    choices.init, "New weights start anew; those of a run or a file go on to be trained");
  draw_goal(frame, choices);
  form_label(frame, "device", "Where it trains.");
  draw_start_choice(frame, "start.device", device_rows(desk_.at_hand().devices), choices.device,
                    "Automatic: the first GPU, else the CPU");
  form_label(frame, "precision", "The precision of matrix products.");
  draw_start_choice(frame, "start.precision", precision_rows(desk_.at_hand().devices, choices.device),
                    choices.precision, "Automatic: the fastest that is as good");
  draw_more(frame, choices);
  if (choices != desk_.choices()) desk_.choose(std::move(choices));
  draw_command(frame);
  draw_start(frame);
}

void StartPage::draw_data(const Frame& frame, StartChoices& choices) {
  form_label(frame, "data", "What the network learns from.");
  const std::vector<std::string> folders = desk_.recent_folders();
  draw_start_choice(frame, "start.data", data_rows(desk_.at_hand().sets, folders, choices.data), choices.data,
                    "Sets on this machine, folders of recent trainings, or one that you name or drop");
  draw_fetch(frame);
  draw_path(frame);
  draw_found(frame);
}

void StartPage::draw_fetch(const Frame& frame) {
  const StartServices& services = desk_.services();
  const float s = frame.scale;
  if (services.fetchable.empty()) return;
  const float width = std::floor(112 * s);
  next_in_row(frame, 8, width);
  if (!begin_combo(frame, "start.fetch", "Fetch ...", width, "Downloads a data set into the cache folder"))
    return;
  for (const std::string& name : services.fetchable) {
    const data::SetRow* const set = data::find_set(name);
    const auto& sets = desk_.at_hand().sets;
    const bool there = std::find(sets.begin(), sets.end(), name) != sets.end();
    const std::string title = set == nullptr ? name : std::string(set->title);
    const char* const why_not = there             ? "It is on this machine."
                                : desk_.fetches() ? "One is fetched at a time."
                                                  : "";
    if (combo_item(frame, ("start.fetch." + name).c_str(), title.c_str(), false, there ? "is here" : "",
                   why_not))
      desk_.fetch(name);
  }
  end_combo();
}

void StartPage::draw_path(const Frame& frame) {
  const float s = frame.scale;
  indent_form(frame);
  const float open = text_button_width(frame, "Look") + browser_.width(frame) + 8 * s;
  const float width = std::max(48 * s, std::min(360 * s, ImGui::GetContentRegionAvail().x - open));
  ImGui::SetNextItemWidth(width);
  const std::string hint = ellipsize(frame.fonts.text, "path of data, a run, weights or a network",
                                     width - 2 * ImGui::GetStyle().FramePadding.x);
  const bool entered = ImGui::InputTextWithHint("##start.path", hint.c_str(), path_.data(), path_.size(),
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  if (ImGui::IsItemActive()) outline_typed(frame);
  trace_item("start.path");
  tooltip(frame, "Type it, drop it on the window, or browse");
  ImGui::SameLine(0, 4 * s);
  const bool named = path_[0] != '\0';
  const bool asked =
      text_button(frame, "start.look", "Look", named ? "Tells what it holds" : "Type a path first.", named);
  if ((asked || entered) && named) desk_.take(typed_path(path_.data()));
  ImGui::SameLine(0, 4 * s);
  if (const auto chosen = browser_.draw(frame)) {
    const std::string path = chosen->string();
    path_.fill('\0');
    std::copy_n(path.begin(), std::min(path.size(), path_.size() - 1), path_.begin());
    desk_.take(*chosen);
  }
}

// As high whatever is found, at any time: what stands below it would move away from a click.
void StartPage::draw_found(const Frame& frame) {
  constexpr float kLines = 5;  // of what data hold, below their samples; more are scrolled to
  const float line = font_size(frame.fonts.small) + ImGui::GetStyle().ItemSpacing.y;
  const float samples = std::floor(kSampleSide * frame.scale) + ImGui::GetStyle().ItemSpacing.y;
  indent_form(frame);
  ImGui::BeginChild("start.found", ImVec2(0, std::ceil(kLines * line + samples)));
  if (desk_.fetches()) draw_fetching(frame);
  draw_held(frame);
  ImGui::EndChild();
}

void StartPage::draw_fetching(const Frame& frame) {
  const float s = frame.scale;
  const auto [done, total] = desk_.fetched();
  const float part = total > 0 ? static_cast<float>(done) / static_cast<float>(total) : 0.0f;
  if (text_button(frame, "start.fetch.cancel", "Cancel", "What is there is kept, and goes on from there"))
    desk_.cancel_fetch();
  ImGui::SameLine(0, 8 * s);
  progress_bar(frame, "start.fetching", std::floor(96 * s), std::clamp(part, 0.0f, 1.0f));
  ImGui::SameLine(0, 8 * s);
  caption(frame, fmt::format("{}: {}", desk_.fetched_set(), fetched_text(done, total)));
}

// What the data hold, or why nobody knows.
void StartPage::draw_held(const Frame& frame) {
  const auto& palette = frame.palette;
  const auto say = [&](const std::string& text, ImU32 color) {
    paragraph(frame.fonts.small, color, files::escaped(text));
  };
  if (desk_.looking()) return say("Looking at the data ...", palette.muted);
  if (!desk_.error().empty()) {
    say(sentence(desk_.error()), palette.error);
    trace_item("start.error");
    return;
  }
  const data::Inventory* const inventory = desk_.inventory();
  if (inventory == nullptr) return;
  const std::string told = data::describe(*inventory);
  const std::string title = files::sayable(inventory->title);
  draw_samples(frame, *inventory);
  say(title.empty() ? told : fmt::format("{}: {}", title, told), palette.text);
  trace_item("start.held");
  const std::string classes = class_text(inventory->classes, kClassLetters);
  say(classes, palette.muted);
  if (trace_enabled())
    trace_change(traced_held_, "held", fmt::format("\"classes\":{}", json_string(classes)));
  if (!inventory->notice.empty()) say(sentence(inventory->notice), palette.muted);
}

void StartPage::draw_samples(const Frame& frame, const data::Inventory& inventory) {
  const data::ImageSet& set = inventory.samples;
  const auto count = static_cast<int>(set.count);
  if (count == 0) return;
  if (inventory.texts) {
    for (std::size_t i = 0; i < std::min<std::size_t>(set.texts.size(), 3); ++i) {
      const float room = ImGui::GetContentRegionAvail().x;
      caption(frame, ellipsize(frame.fonts.small, files::sayable(set.texts[i]), room));
    }
    return;
  }
  if (!samples_ || sampled_ != desk_.inventory_number()) {
    sampled_ = desk_.inventory_number();
    const auto page = interop::make_page(count, set.width, set.height, interop::Texture::largest());
    samples_ = std::make_unique<interop::TilePage>(page, frame.textures);
    for (int i = 0; i < std::min(count, page.tiles()); ++i)
      samples_->upload(i, images::byte_colours(set, i).data());
  }
  const float side = std::floor(kSampleSide * frame.scale), gap = std::floor(4 * frame.scale);
  const float width =
      std::max(1.0f, std::floor(side * static_cast<float>(set.width) / static_cast<float>(set.height)));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  float x = at.x;
  for (int i = 0; i < std::min(count, samples_->shape().tiles()) && x + width <= right; ++i) {
    samples_->draw(ImGui::GetWindowDrawList(), i, ImVec2(x, at.y), ImVec2(x + width, at.y + side));
    x += width + gap;
  }
  ImGui::Dummy(ImVec2(std::max(1.0f, x - at.x), side));
  trace_item("start.samples");
}

void StartPage::draw_goal(const Frame& frame, StartChoices& choices) {
  form_label(frame, "goal", "When the training ends by itself.");
  auto goal = static_cast<int>(choices.goal);
  const bool other =
      segmented(frame, "start.goal", kGoals, &goal,
                "Without a goal it trains until you end it; all of it can be changed later", true);
  if (other) {
    choices.goal = static_cast<Goal>(goal);
    goal_.fill('\0');
    std::ranges::copy(kFirstGoals.at(static_cast<std::size_t>(goal)), goal_.begin());
    choices.goal_text = goal_.data();
  }
  if (choices.goal == Goal::none) return;
  next_in_row(frame, 8, kGoalRoom * frame.scale);
  ImGui::SetNextItemWidth(std::floor(kGoalRoom * frame.scale));
  ImGui::InputText("##start.goal.text", goal_.data(), goal_.size(), ImGuiInputTextFlags_AutoSelectAll);
  if (ImGui::IsItemActive()) outline_typed(frame);
  trace_item("start.goal.text");
  tooltip(frame,
          "Epochs as a number; a time such as 90s, 15m or 1h30m; an accuracy from 0 to 1 or in percent");
  choices.goal_text = goal_.data();
}

// Settings that somebody has typed into the palette and that only a new training takes.
void StartPage::draw_more(const Frame& frame, StartChoices& choices) {
  if (choices.more.empty()) return;
  form_label(frame, "also", "Other settings of the new training.");
  std::string text;
  for (const auto& [name, value] : choices.more)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, files::sayable(value));
  const float room = ImGui::GetContentRegionAvail().x - ImGui::GetFrameHeight() - 8 * frame.scale;
  row_text(frame, frame.fonts.text, frame.palette.text, ellipsize(frame.fonts.text, text, room));
  ImGui::SameLine(0, 8 * frame.scale);
  if (icon_button(frame, "start.more.clear", Icon::close, "As by default")) choices.more.clear();
}

void StartPage::draw_command(const Frame& frame) {
  ImGui::Dummy(ImVec2(1, 4 * frame.scale));
  form_label(frame, "command", "What does the same in a terminal.");
  const std::string line = command_line_of(desk_.choices()) + rank_options(frame.snapshot, desk_.choices());
  if (text_button(frame, "start.copy", "Copy", "Copies the command line")) {
    ImGui::SetClipboardText(line.c_str());
    trace_event("copied", fmt::format("\"text\":{}", json_string(line)));
  }
  ImGui::SameLine(0, 8 * frame.scale);
  row_text(frame, frame.fonts.numbers, frame.palette.text,
           ellipsize(frame.fonts.numbers, files::escaped(line), ImGui::GetContentRegionAvail().x));
  trace_item("start.command");
}

void StartPage::draw_start(const Frame& frame) {
  const float s = frame.scale;
  ImGui::Dummy(ImVec2(1, 4 * s));
  indent_form(frame);
  const bool as_is = first_ && desk_.choices() == StartChoices{};
  const std::string why_not = opening_ ? "it is being opened" : as_is ? "" : desk_.why_not();
  if (text_button(frame, "start.start", "Start", why_not.empty() ? "Begins the training" : sentence(why_not),
                  why_not.empty()))
    start(frame);
  ImGui::SameLine(0, 8 * s);
  if (text_button(frame, "start.back", first_ ? "Skip" : "Back",
                  first_ ? "Begins the training of the defaults" : "The present training, as it is"))
    close();
  if (!why_not.empty()) return muted_paragraph(frame, sentence(why_not), frame.palette.warning);
  if (as_is) {
    constexpr const char* kWelcome =
        "A neural network learns from these data while you watch. Everything above has a default: Start is "
        "enough, and you may pause, change and rewind it at any time.";
    return muted_paragraph(frame, kWelcome, frame.palette.muted);
  }
  const char* const weights =
      desk_.choices().init.empty() ? "" : "The new training begins with the chosen weights. ";
  muted_paragraph(frame, weights + ranks_text(frame.snapshot, desk_.choices()) + leaving_text(frame.snapshot),
                  frame.palette.muted);
}

// At a first start the training that waits is that of the defaults.
void StartPage::start(const Frame& frame) {
  if (first_ && desk_.choices() == StartChoices{}) return close();
  StartChoices choices = desk_.choices();
  // The present training has no checkpoint yet that tells its network: it writes one when it is left.
  const bool own_weights = !choices.init.empty() && choices.init == training::run_folder_here(frame.snapshot);
  if (own_weights && choices.network.empty() && frame.snapshot.network)
    choices.network = models::text_of(*frame.snapshot.network);
  start_ = std::move(choices);
}

}  // namespace warpscope::ui
