#include "gpu/training/recorded_looks.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "gpu/core/device_lost.h"
#include "gpu/core/error.h"
#include "gpu/messages/step_calls.h"
#include "gpu/observers/observer_table.h"

namespace warpscope::training {
namespace {

constexpr double kRatio = 1.05;       ///< of steps that are recorded
constexpr std::size_t kImages = 4;    ///< whose activations are
constexpr double kFirstCost = 0.005;  ///< seconds of a look before the first, with what it makes for all
constexpr auto kTurnInterval =
    std::chrono::milliseconds(1);                    ///< at least, so that short steps pay nothing for this
constexpr auto kPatience = std::chrono::seconds(2);  ///< for the last looks

/// What is asked of an observer that looks unasked.
struct LookRow {
  ViewKind kind;
  std::unique_ptr<Observer> (*make)();
  void (*ask)(ObservationRequest&, std::int64_t of);
};
constexpr std::array kLooks{
    LookRow{ViewKind::distributions, make_distribution_observer,
            [](ObservationRequest& request, std::int64_t /*of*/) { request.distributions = true; }},
    LookRow{ViewKind::activations, make_inspector,
            [](ObservationRequest& request, std::int64_t of) {
              request.inspected_image = of;
              request.inspected_parameters = 1;
            }},
    LookRow{ViewKind::latents, make_latent_mapper,
            [](ObservationRequest& request, std::int64_t /*of*/) { request.latents.map = true; }}};

double since(LookBudget::Clock::time_point begin) {
  return std::chrono::duration<double>(LookBudget::Clock::now() - begin).count();
}

}  // namespace

RecordedLooks::RecordedLooks(Engine& engine, Publishing& publishing, double share)
    : engine_(engine),
      publishing_(publishing),
      budget_(share),
      test_images_(engine.scene().data.test.count),
      lanes_(kRatio) {
  for (const LookRow& row : kLooks) looks_.push_back({row.make(), kFirstCost});
  for (std::size_t i = 0; i < kImages; ++i) images_.push_back(static_cast<std::int64_t>(i));
}

RecordedLooks::~RecordedLooks() {
  stop();
}

bool RecordedLooks::records() const {
  const TrainingSettings& settings = publishing_.settings();
  return !settings.run_dir.empty() && settings.keep_history_mib > 0;
}

/// Frees what looks need.
void RecordedLooks::stop() {
  under_way_.reset();
  if (!std::exchange(used_, false)) return;
  for (Look& look : looks_) look.observer->end(own_);
}

void RecordedLooks::follow_network() {
  under_way_.reset();
  used_ = false;
  for (Look& look : looks_) {
    look.observer->restart(own_);
    look = {std::move(look.observer), kFirstCost};
  }
  lanes_.clear();
  noted_ = {};
}

/// Another folder begins anew; after a way back what came later is recorded once more.
void RecordedLooks::follow_training() {
  const Snapshot& view = publishing_.view;
  if (folder_ != publishing_.settings().run_dir) {
    folder_ = publishing_.settings().run_dir;
    lanes_.clear();
    noted_ = {};
    noted_evaluation_ = nullptr;
  }
  if (generation_ != view.generation) {
    generation_ = view.generation;
    lanes_.forget_after(view.step);
  }
  if (network_ == view.network || !view.network) return;
  network_ = view.network;
  network_number_ = number_of(*network_);
}

void RecordedLooks::turn(const Observations& seen, bool trains) {
  const auto now = Clock::now();
  budget_.pass(now, trains);
  if (now < next_turn_) return;
  next_turn_ = now + kTurnInterval;
  if (!records()) {
    folder_.clear();
    return stop();
  }
  follow_training();
  if (seen.inspection && seen.inspection != noted_.inspection) point_at(seen.inspection->image);
  note(seen, noted_, false);
  note_view(false);
  if (under_way_) {
    take(false);
  } else if (trains) {
    const auto subject = next();
    if (subject && !begin(*subject)) next_turn_ = now;  // the step that follows may be what it waits for
  }
}

/// What differs from `before`, which is the same then.
void RecordedLooks::note(const Observations& seen, Observations& before, bool last) {
  const auto note_one = [&]<class T>(const std::shared_ptr<const T>& now, std::shared_ptr<const T>& noted) {
    if (std::exchange(noted, now) == now || !now || now->generation != generation_) return;
    note(KeptView::Seen(now), last);
  };
  note_one(seen.inspection, before.inspection);
  note_one(seen.activations, before.activations);
  note_one(seen.held_out_texts, before.held_out_texts);
  const auto& latents = seen.latents;
  if (std::exchange(before.latents, latents) != latents && latents && latents->generation == generation_ &&
      latents->problem.empty())
    note(places_of(*latents), last);
  const auto& all = seen.distributions;
  if (std::exchange(before.distributions, all) == all || !all || all->generation != generation_ ||
      all->moments.empty())
    return;
  const DistributionMoment& newest = *all->moments.back();
  if (last || lanes_.wants({ViewKind::distributions, 0}, newest.step))
    note(std::make_shared<const SeenDistribution>(SeenDistribution{all->images, newest}), last);
}

/// What the snapshot has of it.
void RecordedLooks::note_view(bool last) {
  const Snapshot& view = publishing_.view;
  if (view.evaluation != noted_evaluation_) {
    noted_evaluation_ = view.evaluation;
    if (view.evaluation) note(view.evaluation, last);
  }
  if (view.step == noted_step_ && !last) return;
  noted_step_ = view.step;
  if (!last && !lanes_.wants({ViewKind::times, 0}, view.step)) return;
  const std::vector<OpTiming> timings = engine_.timings().timings();
  if (!all_timed(timings)) return;
  note(std::make_shared<const CallTimes>(CallTimes{view.step, timings, whole_step_microseconds(view)}), last);
}

/// `last`: it is told wherever it lies.
void RecordedLooks::note(KeptView::Seen seen, bool last) {
  const ViewKey key = key_of(seen);
  const std::uint64_t step = step_of(seen);
  if (last ? lanes_.at(key, step) != nullptr : !lanes_.wants(key, step)) return;
  lanes_.put(key, step, 0, {});
  publishing_.emit(KeptView{generation_, network_number_, std::move(seen)});
}

void RecordedLooks::point_at(std::int64_t image) {
  if (images_.front() == image) return;
  std::erase(images_, image);
  images_.insert(images_.begin(), image);
  if (images_.size() > kImages) images_.pop_back();
}

std::vector<RecordedLooks::Subject> RecordedLooks::subjects() const {
  std::vector<Subject> all;
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    if (looks_[i].refused) continue;
    if (kLooks[i].kind != ViewKind::activations) {
      all.push_back({{kLooks[i].kind, 0}, i});
      continue;
    }
    for (const std::int64_t image : images_) {
      if (image < test_images_) all.push_back({{kLooks[i].kind, image}, i});
    }
  }
  return all;
}

