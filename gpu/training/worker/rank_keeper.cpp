#include "gpu/training/worker/rank_keeper.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ranges>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/messages/running.h"
#include "gpu/ranks/sums.h"
#include "gpu/settings/division.h"
#include "gpu/training/engine_change.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

constexpr auto kRanksInterval = milliseconds(500);
/// A rank that is busy elsewhere for less than that is not taken for one that stands still.
constexpr double kLeastRankTimeout = 1;
constexpr auto kLeastPatienceToBegin = milliseconds(30000);
/// How a process ended is known a moment after it has.
constexpr auto kFateInterval = milliseconds(10);
constexpr int kFateLooks = 50;

/// How long a rank may stand still; zero: for ever.
milliseconds patience_of(const TrainingSettings& settings) {
  if (settings.rank_timeout == 0) return {};
  return milliseconds(static_cast<std::int64_t>(1e3 * std::max(kLeastRankTimeout, settings.rank_timeout)));
}

/// The same of one that begins: its system may take long to start it.
milliseconds patience_to_begin(const TrainingSettings& settings) {
  const milliseconds patience = patience_of(settings);
  return patience.count() == 0 ? patience : std::max(patience, kLeastPatienceToBegin);
}

std::string count_of_ranks(std::size_t ranks) {
  return files::counted(ranks, "rank");
}

/// "2 ranks go on".
std::string going_on(std::size_t ranks) {
  return fmt::format("{} {} on", count_of_ranks(ranks), ranks == 1 ? "goes" : "go");
}

/// How many of so many ranks a batch can be divided among; one can always have it.
std::size_t largest_division(const TrainingSettings& settings, std::size_t ranks) {
  for (; ranks > 1; --ranks) {
    try {
      divide(settings.optimizer, settings.batch, settings.deterministic, {0, static_cast<int>(ranks)});
      return ranks;
    } catch (const core::BadInput&) {
      continue;
    }
  }
  return 1;
}

}  // namespace

void RankKeeper::measure_links() {
  if (!training_.around.ranks)
    throw core::BadInput("this training has one rank, so there are no links to measure");
  training_.collector.drain();
  links_ = training_.engine->measure_links();
  training_.publishing.log(LogLevel::info, fmt::format("links between ranks measured, over {}", links_.over));
  look(true);
  training_.reporter.publish(true);
}

/// From any thread.
void RankKeeper::tell_awaited(const std::vector<int>& ranks, const std::string& sentence) const {
  training_.publishing.set_awaited(ranks.empty() ? "" : sentence);
  training_.publishing.log_at_once(LogLevel::warning, sentence);
}

RankKeeper::Lost RankKeeper::lost_of(const ranks::Meeting& meeting, const ranks::RankMissing& missing) {
  Lost lost{meeting.lost(), ""};
  for (int look = 0; lost.ranks.empty() && look < kFateLooks; ++look) {
    std::this_thread::sleep_for(kFateInterval);
    lost.ranks = meeting.lost();
  }
  lost.sentence = meeting.missing();
  if (lost.sentence.empty()) lost.sentence = missing.what();
  if (lost.ranks.empty()) lost.ranks = missing.ranks();
  return lost;
}

std::shared_ptr<calls::Line> RankKeeper::lead_ranks(const std::shared_ptr<ranks::Meeting>& meeting,
                                                    const std::vector<std::string>& devices,
                                                    EngineOptions& options) {
  divide(options.optimizer, options.batch, options.deterministic, meeting->place());
  Beginning beginning{WARPSCOPE_VERSION,
                      options,
                      options.selection,
                      options.measured,
                      training_.data->source,
                      training_.data_checksum,
                      training_.settings().validation,
                      devices,
                      training_.device->kind() == core::DeviceKind::cuda,
                      sent_settings(training_.around.given)};
  // While steps are made again it can be another one than the settings name.
  beginning.settings.model =
      training_.engine ? training_.engine->network().bare_model() : training_.settings().model;
  beginning.settings.init_file.clear();
  beginning.settings.init_partly = false;
  beginning.devices.resize(static_cast<std::size_t>(meeting->place().size), training_.device->info().id());
  ranks_have_begun_ = false;
  meeting->set_patience_to_begin(patience_to_begin(training_.settings()));
  meeting->tell_silent(
      [this](const std::vector<int>& ranks, const std::string& sentence) { tell_awaited(ranks, sentence); });
  const auto tell_slow = [this](const std::vector<int>& ranks, const std::string& sentence) {
    // Each rank reads the data and makes plans first, which takes as long as it takes.
    if (ranks_have_begun_) tell_awaited(ranks, sentence);
  };
  auto line = lead(meeting, beginning, training_.device, tell_slow, options);
  for (const std::string& why : {options.sums->no_nccl(), options.sums->no_p2p()}) {
    if (beginning.on_gpus && !why.empty())
      training_.publishing.log(LogLevel::info, "gradients go another way: " + why);
  }
  return line;
}

