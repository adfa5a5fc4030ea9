// The trainer's thread: the ranks that make the steps with it, other numbers of them, and those that are missing.

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/ranks/sums.h"
#include "gpu/settings/division.h"
#include "gpu/training/engine_change.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

using std::chrono::milliseconds;

constexpr auto kRanksInterval = milliseconds(500);
/// A rank that is busy elsewhere for less than that is not taken for one that stands still.
constexpr double kLeastRankTimeout = 1;
/// How a process ended is known a moment after it has.
constexpr auto kFateInterval = milliseconds(10);
constexpr int kFateLooks = 50;

std::string count_of_ranks(std::size_t ranks) {
  return ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks);
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

Trainer::Worker::Lost Trainer::Worker::lost_of(const ranks::Meeting& meeting,
                                               const ranks::RankMissing& missing) {
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

/// The ranks of `meeting` begin: with the weights that this one has then.
std::shared_ptr<calls::Line> Trainer::Worker::lead_ranks(const std::shared_ptr<ranks::Meeting>& meeting,
                                                         const std::vector<std::string>& devices,
                                                         EngineOptions& options) {
  divide(options.optimizer, options.batch, options.deterministic, meeting->place());
  Beginning beginning{WARPSCOPE_VERSION,     options,       options.selection,
                      options.measured,      data_->source, data_checksum_,
                      settings().validation, devices,       device_->kind() == core::DeviceKind::cuda};
  // While steps are made again it can be another one than the settings name.
  beginning.settings.model = engine_ ? engine_->network().bare_model() : settings().model;
  beginning.settings.init_file.clear();
  beginning.settings.init_partly = false;
  beginning.devices.resize(static_cast<std::size_t>(meeting->place().size), device_->info().id());
  ranks_have_begun_ = false;
  const auto tell_slow = [this](const std::vector<int>& /*ranks*/, const std::string& sentence) {
    // Each rank reads the data and makes plans first, which takes as long as it takes.
    if (ranks_have_begun_) publishing_.log_at_once(LogLevel::warning, sentence);
  };
  auto line = lead(meeting, beginning, device_, tell_slow, options);
  for (const std::string& why : {options.sums->no_nccl(), options.sums->no_p2p()}) {
    if (beginning.on_gpus && !why.empty())
      publishing_.log(LogLevel::info, "gradients go another way: " + why);
  }
  return line;
}

/// All ranks have begun.
void Trainer::Worker::note_ranks() {
  ranks_have_begun_ = true;
  ++regroupings_;
  moments_.drop_expected();  // a rank may have been missing in its step
  view_.ranks.clear();
  links_ = {};
  last_ranks_ = {};
  const double seconds = settings().rank_timeout;
  if (!around_.ranks || seconds == 0) return;
  around_.ranks->set_patience(
      milliseconds(static_cast<std::int64_t>(1e3 * std::max(kLeastRankTimeout, seconds))));
}

void Trainer::Worker::look_at_ranks(bool at_once) {
  if (!around_.ranks || (!at_once && Clock::now() - last_ranks_ < kRanksInterval)) return;
  engine_->options().sums->check();
  view_.ranks = engine_->rank_figures();
  for (std::size_t rank = 0; rank < links_.gb_per_second.size(); ++rank) {
    view_.ranks[rank].links = links_.gb_per_second[rank];
    view_.ranks[rank].linked_by = links_.over;
  }
  last_ranks_ = Clock::now();
}

/// A rank on each of `devices` makes the steps from here on, this one on the first. Throws core::Error, never
/// RankMissing, with those as they were that there are.
void Trainer::Worker::regroup(const std::vector<std::string>& devices) {
  const int size = static_cast<int>(devices.size());
  divide(settings().optimizer, settings().batch, settings().deterministic, {0, size});
  EngineOptions options = engine_->options();
  options.sums = nullptr;
  StartedMeeting started;
  std::shared_ptr<calls::Line> line;
  try {
    if (size > 1) {
      started = around_.rank_supply.start(size);
      line = lead_ranks(started.meeting, devices, options);
    }
    engine_->set_ranks(options.sums, std::move(line));
  } catch (const ranks::RankMissing& missing) {
    ranks_have_begun_ = true;
    throw core::Error(missing.what());
  } catch (...) {
    ranks_have_begun_ = true;
    throw;
  }
  around_.ranks = std::move(started.meeting);
  around_.rank_processes = std::move(started.processes);
  around_.devices = devices;
  note_ranks();
}

void Trainer::Worker::handle_ranks(int ranks) {
  const RankSupply& supply = around_.rank_supply;
  if (!supply.start) throw core::BadInput(supply.why_not);
  const std::size_t now = around_.ranks ? static_cast<std::size_t>(around_.ranks->place().size) : 1;
  const auto wanted = static_cast<std::size_t>(std::max(0, ranks));
  if (wanted == now) return;
  if (wanted > 1 && !view_.user_kernels->kernels.empty())
    throw core::BadInput("kernels of your own run in one process: forget them before there are more ranks");
  std::vector<std::string> devices = supply.devices(device_->info());
  if (wanted < 1 || wanted > devices.size()) {
    throw core::BadInput(
        fmt::format("there can be 1 to {} here, not {}", count_of_ranks(devices.size()), ranks));
  }
  drain();
  if (steering_.pending()) {
    throw core::BadInput("the training has just diverged: its ranks can change once it is told where");
  }
  devices.resize(wanted);
  regroup(devices);
  follow_ranks();
  mark(fmt::format("ranks: {} -> {}", now, wanted));
  look_at_ranks();
  publish(true);
}

/// What was found out with the ranks before does not hold for these.
void Trainer::Worker::follow_ranks() {
  energy_->interrupt();
  note_sizes();
  speeds_.clear();
  show_anew();
  remember();
}

/// What the training goes on from where ranks are missing: nothing where no step was under way, since it is all here
/// then. Throws `missing` where there is nothing.
std::optional<LeftState> Trainer::Worker::kept_without_ranks(const ranks::RankMissing& missing) {
  const bool broken_off = std::exchange(in_step_, false);  // part of what it leaves is of that step
  if (rewinding_) {
    LeftState left = std::move(rewinding_->left);
    rewinding_.reset();
    view_.rewind.running = false;
    return left;
  }
  if (!rate_search_ && !broken_off && engine_->steps() == view_.step) return std::nullopt;
  LeftState left{.number = view_.training,
                 .generation = view_.generation,
                 .settings = view_.settings,
                 .first_weights = engine_->network().first_weights(),
                 .engine = {},
                 .steering = steering_,
                 .progress = view_,
                 .tally = publishing_.tally(),
                 .divergence = view_.divergence};
  if (rate_search_) {
    left.engine = rate_search_->give_up();
    rate_search_.reset();
    return left;
  }
  // What has come of steps was checked: they are of all ranks.
  const auto copy = engine_->rollback().newest(view_.step);
  if (!copy) throw missing;
  left.engine = engine_->rollback().state_at(*copy);
  copies_.recall(*copy, left);
  return left;
}

/// As many ranks as can be had go on, with one on each of `devices` at the most, from `left` or where this one is.
/// Returns how many.
std::size_t Trainer::Worker::go_on_on(std::vector<std::string> devices,
                                      const std::optional<LeftState>& left) {
  while (true) {
    try {
      regroup(devices);
      if (left) {
        take_on(*left);
      } else {
        change(*engine_, engine_->options(), settings());  // a change may have been under way
      }
      return devices.size();
    } catch (const core::Error& error) {
      if (devices.size() == 1) throw;
      publishing_.log(LogLevel::info,
                      fmt::format("{} cannot go on: {}", count_of_ranks(devices.size()), error.what()));
      devices.pop_back();
    }
  }
}

/// Those of the ranks that are left, this one's first.
std::vector<std::string> Trainer::Worker::devices_without(const Lost& lost) const {
  std::vector<std::string> devices = around_.devices;
  devices.resize(static_cast<std::size_t>(around_.ranks->place().size), device_->info().id());
  for (const int rank : lost.ranks | std::views::reverse) {
    if (rank > 0 && std::cmp_less(rank, devices.size())) devices.erase(devices.begin() + rank);
  }
  return devices;
}

/// Those that are missing, and those that wait for them, end. Throws `missing` where the training cannot go on with
/// fewer, or is to stop.
Trainer::Worker::Lost Trainer::Worker::end_for_want_of(const ranks::RankMissing& missing) {
  if (!around_.rank_supply.start || !around_.ranks) throw missing;
  Lost lost = lost_of(*around_.ranks, missing);
  if (!settings().go_on_without_ranks) {
    // Who was waited for may have ended only for want of the one that is lost, and how may have become known since.
    if (std::string_view(missing.what()).starts_with(lost.sentence)) throw missing;
    throw ranks::RankMissing(lost.sentence, lost.ranks);
  }
  around_.ranks->end_others();
  return lost;
}

/// While there is no engine: others of the same kind take the places of those that are left.
void Trainer::Worker::begin_without(const ranks::RankMissing& missing) {
  const Lost lost = end_for_want_of(missing);
  around_.devices = devices_without(lost);
  around_.rank_processes.reset();
  around_.ranks.reset();
  around_.devices.resize(largest_division(settings(), around_.devices.size()));
  if (around_.devices.size() > 1) {
    StartedMeeting started = around_.rank_supply.start(static_cast<int>(around_.devices.size()));
    around_.ranks = std::move(started.meeting);
    around_.rank_processes = std::move(started.processes);
  }
  publishing_.tell(fmt::format("{}; {} from the beginning", lost.sentence, going_on(around_.devices.size())));
}

/// The training goes on with fewer. Throws `missing` where it cannot, or is to stop.
void Trainer::Worker::go_on_without(const ranks::RankMissing& missing) {
  const Lost lost = end_for_want_of(missing);
  std::vector<std::string> devices = devices_without(lost);
  engine_->options().sums->give_up();
  around_.rank_processes.reset();
  std::optional<LeftState> left = kept_without_ranks(missing);
  const std::size_t count = go_on_on(std::move(devices), left);
  const std::uint64_t step = left ? left->engine.steps : engine_->steps();
  const std::string told =
      fmt::format("{}; {} from step {}", lost.sentence, going_on(count), files::grouped(step));
  follow_ranks();
  if (left) {
    go_on_with(std::move(*left), false, told);
  } else {
    mark(told);
  }
  publishing_.notice(told);
  publish(true);
}

}  // namespace warpscope::training
