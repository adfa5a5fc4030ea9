#include "gpu/jobs/desks.h"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/runs/checkpoint_store.h"

namespace warpscope::jobs {
namespace {

constexpr auto kLook = std::chrono::milliseconds(5);

}  // namespace

Desks::Desks(training::Source& source, std::filesystem::path run,
             std::shared_ptr<training::SharedDevices> shared)
    : source_(source), run_(std::move(run)), laboratory_(&source, std::move(shared)) {}

void Desks::ask(Request request) {
  std::visit([this](auto& what) { start(std::move(what)); }, request);
}

States Desks::states() const {
  return {features_.state(), maps_.state(), laboratory_.state()};
}

std::string Desks::device() const {
  return run_.empty() ? source_.snapshot()->device.id() : "auto";
}

/// The weights of this moment or of one soon after it.
features::Subject Desks::wait_for_weights(const classifiers::Watch& watch) {
  const std::uint64_t number = [this] {
    const std::lock_guard lock(asking_);  // numbers are sent as they rise
    source_.send(training::CopyWeights{++asked_});
    return asked_;
  }();
  if (watch.progress) watch.progress(0, "waits for the weights");
  while (true) {
    if (watch.stop.stop_requested()) throw classifiers::Cancelled();
    const auto now = source_.snapshot();
    if (now->state == training::TrainerState::failed) throw core::Error("the training has failed");
    const training::Observations seen =
        training::seen_of_network(source_.observations(), now->network_number);
    const std::shared_ptr<const training::Weights> weights = seen.weights;
    if (weights && weights->number >= number && now->data && now->network) {
      features::Subject subject;
      subject.device = now->device.id();
      subject.model = *now->network;
      subject.precision = weights->selection.precision;
      subject.parameters = {weights, &weights->parameters};
      subject.step = weights->step;
      subject.data = now->data;
      return subject;
    }
    std::this_thread::sleep_for(kLook);
  }
}

features::TrialRequest Desks::trial_of(Judge request) const {
  features::TrialRequest trial;
  trial.subject.device = device();
  trial.layers = std::move(request.layers);
  trial.standardize = request.standardize;
  trial.judgement = std::move(request.judgement);
  return trial;
}

features::FindSubject Desks::network_of_now() {
  if (run_.empty()) return [this](const classifiers::Watch& watch) { return wait_for_weights(watch); };
  return [run = run_, step = step_.load()](const classifiers::Watch& /*watch*/) {
    features::Subject subject;
    subject.run = run;
    const auto nearest = step > 0 ? training::nearest_checkpoint(run, step) : std::nullopt;
    if (nearest) subject.checkpoint = nearest->path.filename().string();
    subject.device = "auto";
    return features::loaded(subject);
  };
}

features::FindSubject Desks::network_of(bool again) {
  const auto last = features_.state()->result;
  if (!again || !last) return network_of_now();
  return [last](const classifiers::Watch&) { return last->subject; };
}

void Desks::start(Judge request) {
  auto find = network_of(request.again);
  features_.start_trial(trial_of(std::move(request)), std::move(find));
}

void Desks::start(Search request) {
  auto find = network_of(request.judge.again);
  features_.start_search({trial_of(std::move(request.judge)), std::move(request.axes)}, std::move(find));
}

void Desks::start(const MakeMap& request) {
  features::MapRequest map;
  map.subject.device = device();
  map.method = request.method;
  map.options = request.options;
  map.images = request.images;
  auto find = [this, method = request.method, again = request.again,
               now = network_of_now()](const classifiers::Watch& watch) {
    {
      const std::lock_guard lock(mutex_);
      const auto last = mapped_.find(method);
      if (again && last != mapped_.end()) return last->second;
    }
    features::Subject found = now(watch);
    const std::lock_guard lock(mutex_);
    return mapped_[method] = std::move(found);
  };
  maps_.start(std::move(map), std::move(find));
}

void Desks::start(const Bench& request) {
  laboratory_.start_bench(device(), request.scene, request.options);
}

void Desks::start(const Verify& request) {
  laboratory_.start_verify(device(), request.options);
}

void Desks::start(const Baseline& request) {
  laboratory_.start_baseline(request.scene);
}

void Desks::start(const Cancel& request) {
  if (request.desk == Desk::features) return features_.cancel();
  if (request.desk == Desk::maps) return maps_.cancel();
  laboratory_.cancel();
}

}  // namespace warpscope::jobs