void RankKeeper::note() {
  if (training_.around.ranks) training_.around.ranks->set_patience(patience_of(training_.settings()));
  end_beginning();
  if (training_.keeper) training_.keeper->note_ranks();
  ++regroupings_;
  training_.moments.kept().drop_expected();  // a rank may have been missing in its step
  training_.view.ranks.clear();
  links_ = {};
  last_ranks_ = {};
}

/// Nobody is waited for any more.
void RankKeeper::end_beginning() {
  ranks_have_begun_ = true;
  training_.publishing.set_awaited("");
}

void RankKeeper::look(bool at_once) {
  if (!training_.around.ranks || (!at_once && Clock::now() - last_ranks_ < kRanksInterval)) return;
  training_.engine->options().sums->check();
  training_.view.ranks = training_.engine->rank_figures();
  for (std::size_t rank = 0; rank < links_.gb_per_second.size(); ++rank) {
    training_.view.ranks[rank].links = links_.gb_per_second[rank];
    training_.view.ranks[rank].linked_by = links_.over;
  }
  last_ranks_ = Clock::now();
}

/// A rank on each of `devices` makes the steps from here on, this one on the first. Throws core::Error, never
/// RankMissing, with those as they were that there are.
void RankKeeper::regroup(const std::vector<std::string>& devices) {
  const int size = static_cast<int>(devices.size());
  divide(training_.settings().optimizer, training_.settings().batch, training_.settings().deterministic,
         {0, size});
  EngineOptions options = training_.engine->options();
  options.sums = nullptr;
  StartedMeeting started;
  std::shared_ptr<calls::Line> line;
  try {
    if (size > 1) {
      started = training_.around.rank_supply.start(size);
      line = lead_ranks(started.meeting, devices, options);
    }
    training_.engine->set_ranks(options.sums, std::move(line));
  } catch (const ranks::RankMissing& missing) {
    options.sums.reset();  // which ends its looks
    end_beginning();
    throw core::Error(missing.what());
  } catch (...) {
    options.sums.reset();
    end_beginning();
    throw;
  }
  training_.around.ranks = std::move(started.meeting);
  training_.around.rank_processes = std::move(started.processes);
  training_.around.devices = devices;
  note();
}

void RankKeeper::set_count(int ranks) {
  const RankSupply& supply = training_.around.rank_supply;
  if (!supply.start) throw core::BadInput(supply.why_not);
  const std::size_t now =
      training_.around.ranks ? static_cast<std::size_t>(training_.around.ranks->place().size) : 1;
  const auto wanted = static_cast<std::size_t>(std::max(0, ranks));
  if (wanted == now) return;
  if (wanted > 1 && !training_.view.user_kernels->kernels.empty())
    throw core::BadInput("kernels of your own run in one process: forget them before there are more ranks");
  std::vector<std::string> devices = supply.devices(training_.device->info());
  if (wanted < 1 || wanted > devices.size()) {
    throw core::BadInput(
        fmt::format("there can be 1 to {} here, not {}", count_of_ranks(devices.size()), ranks));
  }
  training_.collector.drain();
  if (training_.steering.pending()) {
    throw core::BadInput("the training has just diverged: its ranks can change once it is told where");
  }
  devices.resize(wanted);
  regroup(devices);
  follow();
  training_.mark(fmt::format("ranks: {} -> {}", now, wanted));
  look();
  training_.reporter.publish(true);
}

/// What was found out with the ranks before does not hold for these.
void RankKeeper::follow() {
  training_.energy->interrupt();
  training_.reporter.note_sizes();
  training_.speeds.clear();
  training_.changes.show_anew();
  training_.trainings.remember();
}

