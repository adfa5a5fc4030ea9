#include "gpu/engine/engine.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/dataset.h"
#include "gpu/engine/diagnosis.h"
#include "gpu/engine/head.h"
#include "gpu/engine/recipe.h"
#include "gpu/files/file.h"
#include "gpu/models/model.h"
#include "gpu/ranks/sums.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {
namespace {

// What cannot be trained together, before anything is allocated. Each throws core::BadInput, one sentence.

/// `batch` images, micro-batches and all, are between 1 and the training images.
void check_batch(std::int64_t batch, const data::DataSet& data) {
  if (batch >= 1 && batch <= data.train.count) return;
  throw core::BadInput(
      fmt::format("batch size {} is not between 1 and the {} training images", batch, data.train.count));
}

/// Images are not mixed where a batch has only one.
void check_mixup(const AugmentSettings& augment, int batch) {
  if (augment.mixup == 0 || batch > 1) return;
  throw core::BadInput(
      "mixup mixes each image with the next of the batch, which has only one: take a larger batch, or leave "
      "mixup off");
}

/// Nothing is augmented in texts, and images are larger than what is cut out of them and than they are shifted.
void check_augmented(const models::Model& model, const AugmentSettings& augment) {
  if (augment.crop > 0 && augment.crop >= std::max(model.height, model.width)) {
    throw core::BadInput(fmt::format("crop {} shifts images by as much as they are long, which are {}x{}",
                                     augment.crop, model.height, model.width));
  }
  if (augment.cutout > std::max(model.height, model.width)) {
    throw core::BadInput(fmt::format("cutout {} is larger than the images, which are {}x{}", augment.cutout,
                                     model.height, model.width));
  }
  if (!model.reads_text() || !augments(augment)) return;
  throw core::BadInput(
      fmt::format("model {} takes texts, and augmentation changes pictures only", model.name));
}

/// The data have images of the model's size, and the labels that it needs; settings suit both.
void check_data(const models::Model& model, const data::DataSet& data, const EngineSettings& settings) {
  const data::ImageSet& train = data.train;
  if (train.height != model.height || train.width != model.width || train.channels != model.channels) {
    throw core::BadInput(fmt::format("{} has images of {}x{}x{}, model {} takes {}x{}x{}", data.name,
                                     train.height, train.width, train.channels, model.name, model.height,
                                     model.width, model.channels));
  }
  if (data.test.count < 1) throw core::BadInput(fmt::format("{} has no test images", data.name));
  check_augmented(model, settings.augment);
  plan::check_views(model, view_settings(settings));
  if (!needs_labels(model)) return;
  const int classes = std::max(model.classes, model.head_classes);
  for (const data::ImageSet* set : {&train, &data.validation, &data.test}) {
    if (std::cmp_not_equal(set->labels.size(), set->count)) {
      throw core::BadInput(fmt::format("{} has no labels, which model {} needs", data.name, model.name));
    }
    const auto wrong = std::find_if(set->labels.begin(), set->labels.end(),
                                    [&](std::uint8_t label) { return label >= classes; });
    if (wrong != set->labels.end()) {
      throw core::BadInput(fmt::format("{} has images of class {}, model {} knows {} classes", data.name,
                                       *wrong, model.name, classes));
    }
  }
}

/// A training with `present` and these data can go on with `next`.
void check_network(const models::Model& next, const models::Model& present, const data::DataSet& data,
                   const EngineSettings& settings) {
  models::check_model(next);
  if (next.loss != present.loss) {
    const bool classifies = next.loss == models::Loss::cross_entropy;
    throw core::BadInput(fmt::format("network {} {}, which this training does not; a new training can",
                                     next.name, classifies ? "classifies images" : "reconstructs images"));
  }
  check_data(next, data, settings);
  if (next.alphabet != present.alphabet) {
    throw core::BadInput(
        fmt::format("network {} has another alphabet than the one that the texts of {} were read by; a new "
                    "training can take it",
                    next.name, data.name));
  }
}

Division part_of(const EngineOptions& options) {
  return divide(options.optimizer, options.batch, options.deterministic,
                options.sums ? options.sums->place() : ranks::Place{});
}

/// Images of the smallest pass that a rank makes of so many.
int smallest_part(const EngineOptions& options, int batch) {
  const ranks::Place all = options.sums ? options.sums->place() : ranks::Place{};
  if (options.optimizer.per_sample) return batch;
  return divide(options.optimizer, batch, options.deterministic, {all.size - 1, all.size}).batch;
}

EngineOptions checked(EngineOptions options, const data::DataSet& data) {
  if (options.optimizer.joint > 0) options.model.head_classes = head_classes_of(data);
  models::check_model(options.model);
  check_data(options.model, data, options);
  check(options.optimizer);
  check(options.augment);
  check_together(options.augment, options.optimizer);
  check_sync(options);
  check_batch(static_cast<std::int64_t>(options.batch) * options.optimizer.accumulate, data);
  check_mixup(options.augment, smallest_part(options, options.batch));
  const bool reconstructs = options.model.loss == models::Loss::mse;
  options.shown_images =
      reconstructs ? static_cast<int>(std::min<std::int64_t>(options.shown_images, data.test.count)) : 0;
  return options;
}

plan::Recipe recipe_of(const EngineOptions& options) {
  const int synced_batch = options.sync_batch_norm ? options.batch : 0;
  plan::Recipe recipe = recipe_of(options.optimizer, options.augment, part_of(options), synced_batch);
  // NCCL adds more than two numbers in an order of its own.
  const bool any_order = !options.deterministic || (options.sums && options.sums->place().size == 2);
  recipe.linked = options.sums && options.sums->nccl() != nullptr && any_order;
  recipe.peers = options.sums && options.sums->p2p() != nullptr ? options.sums->place().size : 0;
  return recipe;
}

void check_deterministic(const plan::Plan& plan) {
  for (const plan::PlanNode& node : plan.nodes()) {
    if (node.variant == nullptr || node.variant->deterministic) continue;
    throw core::BadInput(
        fmt::format("deterministic training cannot take {} for {}: its bits differ from step to step",
                    node.variant->name, ops::to_string(node.op)));
  }
}

}  // namespace

