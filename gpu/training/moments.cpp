#include "gpu/training/moments.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace warpscope::training {
namespace {

/// Share of the newest step: what is closer to the beginning than that counts alike.
constexpr double kEvenShare = 0.25;
constexpr double kMattersTimes = 8;
/// Each arrival looks at all of them.
constexpr std::size_t kMostMoments = 1024;

/// The most that take_changes() takes: no window takes back more.
constexpr std::size_t kMostChanges = 128;

/// Share of the budget for those that wait for the disk.
constexpr std::size_t kShareOfWaiting = 8;

}  // namespace

std::size_t thinned_out(std::span<const MomentPlace> places) {
  if (places.size() < 3) return 0;
  const double even = kEvenShare * static_cast<double>(places.back().step);
  std::size_t least = 1;
  double least_worth = 0;
  for (std::size_t i = 1; i + 1 < places.size(); ++i) {
    const auto before = static_cast<double>(places[i - 1].step);
    const auto after = static_cast<double>(places[i + 1].step);
    const double worth = (after - before) / (after + even) * (places[i].matters ? kMattersTimes : 1);
    if (i > 1 && worth >= least_worth) continue;
    least = i;
    least_worth = worth;
  }
  return least;
}

std::size_t Moment::bytes() const {
  if (!engine) return 0;
  std::size_t floats = engine->parameters.size();
  for (const std::vector<float>& each : engine->states) floats += each.size();
  return floats * sizeof(float) + sizeof(*engine);
}

void Moments::clear() {
  while (!kept_.empty()) erase(kept_.size() - 1);
  coming_.reset();
  newest_.reset();
  changes_.clear();
  evaluations_.clear();
  for (Past& past : pasts_) past.changes = past.evaluations = past.taken = 0;
  list_changed_ = changes_changed_ = true;
}

void Moments::give_up() {
  clear();
  files_.reset();
  budget_ = 0;
}

HandedMoments Moments::hand_over(const Moment& last, const std::function<bool()>& stopped,
                                 std::string& error) {
  if (files_) {
    erase_others([&](const Moment& moment) {
      const bool same_beginning =
          moment.first_weights == last.first_weights ||
          (moment.first_weights && last.first_weights && *moment.first_weights == *last.first_weights);
      return is_past(moment) && same_beginning && moment.settings->model == last.settings->model;
    });
    error = settle_files();
    write_all();
    files_->finish(stopped);
    if (const std::string why = settle_files(); !why.empty()) error = why;
    erase_others([](const Moment& moment) { return !moment.engine; });
  }
  if (!files_ || kept_.empty()) {
    give_up();
    return {};
  }
  HandedMoments handed{.folder = files_->folder().string(),
                       .next_number = next_number_,
                       .kept = std::exchange(kept_, {}),
                       .files = files_->files(),
                       .notes = notes()};
  coming_.reset();
  newest_.reset();
  budget_ = 0;
  return handed;
}

std::string Moments::take_on(const HandedMoments& handed,
                             const std::shared_ptr<const std::vector<float>>& first_weights) {
  take_over(handed.notes);
  std::string lost = files_->take_on(handed.folder, handed.files);
  next_number_ = handed.next_number;
  for (const Moment& each : handed.kept) {
    if (!files_->files().contains(each.number)) continue;
    kept_.push_back(each);
    kept_.back().first_weights = first_weights;
  }
  return lost;
}

void Moments::take_over(MomentNotes notes) {
  clear();
  pasts_ = std::move(notes.pasts);
  breaks_ = std::move(notes.breaks);
  changes_ = std::move(notes.changes);
  evaluations_ = std::move(notes.evaluations);
}

void Moments::begin(std::uint64_t generation) {
  pasts_.push_back({.generation = generation, .from = {}});
  list_changed_ = changes_changed_ = true;
}

void Moments::begin(std::uint64_t generation, std::uint64_t from, std::uint64_t step, bool open) {
  begin(generation, from, step, open, changes_.size());
}