/// What the training goes on from where ranks are missing: nothing where no step was under way, since it is all here
/// then. Throws `missing` where there is nothing.
std::optional<LeftState> RankKeeper::kept_without_ranks(const ranks::RankMissing& missing) {
  const bool broken_off = training_.stepping.break_off();  // part of what it leaves is of that step
  if (training_.rewinder.running()) {
    return training_.rewinder.give_up();
  }
  if (!training_.stepping.searches_rate() && !broken_off && training_.engine->steps() == training_.view.step)
    return std::nullopt;
  LeftState left{.number = training_.view.training,
                 .generation = training_.view.generation,
                 .settings = training_.view.settings,
                 .first_weights = training_.engine->network().first_weights(),
                 .engine = {},
                 .steering = training_.steering,
                 .progress = training_.view,
                 .tally = training_.publishing.tally(),
                 .divergence = training_.view.divergence};
  if (training_.stepping.searches_rate()) {
    left.engine = training_.stepping.give_up_rate_search();
    return left;
  }
  // What has come of steps was checked: they are of all ranks.
  const auto copy = training_.engine->rollback().newest(training_.view.step);
  if (!copy) throw missing;
  left.engine = training_.engine->rollback().state_at(*copy);
  training_.trainings.recall(*copy, left);
  return left;
}

/// As many ranks as can be had go on, with one on each of `devices` at the most, from `left` or where this one is.
/// Returns how many.
std::size_t RankKeeper::go_on_on(std::vector<std::string> devices, const std::optional<LeftState>& left) {
  while (true) {
    try {
      regroup(devices);
      if (left) {
        training_.trainings.take_on(*left);
      } else {
        change(*training_.engine, training_.engine->options(),
               training_.settings());  // a change may have been under way
      }
      look(true);
      return devices.size();
    } catch (const core::Error& error) {
      if (devices.size() == 1) throw;
      training_.publishing.log(
          LogLevel::info, fmt::format("{} cannot go on: {}", count_of_ranks(devices.size()), error.what()));
      devices.pop_back();
    }
  }
}

/// Those of the ranks that are left, this one's first.
std::vector<std::string> RankKeeper::devices_without(const Lost& lost) const {
  std::vector<std::string> devices = training_.around.devices;
  devices.resize(static_cast<std::size_t>(training_.around.ranks->place().size),
                 training_.device->info().id());
  for (const int rank : lost.ranks | std::views::reverse) {
    if (rank > 0 && std::cmp_less(rank, devices.size())) devices.erase(devices.begin() + rank);
  }
  return devices;
}

/// Those that are missing, and those that wait for them, end. Throws `missing` where the training cannot go on with
/// fewer, or is to stop.
RankKeeper::Lost RankKeeper::end_for_want_of(const ranks::RankMissing& missing) {
  training_.publishing.set_awaited("");
  if (!training_.around.rank_supply.start || !training_.around.ranks) throw missing;
  Lost lost = lost_of(*training_.around.ranks, missing);
  if (!training_.settings().go_on_without_ranks) {
    // Who was waited for may have ended only for want of the one that is lost, and how may have become known since.
    if (std::string_view(missing.what()).starts_with(lost.sentence)) throw missing;
    throw ranks::RankMissing(lost.sentence, lost.ranks);
  }
  training_.around.ranks->end_others();
  return lost;
}

void RankKeeper::begin_without(const ranks::RankMissing& missing) {
  const Lost lost = end_for_want_of(missing);
  training_.around.devices = devices_without(lost);
  training_.around.rank_processes.reset();
  training_.around.ranks.reset();
  training_.around.devices.resize(largest_division(training_.settings(), training_.around.devices.size()));
  if (training_.around.devices.size() > 1) {
    StartedMeeting started =
        training_.around.rank_supply.start(static_cast<int>(training_.around.devices.size()));
    training_.around.ranks = std::move(started.meeting);
    training_.around.rank_processes = std::move(started.processes);
  }
  training_.publishing.tell(
      fmt::format("{}; {} from the beginning", lost.sentence, going_on(training_.around.devices.size())));
}

void RankKeeper::go_on_without(const ranks::RankMissing& missing) {
  const Lost lost = end_for_want_of(missing);
  // How long it takes to go on depends on how long the others take to begin: it is named at once.
  training_.publishing.log_at_once(
      LogLevel::warning, fmt::format("{} behind step {}; the training goes on in a moment", lost.sentence,
                                     files::grouped(training_.view.step)));
  std::vector<std::string> devices = devices_without(lost);
  training_.engine->options().sums->give_up();
  training_.around.rank_processes.reset();
  std::optional<LeftState> left = kept_without_ranks(missing);
  const std::size_t count = go_on_on(std::move(devices), left);
  const std::uint64_t step = left ? left->engine.steps : training_.engine->steps();
  const std::string told =
      fmt::format("{}; {} from step {}", lost.sentence, going_on(count), files::grouped(step));
  follow();
  if (left) {
    training_.trainings.go_on_with(std::move(*left), false, told);
  } else {
    training_.mark(told);
  }
  training_.publishing.notice(told);
  training_.reporter.publish(true);
}

}  // namespace warpscope::training
