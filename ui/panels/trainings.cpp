#include "ui/panels/trainings.h"

#include <algorithm>
#include <array>
#include <exception>
#include <system_error>
#include <utility>

#include "gpu/core/host_memory.h"
#include "gpu/runs/run_source.h"
#include "ui/panels/training/let_go.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Between two looks at the clock.
constexpr std::size_t kRowsAtOnce = 10'000, kItemsAtOnce = 2'000;

// Sky blue and orange are the present curves', purple its validation, grey the one before a reset.
constexpr std::array<int, kRunColors> kOrder{2, 4, 5, 6, 3, 7, 0, 1};

void attach(ShownTraining& training, std::shared_ptr<training::Source> source) {
  training.source = std::move(source);
  training.feed = training.source->subscribe();
}

// Takes about `items` of what waits. True if it has taken any.
bool consume_waiting(ShownTraining& training, std::size_t items) {
  const bool any = !training.waiting.empty();
  while (items > 0 && !training.waiting.empty()) {
    const auto& first = training.waiting.front();
    const std::size_t end = std::min(training.taken + items, first.size());
    items -= end - training.taken;
    for (; training.taken < end; ++training.taken) training.history.consume(first[training.taken]);
    if (training.taken < first.size()) break;
    training.waiting.pop_front();
    training.taken = 0;
  }
  return any;
}

// True if there is something new.
bool look_at(ShownTraining& overlay) {
  if (overlay.opening.valid()) {
    if (overlay.opening.wait_for(Clock::duration::zero()) != std::future_status::ready) return false;
    try {
      attach(overlay, overlay.opening.get());
    } catch (const std::exception& error) {
      overlay.error = core::sentence_of(error);
    }
    return true;
  }
  if (!overlay.feed) return false;
  const auto now = overlay.source->snapshot();  // before the items, which are there with it
  auto items = overlay.feed->take();
  const bool begins = !overlay.begun && now->state != training::TrainerState::preparing;
  overlay.begun = overlay.begun || begins;
  const bool told = now->notice_id > 0 && overlay.error != now->notice;
  if (told) overlay.error = now->notice;
  const bool any = !items.empty();
  if (any) overlay.waiting.push_back(std::move(items));
  return begins || told || any;
}

}  // namespace

int free_color(Overlays overlays) {
  std::array<std::size_t, kRunColors> used{};
  for (const auto& overlay : overlays) ++used[static_cast<std::size_t>(overlay->color) % kRunColors];
  return *std::min_element(kOrder.begin(), kOrder.end(), [&](int a, int b) {
    return used[static_cast<std::size_t>(a)] < used[static_cast<std::size_t>(b)];
  });
}

Trainings::Trainings() {
  list_.push_back(std::make_unique<ShownTraining>(true));
}

void Trainings::open(std::shared_ptr<training::Source> source) {
  attach(*list_.front(), std::move(source));
}

void Trainings::close() {
  for (const auto& training : list_) {
    if (training->source) training->source->stop();
  }
  for (const auto& training : list_) {
    training->opening = {};  // waits
    training->source.reset();
  }
  removed_.clear();
  if (freed_.valid()) freed_.wait();
}

std::vector<training::FeedItem> Trainings::look() {
  ShownTraining& own = *list_.front();
  std::vector<training::FeedItem> items = own.feed->take();
  for (const auto& item : items) own.history.consume(item);
  for (const auto& overlay : overlays()) changed_ = look_at(*overlay) || changed_;
  // Where the window is hidden nobody else takes what waits.
  for (const auto& overlay : overlays()) {
    if (!consume_waiting(*overlay, kItemsAtOnce)) continue;
    changed_ = true;
    break;
  }
  return items;
}

bool Trainings::update(std::span<const CurveChoice> choices, Clock::time_point end) {
  if (!removed_.empty()) freed_ = let_go(std::exchange(removed_, {}), std::move(freed_));
  changed_ = false;
  bool more = false, advanced = false;
  for (const auto& training : list_) {
    LossHistory& history = training->history;
    history.choose(choices, training == list_.front() ? LossHistory::kAtOnce : 0);
    // However little time there is, the first that has something to do goes on.
    while ((history.busy() || !training->waiting.empty()) && (!advanced || Clock::now() < end)) {
      advanced = true;
      consume_waiting(*training, kItemsAtOnce);
      history.advance(kRowsAtOnce);
    }
    more = more || history.busy() || !training->waiting.empty();
  }
  return more;
}

ShownTraining* Trainings::find(const fs::path& folder) const {
  const auto shown = overlays();
  const auto found =
      std::find_if(shown.begin(), shown.end(), [&](const auto& each) { return each->folder == folder; });
  return found == shown.end() ? nullptr : found->get();
}

void Trainings::show(const fs::path& folder, const std::string& name) {
  if (ShownTraining* const shown = find(folder)) {
    shown->visible = true;
    return;
  }
  auto overlay = std::make_unique<ShownTraining>();
  overlay->folder = folder;
  overlay->name = name;
  overlay->color = free_color(overlays());
  try {
    overlay->opening = std::async(std::launch::async, [folder]() -> std::shared_ptr<training::Source> {
      return std::make_shared<runs::RunSource>(folder, runs::Reads::curves);
    });
  } catch (const std::system_error& error) {
    overlay->error = core::sentence_of(error);
  }
  list_.push_back(std::move(overlay));
}

void Trainings::remove(const fs::path& folder) {
  const auto found =
      std::find_if(list_.begin() + 1, list_.end(), [&](const auto& each) { return each->folder == folder; });
  if (found == list_.end()) return;
  removed_.push_back(std::move(*found));
  list_.erase(found);
}

}  // namespace warpscope::ui