void Moments::begin(std::uint64_t generation, std::uint64_t from, std::uint64_t step, bool open,
                    std::size_t taken) {
  pasts_.push_back({.generation = generation,
                    .from = from,
                    .step = step,
                    .open = open,
                    .changes = changes_.size(),
                    .evaluations = evaluations_.size(),
                    .taken = std::min(taken, changes_.size())});
  list_changed_ = changes_changed_ = true;
}

/// Not where anything at that very step may have come before or after: in doubt the generation's own moments are there.
bool Moments::leads_to(std::uint64_t generation, std::uint64_t step, std::size_t changes,
                       std::uint64_t last_evaluation) const {
  if (std::ranges::find(breaks_, step) != breaks_.end()) return false;
  auto owner = std::ranges::find(pasts_, generation, &Past::generation);
  while (owner != pasts_.end() && owner->from && owner->step > step) {
    owner = std::ranges::find(pasts_, *owner->from, &Past::generation);
  }
  if (owner == pasts_.end()) return false;
  const bool at_beginning = owner->from && owner->step == step;
  if (at_beginning && !owner->open) return false;
  const auto changed = [&](const NotedChange& change) {
    return change.generation == owner->generation && change.step == step && !change.begins;
  };
  if (std::ranges::any_of(changes_ | std::views::take(changes), changed)) return false;
  return std::ranges::none_of(evaluations_, [&](const NotedEvaluation& noted) {
    return noted.generation == owner->generation && noted.evaluation.step == step &&
           (at_beginning || last_evaluation < step);
  });
}

void Moments::break_off(std::uint64_t step) {
  const auto end = [&](Moment& moment) {
    if (moment.generation == pasts_.back().generation) moment.reach = std::min(moment.reach, step);
  };
  std::for_each(kept_.begin(), kept_.end(), end);
  if (coming_) end(*coming_);
  if (newest_) end(*newest_);
  pasts_.back().reach = std::min(pasts_.back().reach, step);
  breaks_.push_back(step);
}

bool Moments::due(std::uint64_t step, std::size_t bytes) const {
  if (kept_.empty() || kept_.back().generation != pasts_.back().generation) return true;
  if (kept_.back().step >= step) return false;
  const std::uint64_t room =
      std::clamp<std::uint64_t>(budget_ / std::max<std::size_t>(1, bytes), 1, kMostMoments);
  return step - kept_.back().step >= std::max<std::uint64_t>(1, step / room);
}

bool Moments::keep_longer(std::uint64_t step) {
  if (kept_.empty() || kept_.back().step != step || kept_.back().generation != pasts_.back().generation) {
    return false;
  }
  return kept_.back().matters = true;
}

void Moments::expect(Moment moment) {
  moment.generation = pasts_.back().generation;
  moment.changes = changes_.size();
  moment.evaluations = evaluations_.size();
  coming_ = std::move(moment);
  coming_noted_ = false;
}

void Moments::before_point(std::uint64_t step, const Steering& steering, const Progress& progress,
                           const FigureTally& tally) {
  if (!coming_ || coming_noted_ || step <= coming_->step) return;
  const double epoch = coming_->progress.epoch;
  coming_->steering.take_losses_of(steering);
  coming_->progress = progress;
  coming_->progress.step = coming_->step;
  coming_->progress.epoch = epoch;
  coming_->tally = tally.mark();
  coming_noted_ = true;
  keep_if_whole();
}

void Moments::arrive(EngineState state) {
  if (!coming_) return;
  coming_->engine = std::make_shared<const EngineState>(std::move(state));
  keep_if_whole();
}

void Moments::keep_if_whole() {
  if (!coming_noted_ || !coming_->engine) return;
  coming_->number = next_number_++;
  if (coming_->guards) newest_ = *coming_;
  if (coming_->only_guards) return coming_.reset();
  kept_.push_back(std::move(*coming_));
  coming_.reset();
  list_changed_ = true;
  thin();
}