/// The one that was seen longest ago, of those that are due and may be paid for.
std::optional<RecordedLooks::Subject> RecordedLooks::next() const {
  const std::uint64_t step = engine_.steps();
  std::optional<Subject> best;
  std::uint64_t best_step = 0;
  for (const Subject& subject : subjects()) {
    if (!budget_.allows(looks_[subject.observer].cost) || !lanes_.wants(subject.key, step)) continue;
    const auto* const last = lanes_.nearest(subject.key, step);
    const std::uint64_t seen = last == nullptr ? 0 : last->step + 1;
    if (best && seen >= best_step) continue;
    best = subject;
    best_step = seen;
  }
  return best;
}

/// False where nothing has begun.
bool RecordedLooks::begin(const Subject& subject) {
  Look& look = looks_[subject.observer];
  ObservationRequest request;
  kLooks[subject.observer].ask(request, subject.key.second);
  look.observer->ask(request);
  Scene scene = engine_.scene();
  scene.generation = publishing_.view.generation;
  const auto begun = Clock::now();
  used_ = true;
  bool started = false;
  try {
    started = look.observer->start(scene);
  } catch (const core::DeviceLost&) {
    throw;  // it is not the look that ends
  } catch (const core::Error&) {
    look.refused = true;  // nobody has asked, so nobody is told
  }
  look.host = since(begun);
  if (!started) {
    budget_.spend(look.host);
    return false;
  }
  engine_.interrupt();
  under_way_ = subject;
  return true;
}

/// False while the look has not arrived.
bool RecordedLooks::take(bool last) {
  Look& look = looks_[under_way_->observer];
  const auto begun = Clock::now();
  if (!look.observer->take(own_)) return false;
  look.host += since(begun);
  // On a CPU this thread has done what the device did.
  const bool cpu = publishing_.view.device.kind == core::DeviceKind::cpu;
  look.cost = cpu ? std::max(look.host, look.observer->seconds()) : look.host + look.observer->seconds();
  budget_.spend(look.cost);
  Observations nothing;
  note(own_, nothing, last);
  own_ = {};
  under_way_.reset();
  return true;
}

void RecordedLooks::finish(const Observations& seen) {
  if (!records()) return;
  follow_training();
  note(seen, noted_, true);
  note_view(true);
  const auto until = Clock::now() + kPatience;
  const auto wait = [&] {
    engine_.synchronize();
    while (under_way_ && !take(true) && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  wait();
  for (const Subject& subject : subjects()) {
    if (under_way_ || Clock::now() >= until) break;
    if (lanes_.at(subject.key, engine_.steps()) == nullptr && begin_last(subject)) wait();
  }
  stop();
}

/// The first call of some only remembers what changes are counted from, and there is no next step: then without
/// changes.
bool RecordedLooks::begin_last(const Subject& subject) {
  if (begin(subject) || begin(subject)) return true;
  looks_[subject.observer].observer->end(own_);
  return begin(subject) || begin(subject);
}

}  // namespace warpscope::training