Engine::Engine(EngineOptions options, std::shared_ptr<const data::DataSet> data,
               std::shared_ptr<core::Device> device)
    : options_(checked(std::move(options), *data)),
      data_(std::move(data)),
      device_(std::move(device)),
      stream_(device_->make_stream()),
      network_(options_, *data_, device_, *stream_),
      device_data_(options_.device_data ? options_.device_data
                   : options_.shared    ? options_.shared->data(device_->info(), data_)
                                        : std::make_shared<const DeviceData>(data_, device_, *stream_)),
      loop_(device_, *stream_, data_->train.count, options_, part_of(options_)),
      evaluator_(options_, *device_data_, network_, loop_, device_, *stream_),
      pictures_(options_.shown_images, *device_data_, loop_, device_, *stream_),
      rollback_(network_, loop_, device_, *stream_),
      copier_(network_, loop_, device_, *stream_) {
  options_.model = {};
  install(build(network_.model(), network_.buffers(), options_));
  reset();
}

Engine::~Engine() {
  try {
    stream_->synchronize();
  } catch (const core::Error&) {
    // The error was reported when it happened; destruction goes on.
  }
}

void Engine::reset() {
  network_.start_again();
  loop_.reset();
  loop_.begin_loss_scale(options_.selection.precision);
  evaluator_.stop();
  rollback_.forget();
  give_state();
}

void Engine::join(std::shared_ptr<calls::Line> line) {
  line_ = std::move(line);
  watch_ = line_ ? std::make_unique<RankWatch>(device_) : nullptr;
  give_state();
  evaluator_.join(line_);
}

void Engine::set_ranks(std::shared_ptr<ranks::Sums> sums, std::shared_ptr<calls::Line> line) {
  EngineOptions next = options_;
  next.sums = std::move(sums);
  stream_->synchronize();
  Plans plans = calls::settled(line.get(), [&] { return build(network_.model(), network_.buffers(), next); });
  line_.reset();
  evaluator_.join(nullptr);
  options_ = std::move(next);
  loop_.use(options_.optimizer, options_.augment, part_of(options_));
  install(std::move(plans));
  rollback_.forget();
  join(std::move(line));
}

/// The others need not know where weights come from.
void Engine::give_state() {
  if (leads()) give(calls::Restore{state()});
}

/// What has been summed so far is of all ranks: a sum that failed is known before what follows it can be seen.
void Engine::check_sums() const {
  if (options_.sums) options_.sums->check();
}

bool Engine::leads() const {
  return line_ && line_->place().leads();
}

void Engine::give(const calls::Call& call) const {
  if (leads()) line_->give(call);
}