void Moments::note_change(std::uint64_t step, std::shared_ptr<const TrainingSettings> settings,
                          const plan::Selection& selection, bool begins, std::uint64_t command) {
  if (!wanted()) return;
  changes_.push_back({pasts_.back().generation, step, std::move(settings), selection, begins, command});
  if (command > 0) changes_changed_ = true;
}

void Moments::note_evaluation(const Evaluation& evaluation, const Point& point) {
  if (!wanted()) return;
  NotedEvaluation noted{pasts_.back().generation, changes_.size(), {}, point};
  noted.evaluation.split = evaluation.split;
  noted.evaluation.step = evaluation.step;
  noted.evaluation.epoch = evaluation.epoch;
  noted.evaluation.loss = evaluation.loss;
  noted.evaluation.accuracy = evaluation.accuracy;
  evaluations_.push_back(std::move(noted));
  drop_old_notes();
}

/// Beyond an eighth of the budget the older half of the evaluations goes, with the moments that need it.
void Moments::drop_old_notes() {
  const std::size_t bytes =
      evaluations_.size() * sizeof(NotedEvaluation) + changes_.size() * sizeof(NotedChange);
  if (bytes <= budget_ / 8) return;
  const std::size_t gone = evaluations_.size() / 2;
  const auto is_old = [&](const Moment& moment) { return moment.evaluations < gone; };
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (is_old(kept_[i])) erase(i);
  }
  if (coming_ && is_old(*coming_)) coming_.reset();
  std::size_t changes = changes_.size();
  for (const Moment& moment : kept_) changes = std::min(changes, moment.changes);
  if (coming_) changes = std::min(changes, coming_->changes);
  evaluations_.erase(evaluations_.begin(), evaluations_.begin() + static_cast<std::ptrdiff_t>(gone));
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(changes));
  const auto shift = [&](Moment& moment) {
    moment.evaluations -= gone;
    moment.changes -= changes;
  };
  std::for_each(kept_.begin(), kept_.end(), shift);
  if (coming_) shift(*coming_);
  for (Past& past : pasts_) {
    past.evaluations -= std::min(past.evaluations, gone);
    past.changes -= std::min(past.changes, changes);
    past.taken -= std::min(past.taken, changes);
  }
  for (NotedEvaluation& each : evaluations_) each.changes -= std::min(each.changes, changes);
  list_changed_ = changes_changed_ = true;
}

/// The last step of that generation that is this training's past; nothing if it has none there.
std::optional<std::uint64_t> Moments::limit_of(std::uint64_t generation) const {
  std::uint64_t limit = kNoLastStep;
  std::uint64_t wanted = pasts_.back().generation;
  for (const Past& past : std::views::reverse(pasts_)) {
    if (past.generation != wanted) continue;
    if (wanted == generation) return limit;
    if (!past.from) return std::nullopt;
    wanted = *past.from;
    limit = std::min(limit, past.step);
  }
  return std::nullopt;
}

/// The newest first. Where generations begin after the same step, only the newest has steps.
std::vector<Moments::Stretch> Moments::stretches() const {
  std::vector<Stretch> all;
  std::uint64_t wanted = pasts_.back().generation, end = kNoLastStep;
  for (const Past& past : std::views::reverse(pasts_)) {
    if (past.generation != wanted) continue;
    if (!past.from || past.step < end) {
      all.push_back({&past, end});
      end = past.step;
    }
    if (!past.from) break;
    wanted = *past.from;
  }
  return all;
}

const Past* Moments::branch_at(std::uint64_t generation, std::uint64_t steps, std::uint64_t to) const {
  if (steps >= to) return nullptr;
  for (const Stretch& stretch : stretches()) {
    const Past& past = *stretch.past;
    if (past.from && past.step == steps && past.generation > generation) return &past;
  }
  return nullptr;
}

