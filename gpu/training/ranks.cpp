#include "gpu/training/ranks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/data/known_data.h"
#include "gpu/data/requirements.h"
#include "gpu/data/split.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/ranks/looking.h"
#include "gpu/ranks/sums.h"
#include "gpu/settings/setting.h"

namespace warpscope::training {
namespace {

data::FoundData find(const Beginning& beginning, const std::shared_ptr<const data::DataSet>& known) {
  if (known) return {*known, "", data::checksum_of(*known), true};
  return data::find_data(beginning.data, {}, data::requirements_of(beginning.settings.model));
}

std::shared_ptr<const data::DataSet> data_of(const Beginning& beginning,
                                             const std::shared_ptr<const data::DataSet>& known) {
  data::FoundData found = find(beginning, known);
  if (found.checksum != beginning.checksum) {
    throw core::BadInput(fmt::format("{} is not the data that rank 0 has", found.set.name));
  }
  if (beginning.validation > 0) {
    found.set = data::split_validation(std::move(found.set), beginning.validation, beginning.settings.seed);
  }
  return std::make_shared<data::DataSet>(std::move(found.set));
}

Configuration received_settings(const std::string& sent) {
  return from_json(nlohmann::json::parse(sent), "what rank 0 was given");
}

/// All ranks train by what rank 0 was given, so a rank that was given something else would train as nobody meant.
void refuse_other_settings(const Configuration& given, const std::string& sent) {
  if (given.empty() || sent.empty()) return;
  const Configuration here = received_settings(sent_settings(given));
  const Configuration there = resolve(received_settings(sent));
  std::string told;
  for (const Setting& row : settings()) {
    const Value* const own = here.find(row.name);
    const Value* const other = there.find(row.name);
    // A rank may name its device.
    if (own == nullptr || !row.shapes_weights || std::string_view(row.name) == "device") continue;
    if (other != nullptr && *own == *other) continue;
    told += fmt::format("{}{} is {} here and {} at rank 0", told.empty() ? "" : ", ", label_of(row),
                        shown(row, *own), other != nullptr ? shown(row, *other) : "not given");
  }
  if (told.empty()) return;
  throw core::BadInput(files::sayable(told + "; give all ranks the same settings, or only rank 0 any"));
}

/// A rank that is told what to do.
struct Seat {
  EngineOptions options;
  std::shared_ptr<core::Device> device;
  std::shared_ptr<const data::DataSet> data;
};

void begin(Seat& seat, const Beginning& beginning, const std::string& device,
           const std::shared_ptr<const data::DataSet>& known, const Configuration& given) {
  if (beginning.version != WARPSCOPE_VERSION) {
    throw core::BadInput(
        fmt::format("this is Warpscope {}, and rank 0 is {}", WARPSCOPE_VERSION, beginning.version));
  }
  refuse_other_settings(given, beginning.given);
  seat.device = core::open_device(device);
  if ((seat.device->kind() == core::DeviceKind::cuda) != beginning.on_gpus) {
    throw core::BadInput(fmt::format("this rank trains on {}, and rank 0 on a {}", seat.device->info().name,
                                     beginning.on_gpus ? "GPU" : "CPU"));
  }
  seat.device->make_current();
  static_cast<EngineSettings&>(seat.options) = beginning.settings;
  seat.options.selection = beginning.selection;
  seat.options.measured = beginning.measured;
  seat.data = data_of(beginning, known);
}

/// Carries out what rank 0 does to its own engine.
struct Carry {
  Engine& engine;