/// The first node of the step that adds over ranks without a call of the host; nullptr where none does.
const plan::PlanNode* Engine::first_sum_on_device() const {
  const auto found = std::ranges::find_if(training_->nodes(), [](const plan::PlanNode& node) {
    if (!ops::contract(node.op).adds_over_ranks || node.variant == nullptr) return false;
    return node.variant->device == core::DeviceKind::cuda && node.variant->name != "host_mpi";
  });
  return found == training_->nodes().end() ? nullptr : &*found;
}

/// A rank that stands still has not come to the first one: the others of a step are enqueued with it.
void Engine::note_sums_on_device() const {
  if (!options_.sums) return;
  const plan::PlanNode* const node = first_sum_on_device();
  if (node == nullptr) return options_.sums->note_on_device({});
  options_.sums->note_on_device(
      ranks::Collective{ranks::collective_of(ops::to_string(node->op)), node->variant->name});
}

void Engine::wait_for_room() {
  if (options_.sums) options_.sums->note_wait(loop_.awaited_step());
  loop_.wait_for_room();
  if (options_.sums) options_.sums->note_wait(0);
  check_sums();
}

calls::RankReport Engine::report() const {
  calls::RankReport report;
  const auto note = [](const std::string& text, auto& to) {
    std::copy_n(text.data(), std::min(text.size(), to.size() - 1), to.data());
  };
  note(device_->info().id(), report.device);
  note(device_->info().name, report.name);
  const Division part = part_of(options_);
  report.images = part.images;
  const std::vector<OpTiming> timings = timings_.timings();
  for (std::size_t node = 0; node < timings.size(); ++node) {
    const int times = node < training_->update_node() ? part.passes : 1;
    report.step_microseconds += times * timings[node].microseconds;
    if (ops::contract(timings[node].op).adds_over_ranks) {
      report.allreduce_microseconds += times * timings[node].microseconds;
    }
  }
  report.memory_bytes = device_->memory().allocated_bytes;
  if (watch_) report.load = watch_->load();
  if (watch_) report.newest = watch_->newest();
  return report;
}

std::vector<RankFigures> Engine::rank_figures() const {
  give(calls::Report{});
  return line_ ? line_->exchange(report(), loop_.steps()) : std::vector<RankFigures>();
}

ranks::LinkTable Engine::measure_links() {
  give(calls::MeasureLinks{});
  stream_->synchronize();
  loop_.interrupt();
  return ranks::measure_links(line_->group(), device_,
                              first_sum_on_device() == nullptr ? nullptr : options_.sums->p2p());
}

void Engine::clear_halt() {
  give(calls::ClearHalt{});
  loop_.clear_halt();
}

std::size_t Engine::remember() {
  give(calls::Remember{});
  return settled([&] { return rollback_.remember(); });
}

void Engine::forget() {
  give(calls::Forget{});
  rollback_.forget();
}

bool Engine::recall(std::uint64_t steps) {
  give(calls::Recall{steps});
  return rollback_.recall(steps);
}

plan::Bindings Engine::training_bindings(const NetworkBuffers& network) const {
  plan::Bindings bindings;
  device_data_->bind_training(bindings);
  loop_.bind(bindings);
  network.bind(bindings);
  return bindings;
}

plan::Bindings Engine::held_out_bindings(const NetworkBuffers& network) const {
  plan::Bindings bindings = training_bindings(network);
  evaluator_.bind(bindings);
  return bindings;
}

std::unique_ptr<plan::Plan> Engine::build_training(const models::Model& model, const EngineOptions& options,
                                                   const plan::Bindings& bindings, bool apart) const {
  const Division part = part_of(options);
  const ranks::Share share{apart ? nullptr : options.sums, part.weight()};
  auto plan = std::make_unique<plan::Plan>(
      model, plan::Purpose::training, options.selection, part.batch,
      ops::Context{device_, options.variants, share}, *stream_, bindings, recipe_of(options),
      options.deterministic ? plan::MeasuredChoices() : options.measured);
  if (options.deterministic) check_deterministic(*plan);
  return plan;
}

Engine::Plans Engine::build(const models::Model& model, const NetworkBuffers& network,
                            const EngineOptions& options) {
  free_retired();  // or a third set of plans would have to fit beside the two
  const plan::Bindings held_out = held_out_bindings(network);
  Plans plans;
  plans.training = build_training(model, options, training_bindings(network));
  plans.testing =
      evaluator_.build(model, options.selection, {device_, options.variants}, options.batch, held_out);
  plans.showing =
      pictures_.build(models::with_head(model, 0), options.selection, {device_, options.variants}, held_out);
  return plans;
}

void Engine::free_retired() {
  while (!retired_.empty() && retired_.front().done->ready()) retired_.pop_front();
}