/// Whether the state before that change can be reached from it.
bool Moments::comes_before(const Moment& moment, std::size_t change) const {
  if (moment.changes > change) return false;
  // At the very step where its generation begins, steps that are made again end before that.
  const std::uint64_t generation = changes_[change].generation;
  const auto past = std::ranges::find(pasts_, generation, &Past::generation);
  const bool at_beginning = past != pasts_.end() && past->from && past->step == changes_[change].step;
  return !at_beginning || moment.generation == generation;
}

const Moment* Moments::find(std::uint64_t step, std::optional<std::size_t> before) const {
  const Moment* found = nullptr;
  const std::vector<Stretch> past = stretches();
  for (const Moment& moment : kept_) {
    if (before && !comes_before(moment, *before)) continue;
    const auto limit = limit_of(moment.generation);
    if (!limit || moment.step > std::min(*limit, step) || moment.reach < std::min(*limit, step)) continue;
    const auto leads_on = [&](const Stretch& each) {
      const Past& next = *each.past;
      if (!next.from || next.step < *limit || next.step >= step) return true;
      return next.open && next.reach >= std::min(each.end, step);
    };
    if (!std::ranges::all_of(past, leads_on)) continue;
    const bool better = found == nullptr || moment.step > found->step ||
                        (moment.step == found->step && moment.generation > found->generation);
    if (better) found = &moment;
  }
  return found;
}

const Moment* Moments::newest() const {
  const bool goes_on =
      newest_ && newest_->generation == pasts_.back().generation && newest_->reach == kNoLastStep;
  return goes_on ? &*newest_ : nullptr;
}

const Moment* Moments::next(std::uint64_t step) const {
  const Moment* found = nullptr;
  for (const Moment& moment : kept_) {
    const auto limit = limit_of(moment.generation);
    if (!limit || *limit < moment.step || moment.step < step) continue;
    if (found == nullptr || moment.step < found->step) found = &moment;
  }
  return found;
}

std::shared_ptr<const std::vector<std::uint64_t>> Moments::take_list() {
  if (!std::exchange(list_changed_, false)) return nullptr;
  auto steps = std::make_shared<std::vector<std::uint64_t>>();
  for (const Moment& moment : kept_) {
    if (is_past(moment)) steps->push_back(moment.step);
  }
  std::sort(steps->begin(), steps->end());
  steps->erase(std::unique(steps->begin(), steps->end()), steps->end());
  return steps;
}

/// Whether this training has gone on with that change.
bool Moments::is_past_change(std::size_t place) const {
  const NotedChange& change = changes_[place];
  std::uint64_t wanted = pasts_.back().generation;
  for (const Past& past : std::views::reverse(pasts_)) {
    if (past.generation != wanted) continue;
    if (wanted == change.generation) return true;
    const bool within = change.step < past.step || (change.step == past.step && place < past.taken);
    if (!past.from || !within) return false;
    wanted = *past.from;
  }
  return false;
}

std::optional<std::size_t> Moments::change_by(std::uint64_t command) const {
  for (std::size_t i = 0; command > 0 && i < changes_.size(); ++i) {
    if (changes_[i].command == command && is_past_change(i)) return i;
  }
  return std::nullopt;
}

std::shared_ptr<const std::vector<ChangeMade>> Moments::take_changes() {
  if (!std::exchange(changes_changed_, false)) return nullptr;
  auto made = std::make_shared<std::vector<ChangeMade>>();
  for (std::size_t i = changes_.size(); i-- > 0 && made->size() < kMostChanges;) {
    const NotedChange& change = changes_[i];
    if (change.command > 0 && is_past_change(i)) made->push_back({change.command, change.step});
  }
  std::ranges::reverse(*made);
  return made;
}

std::size_t Moments::bytes() const {
  std::size_t bytes = 0;
  for (const Moment& moment : kept_) bytes += moment.bytes();
  return bytes;
}

bool Moments::is_past(const Moment& moment) const {
  const auto limit = limit_of(moment.generation);
  return limit && moment.step <= *limit;
}

Moment* Moments::with_number(std::uint64_t number) {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [number](const Moment& moment) { return moment.number == number; });
  return found == kept_.end() ? nullptr : &*found;
}