  void operator()(const calls::Step& call) const {
    engine.wait_for_room();
    engine.set_learning_rate(call.learning_rate);
    engine.step(call.timed);
    engine.collect_steps(false);
  }
  void operator()(const calls::StartEvaluation& call) const { engine.evaluator().start(call.split); }
  void operator()(const calls::EvaluateBatch& /*call*/) const { engine.evaluator().enqueue_batch(); }
  void operator()(const calls::GatherEvaluation& /*call*/) const { engine.evaluator().give_part(); }
  void operator()(const calls::Report& /*call*/) const { engine.rank_figures(); }
  void operator()(const calls::MeasureLinks& /*call*/) const { engine.measure_links(); }
  void operator()(const calls::ClearHalt& /*call*/) const { engine.clear_halt(); }
  void operator()(const calls::Restore& call) const { engine.restore(call.state); }
  void operator()(const calls::Remember& /*call*/) const { engine.remember(); }
  void operator()(const calls::Forget& /*call*/) const { engine.forget(); }
  void operator()(const calls::Recall& call) const { engine.recall(call.steps); }
  void operator()(const calls::SetSelection& call) const { engine.set_selection(call.selection); }
  void operator()(const calls::SetBatch& call) const { engine.set_batch(call.batch); }
  void operator()(const calls::SetOptimizer& call) const { engine.set_optimizer(call.optimizer); }
  void operator()(const calls::SetAugment& call) const { engine.set_augment(call.augment); }
  void operator()(const calls::SetNetwork& call) const { engine.set_network(call.network); }
  void operator()(const calls::End& /*call*/) const {}
};

void carry_out(Engine& engine, calls::Line& line, const calls::Call& call) {
  try {
    std::visit(Carry{engine}, call);
  } catch (const core::BadInput&) {
    line.take_refusal();  // nobody has done it, and rank 0 tells why
  } catch (const core::Error&) {
    if (!line.take_refusal()) throw;
  }
}

}  // namespace

std::string sent_settings(const Configuration& given) {
  return to_json(given).dump();
}

std::shared_ptr<calls::Line> lead(const std::shared_ptr<ranks::Meeting>& meeting, const Beginning& beginning,
                                  const std::shared_ptr<core::Device>& device, ranks::TellSlow tell_slow,
                                  EngineOptions& options) {
  auto line = std::make_shared<calls::Line>(meeting->group(ranks::kOrders, tell_slow));
  line->give_first(MessageWriter().write(beginning));
  std::optional<ranks::Looking> looking(std::in_place, *meeting);
  line->settle("", "the beginning of the training");
  options.sums = std::make_shared<ranks::Sums>(meeting->group(ranks::kSums, tell_slow));
  options.sums->link(device);
  looking.reset();
  options.sums->watch(meeting, std::move(tell_slow));
  return line;
}

int follow(ranks::Meeting& meeting, const std::string& device, std::shared_ptr<const data::DataSet> known,
           const Configuration& given) {
  // These live on where others are missing until it is told: connections that end would look like the first to end.
  std::shared_ptr<calls::Line> line;
  Seat seat;
  std::unique_ptr<Engine> engine;
  try {
    std::optional<ranks::Looking> looking(std::in_place, meeting);  // it may take long to read the data
    line = std::make_shared<calls::Line>(meeting.group(ranks::kOrders, {}));
    calls::settled(line.get(), [&] {
      auto beginning = MessageReader().read<Beginning>(line->receive_first());
      std::string& mine = beginning.devices.at(static_cast<std::size_t>(line->place().rank));
      if (!device.empty()) mine = device;
      begin(seat, beginning, mine, known, given);
      return true;
    });
    seat.options.sums = std::make_shared<ranks::Sums>(meeting.group(ranks::kSums, {}));
    seat.options.sums->link(seat.device);
    looking.reset();
    seat.options.sums->watch({std::shared_ptr<void>(), &meeting});  // it lives longer than they do
    engine = calls::settled(line.get(), [&] {
      return std::make_unique<Engine>(std::move(seat.options), seat.data, seat.device);
    });
    engine->join(line);
    while (true) {
      const calls::Call call = line->receive();
      if (std::holds_alternative<calls::End>(call)) return 0;
      carry_out(*engine, *line, call);
    }
  } catch (const ranks::RankMissing&) {
    meeting.leave_after_others();
    return ranks::kOthersMissing;  // rank 0 tells it
  } catch (const std::exception& error) {
    if (!line || !line->take_refusal()) files::warn(core::sentence_of(error));  // else rank 0 tells it
    return 1;
  }
}

}  // namespace warpscope::training