void Engine::install(Plans plans) {
  const bool replaces = training_ != nullptr;
  const core::Precision precision = options_.selection.precision;
  timings_.adopt(*plans.training, precision);
  Plans before{std::exchange(training_, std::move(plans.training)),
               evaluator_.adopt(std::move(plans.testing)), pictures_.adopt(std::move(plans.showing))};
  note_sums_on_device();
  loop_.interrupt();
  if (!replaces) return;
  retired_.push_back({std::move(before), device_->make_event(false)});
  stream_->record(*retired_.back().done);
}

void Engine::set_selection(const plan::Selection& selection, ops::Variants variants) {
  give(calls::SetSelection{selection});
  EngineOptions next = options_;
  next.selection = selection;
  next.variants = std::move(variants);
  Plans plans = settled([&] { return build(network_.model(), network_.buffers(), next); });
  const bool other_precision = selection.precision != options_.selection.precision;
  options_ = std::move(next);
  install(std::move(plans));
  if (other_precision) loop_.begin_loss_scale(selection.precision);
}

void Engine::check_settings(const EngineSettings& settings) const {
  divide(settings.optimizer, settings.batch, options_.deterministic,
         options_.sums ? options_.sums->place() : ranks::Place{});
  check_batch(std::int64_t{settings.batch} * settings.optimizer.accumulate, *data_);
  check_mixup(settings.augment, smallest_part(options_, settings.batch));
  check_augmented(model(), settings.augment);
  if (settings.optimizer.joint > 0) head_classes_of(*data_);
}

void Engine::set_batch(int batch) {
  give(calls::SetBatch{batch});
  check_batch(static_cast<std::int64_t>(batch) * options_.optimizer.accumulate, *data_);
  check_mixup(options_.augment, smallest_part(options_, batch));
  EngineOptions next = options_;
  next.batch = batch;
  Plans plans = settled([&] { return build(network_.model(), network_.buffers(), next); });
  options_ = std::move(next);
  loop_.use(options_.optimizer, options_.augment, part_of(options_));
  install(std::move(plans));
  evaluator_.begin_anew();
}

/// The step's plan only, which must not run.
void Engine::adopt_training(std::unique_ptr<plan::Plan> plan) {
  training_ = std::move(plan);
  note_sums_on_device();
  timings_.adopt(*training_, options_.selection.precision);
  loop_.interrupt();
}

void Engine::set_optimizer(const OptimizerSettings& optimizer) {
  give(calls::SetOptimizer{optimizer});
  check(optimizer);
  check_together(options_.augment, optimizer);
  const std::int64_t images = static_cast<std::int64_t>(options_.batch) * optimizer.accumulate;
  if (images > data_->train.count) {
    throw core::BadInput(fmt::format(
        "{} of {} are more than the {}", files::counted(optimizer.accumulate, "micro-batch", "micro-batches"),
        files::counted(options_.batch, "image"), files::counted(data_->train.count, "training image")));
  }
  const bool wants_head = optimizer.joint > 0;
  if (wants_head != (network_.model().head_classes > 0)) set_head(wants_head);
  EngineOptions next = options_;
  next.optimizer = optimizer;
  if (recipe_of(next) != recipe_of(options_)) {
    free_retired();
    stream_->synchronize();  // no plan under way uses the state that goes
    const bool fresh = optimizer.rule != options_.optimizer.rule;
    NetworkBuffers states;
    adopt_training(settled([&] {
      plan::Bindings bound = training_bindings(network_.buffers());
      if (fresh) {
        states = network_.fresh_states(optimizer.rule);
        bound.first_state = states.states[0].as<float>();
        bound.second_state = states.states[1].as<float>();
      }
      return build_training(network_.model(), next, bound);
    }));
    if (fresh) {
      network_.adopt_states(optimizer.rule, std::move(states));
      rollback_.forget();
      loop_.clear_updates();
    }
  }
  options_ = std::move(next);
  loop_.set_learning_rate(optimizer.learning_rate);
  loop_.use(options_.optimizer, options_.augment, part_of(options_));
}

void Engine::set_augment(const AugmentSettings& augment) {
  give(calls::SetAugment{augment});
  check(augment);
  check_together(augment, options_.optimizer);
  check_mixup(augment, smallest_part(options_, options_.batch));
  check_augmented(network_.model(), augment);
  EngineOptions next = options_;
  next.augment = augment;
  if (recipe_of(next) != recipe_of(options_)) {
    free_retired();
    stream_->synchronize();
    adopt_training(settled(
        [&] { return build_training(network_.model(), next, training_bindings(network_.buffers())); }));
  }
  options_ = std::move(next);
  loop_.use(options_.optimizer, options_.augment, part_of(options_));
}