std::string Moments::settle_files() {
  if (!files_) return "";
  const MomentFiles::News news = files_->take_news();
  for (const std::uint64_t number : news.written) {
    Moment* const moment = with_number(number);
    if (moment == nullptr) continue;
    moment->leaving = false;
    moment->engine.reset();
  }
  for (const std::uint64_t number : news.failed) {
    if (Moment* const moment = with_number(number)) moment->leaving = false;
  }
  if (!news.written.empty() || !news.failed.empty()) thin();  // another one may wait for the disk now
  return news.error;
}

std::shared_ptr<const EngineState> Moments::state_of(const Moment& moment) const {
  if (moment.engine) return moment.engine;
  return std::make_shared<const EngineState>(files_->read(moment));
}

void Moments::lose(std::uint64_t number) {
  if (Moment* const moment = with_number(number)) erase(static_cast<std::size_t>(moment - kept_.data()));
}

std::shared_ptr<const std::vector<float>> Moments::shared(std::vector<float> first_weights) const {
  if (!kept_.empty() && kept_.back().first_weights && *kept_.back().first_weights == first_weights)
    return kept_.back().first_weights;
  return std::make_shared<const std::vector<float>>(std::move(first_weights));
}

void Moments::erase(std::size_t place) {
  if (files_) files_->remove(kept_[place].number);
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(place));
  list_changed_ = true;
}

template <class Stays>
void Moments::erase_others(Stays stays) {
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (!stays(kept_[i])) erase(i);
  }
}

/// Which of those that may go does: first what is not this training's past, the oldest before the others; then as
/// thinned_out() says.
template <class MayGo>
std::optional<std::size_t> Moments::first_to_go(MayGo may_go) const {
  std::vector<std::size_t> where;
  std::vector<MomentPlace> places;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (!may_go(kept_[i])) continue;
    if (!is_past(kept_[i])) return i;
    where.push_back(i);
    places.push_back({kept_[i].step, kept_[i].matters});
  }
  if (places.empty()) return std::nullopt;
  return where[thinned_out(places)];
}

void Moments::thin() {
  thin_memory();
  while (kept_.size() > kMostMoments) erase(*first_to_go([](const Moment&) { return true; }));
  while (files_ && files_->bytes() > files_->budget()) {
    const auto gone = first_to_go([](const Moment& moment) { return moment.leaving || !moment.engine; });
    if (!gone) return;
    erase(*gone);
  }
}

/// Those in memory begin to go to the disk, where it takes any, as many as its budget has room for.
void Moments::write_all() {
  const auto is_written = [](const Moment& moment) { return moment.leaving || !moment.engine; };
  if (!files_->writes()) return;
  const auto bytes = [&] {
    std::size_t all = files_->bytes();
    for (const Moment& moment : kept_) all += is_written(moment) ? 0 : moment.bytes();
    return all;
  };
  while (bytes() > files_->budget()) erase(*first_to_go([](const Moment&) { return true; }));
  for (Moment& moment : kept_) {
    if (!is_written(moment)) moment.leaving = files_->write(moment, files_->budget());
  }
}

/// What goes waits for the disk, in a part of the budget; where it cannot, it has room until the budget is full.
void Moments::thin_memory() {
  const auto stays = [](const Moment& moment) { return moment.engine && !moment.leaving; };
  const std::size_t waiting = files_ && files_->writes() ? budget_ / kShareOfWaiting : 0;
  std::size_t all = 0, held = 0;
  for (const Moment& moment : kept_) {
    all += moment.bytes();
    if (stays(moment)) held += moment.bytes();
  }
  while (held > budget_ - waiting) {
    const std::size_t gone = *first_to_go(stays);
    const std::size_t bytes = kept_[gone].bytes();
    if (files_ && files_->write(kept_[gone], waiting)) {
      kept_[gone].leaving = true;
    } else if (all > budget_) {
      erase(gone);
      all -= bytes;
    } else {
      return;
    }
    held -= bytes;
  }
}

}  // namespace warpscope::training