/// Brings or takes away the head. Plans are built beside those in use; if that fails nothing has changed.
void Engine::set_head(bool wanted) {
  models::Model other = models::with_head(network_.model(), wanted ? head_classes_of(*data_) : 0);
  models::check_model(other);
  stream_->synchronize();
  check_data(other, *data_, options_);
  install(settled([&] { return build(other, network_.buffers(), options_); }));
  network_.set_head(std::move(other));
  rollback_.forget();
  evaluator_.begin_anew();
}

CarriedOver Engine::set_network(const models::Model& network) {
  give(calls::SetNetwork{network});
  const models::Model model = models::with_head(network, network_.model().head_classes);
  check_network(model, network_.model(), *data_, options_);
  stream_->synchronize();
  free_retired();
  CarriedOver carried;
  struct Next {
    NetworkState network;
    Plans plans;
  };
  Next next = settled([&]() -> Next {
    try {
      NetworkState state = network_.followed_by(model, *data_, carried);
      Plans plans = build(model, state.buffers(), options_);
      return {std::move(state), std::move(plans)};
    } catch (const std::bad_alloc&) {
      throw core::OutOfMemory(fmt::format("the host has too little memory for network {}", network.name));
    }
  });
  install(std::move(next.plans));
  network_ = std::move(next.network);
  rollback_.forget();
  loop_.forget_steps();
  loop_.clear_updates();
  loop_.begin_loss_scale(options_.selection.precision);
  evaluator_.begin_anew();
  return carried;
}

void Engine::step(bool timed) {
  give(calls::Step{loop_.learning_rate(), timed});
  if (options_.sums) options_.sums->note_step(loop_.steps() + 1);
  loop_.step(*training_, timed, network_.model().head_classes > 0);
}

std::vector<StepResult> Engine::collect_steps(bool flush) {
  std::vector<StepResult> results = loop_.collect(flush);
  check_sums();
  if (const auto times = training_->take_timings()) {
    timings_.add(*times);
    if (watch_) watch_->note(loop_.timed_step(), *training_, *times, part_of(options_).passes);
  }
  free_retired();
  return results;
}

EngineState Engine::state() {
  EngineState state;
  network_.save(state, network_.buffers());
  loop_.save(state);
  check_sums();
  return state;
}

void Engine::restore(const EngineState& state) {
  give(calls::Restore{state});
  network_.check(state);
  stream_->synchronize();
  network_.restore(state);
  loop_.restore(state);
  evaluator_.stop();
  rollback_.forget();
}

NotFinite Engine::find_not_finite(std::uint64_t step) {
  stream_->synchronize();
  const std::optional<StepAgain> again = loop_.again(step);
  if (!again) return {};
  if (NotFinite found = not_finite_parameter(network_, *stream_); found.count > 0) return found;
  plan::Bindings bound = training_bindings(network_.buffers());
  again->bind(bound);
  const core::Buffer gradients(device_, network_.buffers().gradients.bytes());
  stream_->fill(gradients.data(), 0, gradients.bytes());
  bound.gradients = gradients.as<float>();
  const auto plan = build_training(network_.model(), options_, bound, true);
  loop_.interrupt();
  return not_finite_tensor(*plan, *stream_);
}

DeterminismReport Engine::check_determinism() {
  free_retired();
  loop_.prepare();
  loop_.interrupt();
  DeterminismReport report;
  report.step = loop_.steps();
  report.selection = plan::to_string(options_.selection);
  report.tensors = run_twice(network_.buffers(), loop_.control(), device_, *stream_,
                             training_bindings(network_.buffers()), [this](const plan::Bindings& bound) {
                               return build_training(network_.model(), options_, bound, true);
                             });
  return report;
}

bool Engine::repeats_bits() const {
  return std::ranges::all_of(training_->nodes(), [](const plan::PlanNode& node) {
    return node.variant == nullptr || node.variant->deterministic;
  });
}

Scene Engine::scene() {
  return {network_.bare_model(),
          options_.selection,
          *data_,
          device_,
          options_.variants,
          *stream_,
          held_out_bindings(network_.buffers()),
          device_data_->first_of(Split::test),
          network_.buffers().parameters,
          network_.buffers().gradients,
          loop_.control().as<ops::step::StepControl>(),
          loop_.steps(),
          0,
          loop_.coming_batch(),
          loop_.has_gradients()};
}

}  // namespace warpscope::training
